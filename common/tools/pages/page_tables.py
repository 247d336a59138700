"""The tables of the pages that come from recorded results (results.py). Used by pages.py.

A page says between two comments what stands there; SET is one of sizes.py:
  <!-- steps from SET at OPTIONS [of ROW]: COUNTER, COUNTER -->
                                                   of ./learn bench, a line a step: milliseconds, speed beside the
                                                   vendor's row or ROW, part of the bound, and what proves it: up to
                                                   two counters of figures.csv (STEP_kernel's)
  <!-- times from SET [sizes 1 3 4] [of ROW] [by OPTION, OPTION] -->
                                                   a line a step, a column a size: milliseconds, and the speed beside
                                                   the vendor's row, or ROW; a column's head has all options, or these
  <!-- sizes from SET of STEP -->                  a line a size: FLOP per byte, milliseconds, GFLOP/s, GB/s, and whether
                                                   memory or arithmetic bounds it
  <!-- counters: issue_percent, dispatch_stall --> of common/tools/measure/profile_steps.py figures, for the page's chapter
                                                   or part
  <!-- sanitizers of DEVICE -->                    how many mistakes each tool of compute-sanitizer reports
  <!-- end of table -->
"""
import re

import project
import results
from results import milliseconds

NOTHING = "–"


def digits(x):
    return f"{x:.{0 if x >= 99.95 else 1 if x >= 9.995 else 2 if x >= 0.9995 else 3}f}"


def percent(part):
    return f" ({100 * part:.{1 if part < 0.0995 else 0}f} %)"


def problem(options):
    """--m 4096 --n 4096 -> m 4096, n 4096; which kernel ran is left out"""
    return re.sub(r" *--kernel \S*", "", options).strip().replace(" --", ", ").removeprefix("--")


def recorded(name, options=""):
    rows = [row for row in results.times(name) if not options or row["options"] == options]
    if not rows:
        raise ValueError(f"times.csv has no line of {name} {options}")
    return rows


def without_stages(rows, other):
    return [row for row in rows if row["kind"] != "stage" or row["step"] == other]


def of_options(text, shown):
    """batch 8, seq 4 -> seq 4"""
    return ", ".join(pair for pair in text.split(", ") if not shown or pair.split(" ")[0] in shown)


def times(name, sizes, other, shown):
    """A line a step, a column a size, which is named by the options that are shown."""
    by_size = {}
    for row in without_stages(recorded(name), other):
        by_size.setdefault(problem(row["options"]), []).append(row)
    if sizes:
        names = list(by_size)
        by_size = {names[number - 1]: by_size[names[number - 1]] for number in sizes}
    named = [row for rows in by_size.values() for row in rows]
    named.sort(key=lambda row: row["kind"] != "step")  # what they are compared with stands below them
    steps = list(dict.fromkeys(row["step"] for row in named))

    def cell(rows, step):
        whole = results.whole(rows, other)
        for row in rows:
            if row["step"] == step and row["median_ms"]:
                return digits(milliseconds(row)) + (percent(milliseconds(whole) / milliseconds(row)) if whole else "")
        return NOTHING

    heads = [of_options(size, shown) for size in by_size]
    return project.markdown(["", *heads], [[step, *(cell(rows, step) for rows in by_size.values())]
                                            for step in steps], "l" + "r" * len(by_size))


def sizes_of(name, step):
    """A line a size, for one step. The highest ceiling that its sizes come under is the arithmetic's."""
    rows = [row for row in recorded(name) if row["step"] == step and row["median_ms"]]
    if not rows:
        raise ValueError(f"times.csv has no {step} in {name}")
    options = [dict(pair.split(" ") for pair in problem(row["options"]).split(", ")) for row in rows]
    varied = [option for option in options[0] if len({size[option] for size in options}) > 1]
    ceilings = [float(row["flop"]) / milliseconds(row) / float(row["of_bound"]) for row in rows]
    table = []
    for row, size, ceiling in zip(rows, options, ceilings):
        ms, flop, moved = (float(row[column]) for column in ("median_ms", "flop", "bytes"))
        table.append([*(size[option] for option in varied), digits(flop / moved), digits(ms), f"{flop / ms / 1e6:.0f}",
                      f"{moved / ms / 1e6:.0f}", "arithmetic" if ceiling > 0.99 * max(ceilings) else "memory"])
    return project.markdown([*(option.upper() for option in varied), "FLOP per byte", "ms", "GFLOP/s", "GB/s", "bound by"],
                            table, "r" * (len(varied) + 4) + "l")


def steps(ladder, name, options, other, names):
    """A line a step: number and name, ms, of the yardstick, of the bound, and counters."""
    rows = without_stages(recorded(name, options), other)
    whole = results.whole(rows, other)
    yardstick = other or (whole["step"] if whole else "")
    kernels = {row["kernel"]: row for row in results.table("figures")
               if row["chapter"] == ladder and row["options"].startswith(options)}
    number, table = 0, []
    for row in rows:
        if not row["median_ms"]:
            continue
        number += row["kind"] == "step"
        ms, bound = milliseconds(row), row["of_bound"]
        line = [project.step_label(project.ROOT / ladder, row["step"], number) if row["kind"] == "step" else row["step"], digits(ms),
                percent(milliseconds(whole) / ms).strip(" ()") if whole else NOTHING,
                percent(float(bound)).strip(" ()") if bound else NOTHING]
        kernel = kernels.get(row["step"] + "_kernel") or kernels.get(row["step"])
        for counter in names:
            line.append(column(counter)[1](kernel) if kernel else NOTHING)
        table.append(line)
    return project.markdown(["step", "ms", f"of {yardstick}", "of the bound", *(column(counter)[0] for counter in names)],
                            table, "l" + "r" * (len(table[0]) - 1))


def of(name, scale=1.0, unit=""):
    return lambda row: digits(float(row[name]) * scale) + unit


def whole(name, unit=""):
    return lambda row: f"{float(row[name]):.0f}{unit}"


def loads_per_ffma(row):
    ffma = float(row["ffma"])
    return digits(32 * float(row["shared_loads"]) / ffma) if ffma > 0 else NOTHING


def passes_for_four_ffma(row):
    """Of shared memory, for what a multiprocessor's four schedulers can begin in a cycle."""
    ffma = float(row["ffma"])
    return digits(4 * 32 * float(row["shared_load_passes"]) / ffma) if ffma > 0 else NOTHING


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
    "passes_for_four_ffma": ("passes for four FFMA", passes_for_four_ffma),
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


def counters(ladder, names):
    """A line a kernel, a column a figure."""
    rows = [row for row in results.table("figures") if row["chapter"] == ladder]
    if not rows:
        raise ValueError(f"figures.csv has no line of {ladder}")
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


def sanitizers(device):
    """A line a check: how many of the mistakes that it names the other tools report."""
    tools = ["memcheck", "racecheck", "initcheck", "synccheck"]
    by_check = {}
    for row in results.table("sanitizers", results.RESULTS / device):
        if row["mistake"]:
            by_check.setdefault(row["check"], []).append(row)
    table = []
    for check, rows in by_check.items():
        counts = [len({(row["tests"], row["mistake"]) for row in rows})] * 2
        counts += [sum(row["tool"] == tool and row["said"] in ("line", "yes") for row in rows) for tool in tools]
        table.append([check, *map(str, counts)])
    return project.markdown(["check", "mistakes", "simulator", *tools], table, "lrrrrrr")


def table(page, marker):
    """The lines that belong below a marker; None if it is no table's."""
    def named(words):
        return [name for name in re.split(", *", words or "") if name]

    if match := re.fullmatch(r"steps from (\S+) at (--.*?)(?: of ([^:]*))?(?:: (.*))?", marker):
        return steps(ladder_of_page(page), match[1], match[2], match[3], named(match[4]))
    if match := re.fullmatch(r"times from (\S+)(?: sizes ([\d ]*\d))?(?: of (.*?))?(?: by ([\w-]+(?:, [\w-]+)*))?", marker):
        return times(match[1], [int(size) for size in (match[2] or "").split()], match[3], named(match[4]))
    if match := re.fullmatch(r"sizes from (\S+) of (\S+)", marker):
        return sizes_of(match[1], match[2])
    if match := re.fullmatch(r"counters: (.*)", marker):
        return counters(ladder_of_page(page), named(match[1]))
    if match := re.fullmatch(r"sanitizers of (\S+)", marker):
        return sanitizers(match[1])
    return None


def ladder_of_page(page):
    """05_unfused_attention.md is about the chapter's road, 05_strips.md about a part: 05_unfused_attention/strips."""
    for folder in project.ladders():
        if page.stem == project.short_name(folder).replace("/", "_"):
            return project.label(folder)
    return next((chapter.name for chapter in project.chapters() if chapter.name[:3] == page.stem[:3]), page.stem)
