"""The H200 lines in the steps' headers: their times and speeds must be recorded ones. Used by pages.py.

  // H200            2.59 ms at 4096³, 103 % of cuBLAS

The time must be one that docs/results has for this step, to the digits that stand there, and the speed that of the
same row beside another row of its size.
"""
import re

import page_tables
import project

LINE = re.compile(r"^// H200 +([\d.]+) ms\b(?:.*?, ([\d.]+) % of ([^;\n]*))?", re.M)


def rows_of(folder):
    """The measured rows of a chapter's own problem, or of a part's."""
    word = project.short_name(folder)
    for path in sorted((page_tables.RESULTS / "NVIDIA_H200").glob(f"{word[:2]}*.csv")):
        for row in project.read_csv(path):
            if row.get("median_ms") and page_tables.ladder_of(row) == word:
                yield path, row


def is_rounded(text, value):
    """Is this number, with as many digits behind the point, the value?"""
    return abs(float(text) - value) <= 0.5001 * 10.0 ** -len(text.partition(".")[2])


def step_problems(step, rows):
    for time, speed, other in LINE.findall(step.path.read_text()):
        mine = [(path, row) for path, row in rows
                if row["step"] == step.name and is_rounded(time, float(row["median_ms"]))]
        if not mine:
            yield f"{time} ms are recorded nowhere for this step"
        elif speed and not any(is_rounded(speed, 100 * float(beside["median_ms"]) / float(row["median_ms"]))
                               for path, row in mine for there, beside in rows
                               if there == path and of_size(beside) == of_size(row) and names(other, beside["step"])):
            yield f"{speed} % is not its speed beside {other} at the size at which it takes {time} ms"


def of_size(row):
    return re.sub(r" *--kernel \S+", "", row["options"])


def names(words, row):
    """Is this row meant? By the first word that is not small: "a plain copy" is "plain copy of x"."""
    return re.search(r"\w{4,}", words)[0] in row


def problems():
    for folder in project.ladders():
        rows = list(rows_of(folder))
        for step in project.steps(folder):
            for problem in step_problems(step, rows):
                yield f"{step.path.relative_to(project.ROOT)}: its header's {problem}"
