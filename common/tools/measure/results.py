"""What was measured: docs/results, a folder for each device. Where tables are kept, and what quotes them."""
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import project

RESULTS = project.ROOT / "docs/results"
FOLDER = RESULTS / "NVIDIA_H200"  # pages, headers and figures quote this device
OF_SANITIZERS = ("tests", "step", "only", "mistake", "tool")  # what a line of sanitizers.csv is about


# ---- reading


@lru_cache
def table(name, folder=FOLDER):
    return project.read_csv(folder / f"{name}.csv")


def begins(row, size):
    """Do its options begin with these? Dashes may be left out."""
    return (row["options"].replace("--", "") + " ").startswith(size.replace("--", "") + " " if size else "")


def times(name, size=""):
    """What ./learn bench measured of a set (sizes.py), at the sizes whose options begin so."""
    return [row for row in table("times") if row["sizes"] == name and begins(row, size)]


def milliseconds(row):
    return float(row["median_ms"])


def whole(rows, other=""):
    """The row that is 100 %: the vendor's first one, or the one of `other`. None without."""
    return next((row for row in rows if row["median_ms"]
                 and (row["step"] == other if other else row["kind"] == "vendor")), None)


# ---- keeping


def own_folder():
    return RESULTS / project.gpu("name").replace(" ", "_")


def folder_to_keep():
    """This device's, or what RESULTS names."""
    return Path(os.environ.get("RESULTS") or own_folder())


def write_table(name, rows):
    """Writes a table of this device, whole or not at all. Its path."""
    folder = folder_to_keep()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    half_written = path.with_suffix(".csv.new")
    project.write_csv(half_written, rows)
    half_written.replace(path)
    return path


def keep_table(name, rows):
    """The same, and says so."""
    path = write_table(name, rows)
    project.say(f"wrote {path.relative_to(project.ROOT) if path.is_relative_to(project.ROOT) else path}")


def kept(name):
    """What there is of a table of this device. Where RESULTS names a folder that has none, it begins as the project's."""
    paths = [folder / f"{name}.csv" for folder in (folder_to_keep(), own_folder())]
    return next((project.read_csv(path) for path in paths if path.exists()), [])


def merged(old, new, *columns):
    """The rows of a table once new ones have taken the place of all those that are equal to one of them in these
    columns. What is new there comes last."""
    def key(row):
        return tuple(row[column] for column in columns)
    groups, rows, placed = {}, [], set()
    for row in new:
        groups.setdefault(key(row), []).append(row)
    for row in [*old, *new]:
        if key(row) not in groups:
            rows.append(row)
        elif key(row) not in placed:
            placed.add(key(row))
            rows += groups[key(row)]
    return rows


def keep_rows(name, rows, *columns):
    """Puts rows into a table of this device, in place of those that are equal to one of them in these columns."""
    keep_table(name, merged(kept(name), rows, *columns))


def quote():
    """Writes anew what quotes the tables that were kept, if it quotes this device's. Is all as it should be?"""
    if folder_to_keep() != FOLDER:
        return True
    tools = [[sys.executable, project.ROOT / "common/tools/pages" / tool, "--update"] for tool in ("pages.py", "figures.py")]
    return all([subprocess.run(tool).returncode == 0 for tool in tools])
