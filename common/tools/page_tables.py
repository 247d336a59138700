#!/usr/bin/env python3
"""The tables of the pages that come from recorded files in docs/results.

usage: common/tools/page_tables.py            fails where a page's table is not what its file says
       common/tools/page_tables.py --update   writes the tables into the pages

A page says between two comments what stands there; FILE is below docs/results:
  <!-- times from FILE [part NAME] [of ROW] -->    of ./learn bench: milliseconds, and how fast beside the vendor's
                                                   row, or beside another row
  <!-- counters from FILE [part NAME]: issue_percent, dispatch_stall -->
                                                   of common/tools/profile_steps.py figures, for this chapter
  <!-- sanitizers from FILE -->                    how many mistakes each tool of compute-sanitizer reports
  <!-- end of table -->
"""
import re
import sys

import project

NOTHING = "–"


def digits(x):
    return f"{x:.{0 if x >= 99.95 else 1 if x >= 9.995 else 2 if x >= 0.9995 else 3}f}"


def percent(part):
    return f" ({100 * part:.{1 if part < 0.0995 else 0}f} %)"


def problem(options):
    """--m 4096 --n 4096 --kernel a -> m 4096, n 4096"""
    options = re.sub(r" *--(kernel|part) \S*", "", options).strip()
    return options.replace(" --", ", ").removeprefix("--")


def of_part(rows, part):
    """The rows of a part; of the chapter's own problem for None."""
    return [row for row in rows if re.findall(r"--part (\S+)", row["options"]) == ([part] if part else [])]


def times(path, part, other):
    """A line a size, a column a step. `other` is the row that is 100 %, if it is not the vendor's."""
    steps, table, whole = [], {}, {}
    for row in of_part(project.read_csv(path), part):
        name, kind, size = row["step"], row["kind"], problem(row["options"])
        if kind == "kernel" or (kind == "stage" and name != other):
            continue
        line = table.setdefault(size, {})
        if name not in steps:
            steps.append(name)
        if row["median_ms"]:
            line[name] = float(row["median_ms"])
            if name == other or (not other and kind == "vendor"):
                whole.setdefault(size, line[name])
    if not table:
        raise ValueError(f"there is no table in {path}")

    def cell(size, name):
        ms = table[size].get(name)
        if ms is None:
            return NOTHING
        return digits(ms) + (percent(whole[size] / ms) if size in whole else "")

    return project.markdown(["", *steps], [[size, *(cell(size, name) for name in steps)] for size in table],
                            "l" + "r" * len(steps))


def of(name, scale=1.0, unit=""):
    return lambda row: digits(float(row[name]) * scale) + unit


def whole(name, unit=""):
    return lambda row: f"{float(row[name]):.0f}{unit}"


def loads_per_ffma(row):
    ffma = float(row["ffma"])
    return digits(32 * float(row["shared_loads"]) / ffma) if ffma > 0 else NOTHING


def conflicts(row):
    count = float(row["load_conflicts"]) + float(row["store_conflicts"])
    return f"{count:.0f}" if count < 1e5 else digits(count / 1e6) + " M"


FIGURES = {  # what a figure is called on a page, and its text
    "ms": ("ms", of("ns", 1e-6)),
    "dram_bytes": ("device memory", of("dram_bytes", 1e-6, " MB")),
    "dram_percent": ("of its peak", whole("dram_percent", " %")),
    "l2_bytes": ("L2 traffic", of("l2_sectors", 32e-6, " MB")),
    "sectors_per_load": ("sectors/request, loads", of("sectors_per_load")),
    "loads_per_ffma": ("shared loads per FFMA", loads_per_ffma),
    "ffma_share": ("FFMA of all instructions",
                   lambda row: f"{100 * float(row['ffma']) / 32 / float(row['instructions']):.0f} %"),
    "issue_percent": ("issue slots used", whole("issue_percent", " %")),
    "fma_percent": ("FMA pipe busy", whole("fma_percent", " %")),
    "warps_percent": ("warps resident", whole("warps_percent", " %")),
    "lanes": ("lanes at work", of("lanes")),
    "conflicts": ("bank conflicts", conflicts),
    "local_sectors": ("local memory, sectors", whole("local_sectors")),
}


def counters(path, part, chapter, names):
    """A line a kernel, a column a figure. A figure of no other name says what warps waited for."""
    rows = [row for row in of_part(project.read_csv(path), part) if row["chapter"] == chapter]
    if not rows:
        raise ValueError(f"there is no line of {chapter} in {path}")
    for name in names:
        if name not in FIGURES and name not in rows[0]:
            raise ValueError(f"there is no figure {name}")
    columns = [FIGURES.get(name) or ("waiting: " + name.replace("_", " "), of(name)) for name in names]

    def kernel(row):  # and the step and size, where these are not the first line's
        where = [*re.findall(r"--kernel (\S+)", row["options"]), problem(row["options"])]
        return f"`{row['kernel']}`" + (f" ({', '.join(where)})" if row["options"] != rows[0]["options"] else "")

    return project.markdown(["kernel", *(head for head, _ in columns)],
                            [[kernel(row), *(value(row) for _, value in columns)] for row in rows],
                            "l" + "r" * len(columns))


def sanitizers(path):
    """A line a check: how many of the mistakes that it names the other tools report."""
    tools = ["memcheck", "racecheck", "initcheck", "synccheck"]
    rows = project.read_csv(path)
    table = []
    for check in dict.fromkeys(row["simulator"] for row in rows):
        found = [row for row in rows if row["simulator"] == check]
        counts = [len(found)] * 2 + [sum(row[tool] in ("line", "yes") for row in found) for tool in tools]
        table.append([check, *map(str, counts)])
    return project.markdown(["check", "mistakes", "simulator", *tools], table, "lrrrrrr")


def table(page, marker):
    results = project.ROOT / "docs/results"
    if match := re.fullmatch(r"times from (\S+)(?: part (\S+))?(?: of (.*))?", marker):
        return times(results / match[1], match[2], match[3])
    if match := re.fullmatch(r"counters from (\S+)(?: part (\S+))?: (.*)", marker):
        return counters(results / match[1], match[2], page.stem, re.split(", *", match[3]))
    if match := re.fullmatch(r"sanitizers from (\S+)", marker):
        return sanitizers(results / match[1])
    return None


def main():
    good = True
    for page in sorted((project.ROOT / "docs").glob("*.md")):
        try:
            text = project.fill(page, lambda marker: table(page, marker))
            good = project.settle(page, text, sys.argv[1:] == ["--update"]) and good
        except (OSError, ValueError, KeyError) as error:
            project.say(f"{page}: {type(error).__name__}: {error}")
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
