"""The H200 lines in the headers of the kernels' files: pages.py writes the recorded times into them.

  // H200            0.128 ms for 524288 × 128, 98 % of a plain copy; step 4 has 24 %

The row is the one that the file is named after, stepN_NAME.cu or NAME.cu, at the size that the words say (SIZES).
"NAME has 24 %" and "NAME takes 1.72 ms", on the next lines too, are another row's at this size, or step N's. A
yardstick like "05's NAME" is that chapter's row, at its first size that agrees in all options that both have.
Each number keeps as many digits behind the point as it has, so a new line begins as 0.00 ms at 4096³, 0 % of cuBLAS.
"""
import re

import project
import results

BLOCK = re.compile(r"^// H200 +[\d.]+ ms.*\n(?://  +.*\n)*", re.M)
NUMBER = re.compile(r"(?P<before>^// H200 +|, (?=[\d.]+ % of)|(?:step (?P<step>\d+)|(?P<name>\w+)) (?:has|takes) )"
                    r"(?P<number>[\d.]+)(?P<percent> %)?", re.M)
# What the words say of a size, as options. Of those that fit, the first one counts; attention is causal if not full.
SIZES = [
    (r"(\d+)×(\d+)×(\d+) \(M×N×D\)", "m {} n {} d {}"), (r"(\d+)³", "m {0} n {0} k {0}"),
    (r"(\d+)×(\d+) by \d+×(\d+) by", "m {} k {} n {}"), (r"(\d+)×(\d+)×(\d+)\b(?! \(M)", "m {} n {} k {}"),
    (r"(\d+) × (\d+)", "rows {} cols {}"), (r"the causal default", "batch 128 mask causal"),
    (r"(\d+) neighbours", "neighbours {}"), (r"\bB (\d+)", "batch {}"), (r"\bNH (\d+)", "heads {}"),
    (r"(\d+) heads on (\d+)", "heads {} kv-heads {}"), (r"\bT (\d+)", "seq {}"), (r"a query on (\d+) keys", "seq 1 seq-kv {}"),
    (r"\bC (\d+)", "channels {}"), (r"\bHS (\d+)", "head-dim {}"), (r"\bfull\b", "full"),
]


def pairs(options):
    """m 1024 n 3072 full -> {("m", "1024"), ("n", "3072"), ("full", "")}"""
    return set(re.findall(r"([a-z][\w-]*)(?: ([\w:]*\d[\w:]*|causal|none))?", options.replace("--", "")))


def size_in(words):
    said = set()
    for pattern, options in SIZES:
        if match := re.search(pattern, words):
            said |= {pair for pair in pairs(options.format(*match.groups())) if pair[0] not in dict(said)}
    return said


def rows_of(word):
    """The measured rows of a chapter: the set of this chapter's road or this part first."""
    rows = [row for row in results.table("times") if row["median_ms"] and row["sizes"][:2] == word[:2]]
    return sorted(rows, key=lambda row: row["sizes"] != word.replace("/", "_"))


def row_at(rows, name, said):
    for row in rows:
        options = pairs(row["options"])
        if row["step"] == name and said <= options and (("full", "") in options) == (("full", "") in said):
            return row
    raise ValueError(f"times.csv has no {name} at {', '.join(' '.join(pair).strip() for pair in sorted(said))}")


def of_another_chapter(row, chapter, name):
    ours = dict(pairs(row["options"]))
    for other in rows_of(chapter):
        theirs = dict(pairs(other["options"]))
        agree = all(ours.get(option, value) == value for option, value in theirs.items())
        if other["step"] == name and agree and ("full" in ours) == ("full" in theirs):
            return other
    raise ValueError(f"times.csv has no {name} of chapter {chapter} at {row['options']}")


def beside(rows, row, words):
    """The row of the same size that the words name, by the first that is not short: "a plain copy" is "plain copy of x"."""
    if other := re.fullmatch(r"(\d\d)'s (\w+)", words.strip()):
        return of_another_chapter(row, *other.groups())
    word = re.search(r"\w{4,}", words)[0]
    same = [other for other in rows if word in other["step"]
            and (other["sizes"], other["options"]) == (row["sizes"], row["options"])]
    if not same:
        raise ValueError(f"times.csv has no {words} beside {row['step']} at {row['options']}")
    return next((other for other in same if other["chapter"] == row["chapter"]), same[0])


def filled(block, name, folder, rows):
    """The lines with the recorded numbers."""
    said, steps = size_in(block), {str(step.number): step.name for step in project.steps(folder)}
    yardstick = re.search(r" % of ([^;\n]*)", block)
    own = [row for row in rows if row["chapter"] == project.short_name(folder)]

    def number(match):
        other = match["name"]  # perhaps of another ladder
        row = row_at(rows if other else own, other or steps.get(match["step"], name), said)
        value = results.milliseconds(row)
        if match["percent"]:
            value = 100 * results.milliseconds(beside(rows, row, yardstick[1])) / value
        digits = len(match["number"].partition(".")[2])
        return f"{match['before']}{value:.{digits}f}{match['percent'] or ''}"

    return NUMBER.sub(number, block)


def settle(update):
    """Are all headers as they should be, or written so?"""
    good = True
    for folder in project.ladders():
        rows = rows_of(project.short_name(folder))
        for path in sorted(folder.iterdir()):
            if path.suffix not in (".cu", ".cpp", ".cuh"):
                continue
            name, text = re.sub(r"^step\d+[a-z]?_", "", path.stem), path.read_text()
            try:
                new = BLOCK.sub(lambda match: filled(match[0], name, folder, rows), text, count=1)
            except (ValueError, TypeError) as error:
                project.say(f"{path.relative_to(project.ROOT)}: its header: {error}; leave the line H200 out until there is")
                good = False
            else:
                good = project.settle(path, new, update) and good
    return good
