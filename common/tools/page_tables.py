"""The tables of the pages that come from recorded files in docs/results. Used by pages.py.

A page says between two comments what stands there; FILE is below docs/results:
  <!-- steps from FILE at OPTIONS [of ROW]: COUNTER, COUNTER -->
                                                   of ./learn bench, a line a step: milliseconds, speed beside the
                                                   vendor's row or ROW, part of the bound, and what proves it: up to
                                                   two counters of figures.csv (STEP_kernel's)
  <!-- times from FILE [sizes 1 3 4] [of ROW] -->
                                                   a line a step, a column a size: milliseconds, and the speed beside
                                                   the vendor's row, or ROW
  <!-- sizes from FILE of STEP -->                 a line a size: FLOP per byte, milliseconds, GFLOP/s, GB/s, and whether
                                                   memory or arithmetic bounds it
  <!-- counters from FILE: issue_percent, dispatch_stall -->
                                                   of common/tools/profile_steps.py figures, for the page's chapter
                                                   or part
  <!-- sanitizers from FILE -->                    how many mistakes each tool of compute-sanitizer reports
  <!-- end of table -->
"""
import re

import project

RESULTS = project.ROOT / "docs/results"

NOTHING = "–"


def digits(x):
    return f"{x:.{0 if x >= 99.95 else 1 if x >= 9.995 else 2 if x >= 0.9995 else 3}f}"


def percent(part):
    return f" ({100 * part:.{1 if part < 0.0995 else 0}f} %)"


def problem(options):
    """--m 4096 --n 4096 --kernel a -> m 4096, n 4096"""
    options = re.sub(r" *--kernel \S*", "", options).strip()
    return options.replace(" --", ", ").removeprefix("--")


def ladder_of(row):
    """02, or 02/hopper: the chapter or part whose program wrote a row."""
    return re.sub("^(..)[^/]*", r"\1", row["chapter"])


def whole_of(rows, other):
    """The milliseconds that are 100 %: the vendor's first row's, or those of `other`."""
    for row in rows:
        if row["median_ms"] and (row["step"] == other if other else row["kind"] == "vendor"):
            return float(row["median_ms"])
    return None


def times(path, sizes, other):
    """A line a step, a column a size."""
    by_size = {}
    for row in project.read_csv(path):
        if row["kind"] != "kernel" and (row["kind"] != "stage" or row["step"] == other):
            by_size.setdefault(problem(row["options"]), []).append(row)
    if not by_size:
        raise ValueError(f"there is no table in {path}")
    if sizes:
        names = list(by_size)
        by_size = {names[number - 1]: by_size[names[number - 1]] for number in sizes}
    steps = list(dict.fromkeys(row["step"] for rows in by_size.values() for row in rows))

    def cell(rows, name):
        whole = whole_of(rows, other)
        for row in rows:
            if row["step"] == name and row["median_ms"]:
                ms = float(row["median_ms"])
                return digits(ms) + (percent(whole / ms) if whole else "")
        return NOTHING

    return project.markdown(["", *by_size], [[name, *(cell(rows, name) for rows in by_size.values())]
                                             for name in steps], "l" + "r" * len(by_size))


def sizes_of(path, step):
    """A line a size, for one step. The highest ceiling that its sizes come under is the arithmetic's."""
    rows = [row for row in project.read_csv(path) if row["step"] == step and row["median_ms"]]
    if not rows:
        raise ValueError(f"there is no {step} in {path}")
    options = [dict(pair.split(" ") for pair in problem(row["options"]).split(", ")) for row in rows]
    varied = [name for name in options[0] if len({size[name] for size in options}) > 1]
    ceilings = [float(row["flop"]) / float(row["median_ms"]) / float(row["of_bound"]) for row in rows]
    table = []
    for row, size, ceiling in zip(rows, options, ceilings):
        ms, flop, moved = (float(row[name]) for name in ("median_ms", "flop", "bytes"))
        table.append([*(size[name] for name in varied), digits(flop / moved), digits(ms), f"{flop / ms / 1e6:.0f}",
                      f"{moved / ms / 1e6:.0f}", "arithmetic" if ceiling > 0.99 * max(ceilings) else "memory"])
    return project.markdown([*(name.upper() for name in varied), "FLOP per byte", "ms", "GFLOP/s", "GB/s", "bound by"],
                            table, "r" * (len(varied) + 4) + "l")


def steps(path, options, other, names):
    """A line a step: number and name, ms, of the yardstick, of the bound, and counters."""
    rows = [row for row in project.read_csv(path) if row["options"] == options and row["kind"] != "kernel"]
    rows = [row for row in rows if row["kind"] != "stage" or row["step"] == other]
    if not rows:
        raise ValueError(f"there is no line with {options} in {path}")
    whole = whole_of(rows, other)
    yardstick = other or next((row["step"] for row in rows if row["kind"] == "vendor"), "")
    word = ladder_of(rows[0])
    kernels = {row["kernel"]: row for row in project.read_csv(path.with_name("figures.csv"))
               if ladder_of(row) == word and row["options"].startswith(options)}
    folder = project.ROOT / rows[0]["chapter"]
    number, table = 0, []
    for row in rows:
        if not row["median_ms"]:
            continue
        number += row["kind"] == "step"
        ms, bound = float(row["median_ms"]), row["of_bound"]
        line = [project.step_label(folder, row["step"], number) if row["kind"] == "step" else row["step"], digits(ms),
                percent(whole / ms).strip(" ()") if whole else NOTHING,
                percent(float(bound)).strip(" ()") if bound else NOTHING]
        kernel = kernels.get(row["step"] + "_kernel") or kernels.get(row["step"])
        for name in names:
            line.append(column(name)[1](kernel) if kernel else NOTHING)
        table.append(line)
    return project.markdown(["step", "ms", f"of {yardstick}", "of the bound", *(column(name)[0] for name in names)],
                            table, "l" + "r" * (len(table[0]) - 1))


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
    "dram_bytes": ("global memory", of("dram_bytes", 1e-6, " MB")),
    "dram_percent": ("of its peak", whole("dram_percent", " %")),
    "l2_bytes": ("L2 traffic", of("l2_sectors", 32e-6, " MB")),
    "sectors_per_load": ("sectors/request, loads", of("sectors_per_load")),
    "loads_per_ffma": ("shared loads per FFMA", loads_per_ffma),
    "ffma_share": ("FFMA of all instructions",
                   lambda row: f"{100 * float(row['ffma']) / 32 / float(row['instructions']):.0f} %"),
    "issue_percent": ("issue slots used", whole("issue_percent", " %")),
    "fma_percent": ("FMA pipe busy", whole("fma_percent", " %")),
    "tensor_percent": ("tensor cores busy", whole("tensor_percent", " %")),
    "warps_percent": ("warps resident", whole("warps_percent", " %")),
    "lanes": ("lanes at work", of("lanes")),
    "conflicts": ("bank conflicts", conflicts),
    "local_sectors": ("local memory, sectors", whole("local_sectors")),
}


def column(name):
    """Head and text of a counter. One of no other name says what warps waited for: warp-cycles per instruction."""
    return FIGURES.get(name) or ("stall: " + name.replace("_", " "), of(name))


def counters(path, ladder, names):
    """A line a kernel, a column a figure."""
    rows = [row for row in project.read_csv(path) if row["chapter"] == ladder]
    if not rows:
        raise ValueError(f"there is no line of {ladder} in {path}")
    for name in names:
        if name not in FIGURES and name not in rows[0]:
            raise ValueError(f"there is no figure {name}")
    columns = [column(name) for name in names]

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
    """The lines that belong below a marker; None if it is no table's."""
    def named(words):
        return [name for name in re.split(", *", words or "") if name]

    if match := re.fullmatch(r"steps from (\S+) at (--.*?)(?: of ([^:]*))?(?:: (.*))?", marker):
        return steps(RESULTS / match[1], match[2], match[3], named(match[4]))
    if match := re.fullmatch(r"times from (\S+)(?: sizes ([\d ]*\d))?(?: of (.*))?", marker):
        return times(RESULTS / match[1], [int(size) for size in (match[2] or "").split()], match[3])
    if match := re.fullmatch(r"sizes from (\S+) of (\S+)", marker):
        return sizes_of(RESULTS / match[1], match[2])
    if match := re.fullmatch(r"counters from (\S+): (.*)", marker):
        return counters(RESULTS / match[1], ladder_of_page(page), named(match[2]))
    if match := re.fullmatch(r"sanitizers from (\S+)", marker):
        return sanitizers(RESULTS / match[1])
    return None


def ladder_of_page(page):
    """05_unfused_attention.md is about the chapter's road, 05_strips.md about a part: 05_unfused_attention/strips."""
    for folder in project.ladders():
        if page.stem == project.short_name(folder).replace("/", "_"):
            return project.label(folder)
    return next((chapter.name for chapter in project.chapters() if chapter.name[:3] == page.stem[:3]), page.stem)
