"""What docs/claims.md keeps to: a line of a table says what an article claims, what we found, and the verdict. Used by
pages.py.

Every number among what we found is computed or read where the page is checked (between markers, page_values.py), or the
line names the document that it is from by a link. A problem's size may stand as code: `4096×4096`.
"""
import re

VERDICTS = ("right", "in part", "wrong", "not here")
HEADS = ["the article", "what we found", "verdict"]
ARTICLES = ["Matmul in CUDA C++, part 2", "Modifying a custom matmul kernel", "Understanding flash attention, part II",
            "When to tile two matrix multiplies", "How matrices fly on GPU"]

MARKER = re.compile(r"<!--= (.+?) -->.*?<!--/-->")
# No number of its own: code, a formula, where a link leads, and a chapter.
OTHERS = re.compile(r"`[^`]*`|\$[^$]+\$|(?<=\])\([^)]*\)|\bchapters? \d\d\b", re.I)
NUMBER = re.compile(r"(?<![\w-])\d[\d.,]*")
MEASURED = re.compile(r"\d[\d.,]*[  ]?(?:%|ms|µs|cycles|[kKMGT]i?B|[MGT]?FLOP|[MGT]?B/s)(?!\w)")


def lines(text):
    """(number of the line, its cells) of each line of a table but its heads."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("|") and not re.fullmatch(r"\|[-:| ]+\|", line):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if cells != HEADS:
                yield number, cells


def says_nothing(expression):
    """A number between markers that is there already, and neither computed nor read."""
    return not re.search(r"[a-z_]\w*\(|[-+*/%]", re.sub(r"\b(?:percent|whole|rounded)\(", "", expression))


def problems_of(cells):
    if len(cells) != len(HEADS):
        yield f"{len(cells)} cells, and not {len(HEADS)}"
        return
    _, found, verdict = cells
    if not re.fullmatch(rf"(?:{'|'.join(VERDICTS)})(?: · \[[^\]]+\]\([^)]+\))?", verdict):
        yield f"\"{verdict}\" is no verdict, {', '.join(VERDICTS)}, and a link behind · to where it is shown"
    for expression in MARKER.findall(found):
        if says_nothing(expression):
            yield f"\"{expression}\" is neither computed nor read"
    if "](https://" in found:
        return
    text = MARKER.sub("", found)
    code = [number for span in re.findall(r"`[^`]*`", text) for number in MEASURED.findall(span)]
    for number in [*NUMBER.findall(OTHERS.sub("", text)), *code]:
        yield f"\"{number}\" comes from nowhere: no marker computes or reads it, and no link says where it is from"


def count(text, verdict):
    """Of so many claims it is the verdict."""
    return sum(cells[-1].split(" · ")[0] == verdict for _, cells in lines(text))


def problems(text):
    headings = re.findall(r"^## (.*)$", text, re.M)
    for article in ARTICLES:
        if article not in headings:
            yield f"has no section ## {article}"
    for number, cells in lines(text):
        for problem in problems_of(cells):
            yield f"line {number}: {problem}"
