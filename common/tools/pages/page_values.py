"""Numbers in the sentences of the pages. Used by pages.py.

A page says in a comment what the number is, and where the number ends:
  step 2 takes <!--= ms("02", "register_tile") -->5.75<!--/--> ms
What stands behind = is Python, with these functions; they read what results.py has. SET is one of sizes.py; SIZE is
its options without the dashes, "m 4096 n 4096 k 4096", or their beginning; the set's first size if left out. (Markdown
takes no comment with two dashes in a sentence, and none at the beginning of a line.)
  ms(SET, STEP, SIZE)                milliseconds, of times.csv
  speed(SET, STEP, SIZE, of=ROW)     percent of the vendor's speed at this size, or of ROW's
  of_bound(SET, STEP, SIZE)          percent of what the measured ceilings allow
  tflops(…), gbs(…)                  TFLOP/s; GB/s of the bytes that must move
  cell(SET, STEP, COLUMN, SIZE)      any other column
  counter(KERNEL, NAME, SIZE)        of figures.csv, as the tables show it
  raw(KERNEL, COLUMN, SIZE)          of figures.csv, as a number
  registers(KERNEL)                  of a thread, of registers.csv
  local_bytes(KERNEL)                what a thread keeps in local memory, of the same
  instructions(LADDER, STEP, KIND)   how many of a kind, "LDS.128", stand in a step's inner loop, of docs/results/sass on 9.0a;
                                     without a kind: all
  variant(EXPERIMENT, SIZE, VARIANT, COLUMN)   of variants.csv, its value if no column is named
  fact(KEY)                          of device.csv
  field(FILE, COLUMN, NAME=VALUE)    of another table: the column of the first line in which NAME is VALUE
  latency(MEMORY)                    cycles, of latencies.csv
  rate(WHAT)                         what a unit does, of rates.csv
  at_random(LADDER, FUNCTION, over=0)   random_shapes.FUNCTION of a ladder's lines in random.csv, where the library takes
                                     over so many microseconds: mean, tenth_percentile, len
  estimates(NAME, DEVICE)            how far estimated times are off: steps, median, tenth, within, pairs, ordered, right, roofline,
                                     tau; without DEVICE ("h100") on an H200
  verdicts(WORD)                     how many lines of claims.md end in it
  hours(PAGE), hours_in_all(PAGE)    how long a page takes to read, as "02_hopper" does, and with its exercises;
                                     "road", "parts": all of them
  budget.NAME                        a constant of page_budget.py
  percent(x), whole(x), rounded(x, n)   how it is written; without: three digits
What no file has to hold, FLOP or bytes that a formula gives, is computed: page_formulas.py has functions for that.
"""
import re
from functools import partial
from pathlib import PurePath

import estimates as estimate_errors
import page_budget
import page_claims
import page_formulas
import page_tables
import project
import random_shapes
import results
import sass

VALUE = re.compile(r"<!--= (.+?) -->(.*?)<!--/-->", re.S)
AT_LINE_START = re.compile(r"(?<=\S)\n *(?=<!--=)")


def of_step(name, step, size):
    """A step's row, and all rows of its size: of sizes that begin so the one that has no more options, or the first."""
    rows = [row for row in results.times(name) if row["median_ms"]]
    found = [row for row in rows if row["step"] == step and results.begins(row, size or rows[0]["options"])]
    if not found:
        raise ValueError(f"times.csv has no {step} in {name} at {size}")
    row = next((row for row in found if row["options"].replace("--", "") == size), found[0])
    return row, [other for other in rows if other["options"] == row["options"]]


def cell(name, step, column, size=""):
    return float(of_step(name, step, size)[0][column])


def ms(name, step, size=""):
    return cell(name, step, "median_ms", size)


def percent(part):
    return f"{100 * part:.{1 if part < 0.0995 else 0}f} %"


def speed(name, step, size="", of=""):
    row, rows = of_step(name, step, size)
    beside = results.whole([other for other in rows if of or other["chapter"] == row["chapter"]], of)
    return percent(results.milliseconds(beside) / results.milliseconds(row))


def of_bound(name, step, size=""):
    return percent(cell(name, step, "of_bound", size))


def tflops(name, step, size=""):
    return cell(name, step, "flop", size) / ms(name, step, size) / 1e9


def gbs(name, step, size=""):
    return rounded(cell(name, step, "bytes", size) / ms(name, step, size) / 1e6, 0)


def of_kernel(kernel, size, ladder):
    """Its line in figures.csv: of the page's chapter or part, if there is one."""
    rows = [row for row in results.table("figures") if row["kernel"] == kernel and results.begins(row, size)]
    rows = [row for row in rows if row["chapter"] == ladder] or rows
    if len({row["chapter"] for row in rows}) != 1:
        raise ValueError(f"figures.csv has {'more than one' if rows else 'no'} {kernel} {size}")
    return rows[0]


def counter(kernel, name, size="", ladder=""):
    return page_tables.column(name)[1](of_kernel(kernel, size, ladder))


def raw(kernel, column, size="", ladder=""):
    return float(of_kernel(kernel, size, ladder)[column])


def recorded_registers(kernel, ladder):
    """Of the page's chapter or part, on sm_90: registers, bytes of local memory, bytes spilled."""
    for row in results.table("registers", results.RESULTS):
        name = re.sub(r"(\w+|\(anonymous namespace\))::", "", row["kernel"])
        if name == kernel and str(PurePath(row["source"]).parent) == ladder:
            return [float(number) for number in row["sm_90a"].split("/")]
    raise ValueError(f"registers.csv has no {kernel} in {ladder}")


def registers(kernel, ladder=""):
    return recorded_registers(kernel, ladder)[0]


def local_bytes(kernel, ladder=""):
    return recorded_registers(kernel, ladder)[1]


def instructions(ladder, step, kind=""):
    folders = [folder for folder in project.ladders() if project.short_name(folder) == ladder]
    paths = [each.path for folder in folders for each in project.steps(folder) if each.name == step]
    record = sass.record_of(paths[0]) if paths else None
    text = record.read_text() if record and record.exists() else ""
    section = text.partition("== sass 90a ")[2].partition("\n== ")[0]
    counts = re.search(r"^((?:\d+ \S+, )*\d+ \S+); \d+ % of the (\d+) instructions", section, re.M)
    number = {kind: count for count, kind in re.findall(r"(\d+) ([A-Z][^\s,]*)", counts[1])} | {"": counts[2]} if counts else {}
    if kind not in number:
        raise ValueError(f"docs/results/sass has no {kind or 'record'} of {ladder} {step}")
    return int(number[kind])


def field(file, column, **where):
    for row in results.table(file):
        if all(row[name] == str(value) for name, value in where.items()):
            return float(row[column])
    raise ValueError(f"{file}.csv has no line with {where}")


def variant(experiment, size, name, column="value"):
    return field("variants", column, experiment=experiment, size=size, variant=name)


def fact(key):
    return field("device", "value", key=key)


def latency(memory):
    return field("latencies", "cycles", memory=memory)


def rate(what):
    return field("rates", "value", what=what)


def at_random(ladder, function, over=0):
    rows = random_shapes.over([row for row in results.table("random") if row["ladder"] == ladder], over)
    return whole(len(rows)) if function == "len" else rounded(getattr(random_shapes, function)(rows), 2)


def estimates(name, device="h200"):
    return estimate_errors.figures(device)[name]


def verdicts(word):
    return whole(page_claims.count((project.ROOT / "docs/claims.md").read_text(), word))


def pages_named(name):
    several = {"road": page_budget.road, "parts": page_budget.parts}.get(name)
    return several() if several else [page_budget.DOCS / f"{name}.md"]


def hours(name):
    return f"{page_budget.half_hours(sum(map(page_budget.minutes_to_read, pages_named(name)))):g}"


def hours_in_all(name):
    minutes = sum(page_budget.minutes_to_read(page) + page_budget.minutes_to_do(page) for page in pages_named(name))
    return f"{page_budget.half_hours(minutes):g}"


def rounded(x, digits):
    return f"{x:.{digits}f}"


def whole(x):
    return rounded(x, 0)


KNOWN = {function.__name__: function for function in
         (ms, speed, of_bound, tflops, gbs, cell, instructions, field, variant, fact, latency, rate, at_random, estimates, verdicts, hours, hours_in_all, percent,
          whole, rounded)} | {"budget": page_budget} | page_formulas.KNOWN
OF_LADDER = (counter, raw, registers, local_bytes)  # of the page's chapter or part


def text_of(expression, ladder):
    of_ladder = {function.__name__: partial(function, ladder=ladder) for function in OF_LADDER}
    try:
        value = eval(expression, KNOWN | of_ladder)  # a page of this project is as trusted as its code
    except Exception as error:
        raise ValueError(f"{expression}: {error}") from None
    return value if isinstance(value, str) else page_tables.digits(value)


def fill(page, text):
    """The text of a page with its numbers as they should be, and what is wrong with those that stay as they are."""
    ladder, text, problems = page_tables.ladder_of_page(page), AT_LINE_START.sub(" ", text), []

    def filled(match):
        try:
            return f"<!--= {match[1]} -->{text_of(match[1], ladder)}<!--/-->"
        except ValueError as error:
            problems.append(str(error))
            return match[0]

    return VALUE.sub(filled, text), problems
