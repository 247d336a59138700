"""What the scripts in this folder share: chapters, steps and programs; the machine; tables on pages."""
import argparse
import csv
import datetime
import difflib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(room) for room in Path(__file__).resolve().parent.iterdir() if room.is_dir()]  # of all scripts
program = Path(sys.argv[0]).stem  # what messages begin with


def say(sentence):
    print(sentence, file=sys.stderr, flush=True)


def die(sentence):
    """Ends the script with status 2: the command line or the machine needs a change."""
    say(f"{program}: {sentence}")
    sys.exit(2)


def arguments(doc, **how):
    """A parser whose --help is a script's own text: its first paragraph, the one that begins with usage:, the rest."""
    what, usage, *more = doc.strip().split("\n\n")
    return argparse.ArgumentParser(
        usage=usage.removeprefix("usage: ").replace("%", "%%"), description="\n\n".join([what, *more]),
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **how)


def did_you_mean(word, known):
    """"did you mean 'test'? " where one of the known words, or its beginning, is much like this one; else nothing."""
    meant = {name[: len(word)]: name for name in reversed(known)} | {name: name for name in known}
    near = difflib.get_close_matches(word, meant, n=1) or [name for name in known if len(word) > 2 and word in name]
    return f"did you mean '{meant[near[0]]}'? " if word and near else ""


# ---- chapters


def chapters():
    return sorted(folder for folder in ROOT.glob("[0-9][0-9]_*") if folder.is_dir())


def find_chapter(word):
    """The folder of chapter 2, 02, or any beginning of 02_tiled_matmul that is no other's too; or None."""
    word = word.rstrip("/")
    found = [folder for folder in chapters() if folder.name.startswith(word.zfill(2) if word.isdigit() else word)]
    return found[0] if word and len(found) == 1 else None


def no_chapter(word, hint):
    return f"there is no chapter '{word}'; {did_you_mean(word, [folder.name for folder in chapters()])}{hint}"


def chapter(word):
    names = ", ".join(folder.name for folder in chapters())
    return find_chapter(word) or die(no_chapter(word, f"choose from {names}"))


class Step(NamedTuple):
    number: int
    name: str
    path: Path


def steps(folder):
    """The steps in a chapter's folder, or a part's, in their order: stepN_name.cu or .cpp."""
    found = []
    for path in folder.iterdir():
        if match := re.fullmatch(r"step(\d+)[a-z]?_(\w+)\.(?:cu|cpp)", path.name):
            found.append(Step(int(match[1]), match[2], path))
    return sorted(found, key=lambda step: (step.number, step.path.name))


def step_label(folder, name, otherwise):
    """A step's number and name, "2 register_tile". The number is its file's; `otherwise` where there is none."""
    numbers = [step.number for step in (steps(folder) if folder.is_dir() else []) if step.name == name]
    return f"{numbers[0] if numbers else otherwise} {name}"


def parts(folder):
    """The names of the parts of a chapter: its folders that hold steps."""
    return sorted(part.name for part in folder.iterdir() if part.is_dir() and steps(part))


def ladders(folder=None):
    """A chapter's folder and its parts'; without a chapter those of all."""
    return [place for each in ([folder] if folder else chapters())
            for place in [each, *(each / part for part in parts(each))]]


def rooms(folder=None):
    """The same, and the parts without steps: folders that have a program, as 06/model does."""
    found = ladders(folder)
    return found + [program.parent for each in ([folder] if folder else chapters())
                    for program in sorted(each.glob("*/main.cpp")) if program.parent not in found]


NOT_IN_LIBRARY = ("main.cpp", "tests.cpp", "take.cu")  # of a ladder's sources, as in Tutorial.cmake


def label(folder):
    """02_tiled_matmul, of a part 02_tiled_matmul/hopper: its name in CTest and in tables."""
    return folder.relative_to(ROOT).as_posix()


def short_name(folder):
    """02, of a part 02/hopper: its name in commands."""
    return re.sub("^(..)[^/]*", r"\1", label(folder))


def find_room(word):
    """The folder of chapter 02, or of part 02/hopper. Ends the script where there is none."""
    number, slash, part = word.rstrip("/").partition("/")
    folder = chapter(number)
    known = [room.name for room in rooms(folder) if room != folder]
    if not slash or part in known:
        return folder / part
    return die(f"{folder.name} has no part '{part}'; {did_you_mean(part, known)}"
               + (f"it has {', '.join(sorted(known))}" if known else f"write {number}"))


def find_ladder(word):
    """The same of one that has steps."""
    if (room := find_room(word)) in ladders():
        return room
    return die(f"{word} is a program of other chapters' steps and has none: ./learn run and ./learn test take it")


def step_before(folder):
    """The step that a part goes on from, as its header says: the folder and the step. None for a chapter, and where
    there is no such step."""
    said = next((match[1] for header in folder.glob("*.hpp")
                 if (match := re.search(r'\bafter = "([\w/]+)"', header.read_text()))), "")
    part, _, name = said.rpartition("/")
    place = folder.parent / part
    found = [step for step in (steps(place) if said and place.is_dir() else []) if step.name == name]
    return (place, found[0]) if found else None


def target(folder):
    """Its program's name in the build: 02_tiled_matmul, of a part 02_tiled_matmul_hopper."""
    return label(folder).replace("/", "_")


def built_program(word, backend):
    """The program of chapter 02, or of part 02/hopper, built."""
    folder = find_room(word)
    path = Path(os.environ.get("BUILD", ROOT / "build" / backend)) / label(folder) / target(folder)
    if not path.exists():
        die(f"there is no {path}; ./learn run {word} --{backend} --list builds it")
    return path


def last_steps(path, count):
    """The names of the last `count` steps that a program lists."""
    listed = subprocess.run([path, "--list"], stdout=subprocess.PIPE, text=True, check=True)
    return [line.split()[0] for line in listed.stdout.splitlines() if line[:1].strip()][-count:]


# ---- the machine


def gpu(what):
    asked = ["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader"]
    return subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0]


def tool(name):
    """The path of nvcc, or of another program of the CUDA Toolkit, or None."""
    asked = os.environ.get("CUDACXX")
    nvcc = shutil.which(asked) if asked else shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    beside = nvcc and shutil.which(Path(nvcc).resolve().with_name(name))
    return nvcc if name == "nvcc" else beside or shutil.which(name)


def toolkit():
    """The version of nvcc, "13.0", or nothing."""
    nvcc = tool("nvcc")
    said = subprocess.run([nvcc, "--version"], stdout=subprocess.PIPE, text=True).stdout if nvcc else ""
    found = re.search(r"release ([\d.]+)", said)
    return found[1] if found else ""


def made_from():
    """Of what a file was made: toolkit, date, commit (COMMIT overrides what git says)."""
    git = ["git", "describe", "--always", "--dirty", "--match", ""]
    commit = os.environ.get("COMMIT") or subprocess.run(git, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return {"toolkit": toolkit(), "date": f"{datetime.datetime.now(datetime.timezone.utc):%F}",
            "commit": commit or "unknown"}


def origin():
    """Under what a figure was measured: driver, toolkit, date, commit."""
    return {"driver": gpu("driver_version")} | made_from()


# ---- tables and pages


def pages():
    """All Markdown files of the project, but for those that npm brings and the site's templates."""
    return [*ROOT.glob("*.md"),
            *(page for page in sorted((ROOT / "docs").rglob("*.md")) if ROOT / "docs/site" not in page.parents)]


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write_rows(file, rows):
    writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def write_csv(path, rows):
    with open(path, "w", newline="") as file:
        write_rows(file, rows)


def markdown(heads, rows, align):
    """The lines of a table; align has a letter for each column, l or r."""
    rule = "|".join("---" if side == "l" else "--:" for side in align)
    lines = [f"| {' | '.join(row)} |" for row in [heads, *rows]]
    return [lines[0].replace("|  |", "| |"), f"|{rule}|", *lines[1:]]


def fill(page, table):
    """A page's text with its tables as they should be. table(marker) gives the lines that belong below the
    line <!-- marker -->, up to <!-- end of … -->, or None where this marker is no table's."""
    text, inside = [], False
    for line in page.read_text().splitlines():
        inside = inside and not line.startswith("<!-- end of ")
        if inside:
            continue
        text.append(line)
        marker = re.fullmatch(r"<!-- (.*) -->", line)
        lines = table(marker[1]) if marker else None
        if lines is not None:
            text += ["", *lines, ""]
            inside = True
    if inside:
        raise ValueError("a table has no end")
    return "\n".join(text) + "\n"


def settle(page, text, update):
    """Writes a page's new text if it is to be updated. Is the page as it should be?"""
    old = page.read_text()
    if update and text != old:
        page.write_text(text)
    if update or text == old:
        return True
    lines = [old.splitlines(True), text.splitlines(True)]
    sys.stdout.writelines(difflib.unified_diff(*lines, page.name, "as it should be"))
    say(f"{page} is old: common/tools/{Path(sys.argv[0]).resolve().parent.name}/{program}.py --update")
    return False
