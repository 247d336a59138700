"""Numbers in the sentences of the pages. Used by pages.py.

A page says in a comment what the number is, and where the number ends:
  step 2 takes <!--= ms("02", "register_tile") -->5.75<!--/--> ms
What stands behind = is Python, with these functions. FILE is "02" for docs/results/NVIDIA_H200/02.csv; SIZE the
beginning of its column `options` without the dashes, "m 4096 n 4096"; the file's first size if left out. (Markdown
takes no comment with two dashes in a sentence, and none at the beginning of a line.)
  ms(FILE, STEP, SIZE)               milliseconds
  speed(FILE, STEP, SIZE, of=ROW)    percent of the vendor's speed at this size, or of ROW's
  of_bound(FILE, STEP, SIZE)         percent of what the measured ceilings allow
  tflops(…), gbs(…)                  TFLOP/s; GB/s of the bytes that must move
  cell(FILE, STEP, COLUMN, SIZE)     any other column
  counter(KERNEL, NAME, SIZE)        of figures.csv, as the tables show it
  raw(KERNEL, COLUMN, SIZE)          of figures.csv, as a number
  found(FILE, PATTERN)               what ( ) in a regular expression meets in another file, as a number
  field(FILE, COLUMN, NAME=VALUE)    of another table: the column of the first line in which NAME is VALUE
  latency(MEMORY)                    cycles, of latencies.csv
  verdicts(WORD)                     how many lines of claims.md end in it
  percent(x), whole(x), rounded(x, n)   how it is written; without: three digits
What no file has to hold, FLOP or bytes that a formula gives, is computed: page_formulas.py has functions for that.
"""
import re
from functools import partial

import page_claims
import page_formulas
import page_tables
import project

FOLDER = page_tables.RESULTS / "NVIDIA_H200"
VALUE = re.compile(r"<!--= (.+?) -->(.*?)<!--/-->", re.S)
AT_LINE_START = re.compile(r"(?<=\S)\n *(?=<!--=)")


def is_at(row, size):
    """Do its options begin with these?"""
    return (row["options"].replace("--", "") + " ").startswith(size + " " if size else "")


def recorded(file, step, size):
    rows = [row for row in project.read_csv(FOLDER / f"{file}.csv") if row["median_ms"]]
    for row in rows:
        if row["step"] == step and is_at(row, size or rows[0]["options"].replace("--", "")):
            return row
    raise ValueError(f"{file}.csv has no {step} at {size}")


def cell(file, step, column, size=""):
    return float(recorded(file, step, size)[column])


def ms(file, step, size=""):
    return cell(file, step, "median_ms", size)


def percent(part):
    return f"{100 * part:.{1 if part < 0.0995 else 0}f} %"


def speed(file, step, size="", of=""):
    row = recorded(file, step, size)
    options = row["options"].replace("--", "")
    return percent(ms(file, of, options) / ms(file, step, options) if of else float(row["of_vendor"]))


def of_bound(file, step, size=""):
    return percent(cell(file, step, "of_bound", size))


def tflops(file, step, size=""):
    return cell(file, step, "flop", size) / ms(file, step, size) / 1e9


def gbs(file, step, size=""):
    return rounded(cell(file, step, "bytes", size) / ms(file, step, size) / 1e6, 0)


def of_kernel(kernel, size, chapter):
    """Its line in figures.csv: of the page's chapter or part, if there is one."""
    rows = [row for row in project.read_csv(FOLDER / "figures.csv") if row["kernel"] == kernel and is_at(row, size)]
    rows = [row for row in rows if row["chapter"] == chapter] or rows
    if len({row["chapter"] for row in rows}) != 1:
        raise ValueError(f"figures.csv has {'more than one' if rows else 'no'} {kernel} {size}")
    return rows[0]


def counter(kernel, name, size="", chapter=""):
    return page_tables.column(name)[1](of_kernel(kernel, size, chapter))


def raw(kernel, column, size="", chapter=""):
    return float(of_kernel(kernel, size, chapter)[column])


def found(file, pattern):
    match = re.search(pattern, (FOLDER / file).read_text())
    if not match:
        raise ValueError(f"{file} has no {pattern}")
    return float(match[1])


def field(file, column, **where):
    for row in project.read_csv(FOLDER / f"{file}.csv"):
        if all(row[name] == str(value) for name, value in where.items()):
            return float(row[column])
    raise ValueError(f"{file}.csv has no line with {where}")


def latency(memory):
    return field("latencies", "cycles", memory=memory)


def verdicts(word):
    return whole(page_claims.count((project.ROOT / "docs/claims.md").read_text(), word))


def rounded(x, digits):
    return f"{x:.{digits}f}"


def whole(x):
    return rounded(x, 0)


KNOWN = {function.__name__: function for function in
         (ms, speed, of_bound, tflops, gbs, cell, found, field, latency, verdicts, percent, whole,
          rounded)} | page_formulas.KNOWN


def text_of(expression, chapter):
    of_chapter = {function.__name__: partial(function, chapter=chapter) for function in (counter, raw)}
    try:
        value = eval(expression, KNOWN | of_chapter)  # a page of this project is as trusted as its code
    except Exception as error:
        raise ValueError(f"{expression}: {error}") from None
    return value if isinstance(value, str) else page_tables.digits(value)


def fill(page, text):
    """The text of a page with its numbers as they should be, and what is wrong with those that stay as they are."""
    chapter, text, problems = page_tables.ladder_of_page(page), AT_LINE_START.sub(" ", text), []

    def filled(match):
        try:
            return f"<!--= {match[1]} -->{text_of(match[1], chapter)}<!--/-->"
        except ValueError as error:
            problems.append(str(error))
            return match[0]

    return VALUE.sub(filled, text), problems
