#!/usr/bin/env python3
"""`./learn break 02`, `./learn break 02/hopper`: broken/ becomes a copy of the chapter in which one thing is wrong. docs/mistakes.md says more."""
import argparse
import base64
import hashlib
import random
import shutil
import sys

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
from mistakes import ROOT, Problem, files_of, mistakes_in

BROKEN = ROOT / "broken"
# Holds the checksum of what was put into broken/, and what --reveal tells: in base64, so that no search stumbles on it.
SECRET = BROKEN / ".mistake"


def checksum():
    files = [(name, (BROKEN / name).read_bytes()) for name in files_of(BROKEN) if name != SECRET.name]
    return hashlib.sha256(repr(files).encode()).hexdigest()


def make(mistake):
    shutil.rmtree(BROKEN, ignore_errors=True)
    for name in files_of(mistake.chapter):
        original, copy = mistake.chapter / name, BROKEN / name
        if original.name != "mistakes.txt" and "exercises" not in name.split("/"):
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(mistake.changed_text().encode() if original == mistake.file() else original.read_bytes())
    revelation = mistake.revelation("broken/", mistake.chapter.name)
    SECRET.write_bytes(base64.encodebytes(f"{checksum()}\n{revelation}".encode()))


def break_chapter(word, again, seed):
    folder = project.find_ladder(word)
    name = project.short_name(folder)
    if SECRET.exists() and not again and told()[0] != checksum():
        raise Problem("broken/ has your edits, which a new mistake would overwrite: ./learn break --again "
                      f"{name} does so, ./learn break --reveal tells what was wrong")
    if BROKEN.exists() and not SECRET.exists():
        raise Problem("broken/ was not made by ./learn break: move it away")
    # Yours may be an edited chapter: take what still fits.
    candidates = [mistake for mistake in mistakes_in(folder) if mistake.folder == folder and not mistake.problems]
    if not candidates:
        raise Problem(f"no mistake fits {project.label(folder)} as it is now: was it edited?")
    make(candidates[seed % len(candidates)])
    broken = "broken" + name[2:]
    print(f"""\
broken/ is now a copy of {project.label(folder).split("/")[0]} in which one thing{name[2:] and f" of {name[3:]}"} is wrong. Find it:

  ./learn test {broken}       which sizes fail, and what the checks say
  ./learn run {broken}        the program; its options are those of the chapter
  ./learn profile {broken}    the work that each line does

Edit the files in broken/ until the tests pass. ./learn break --reveal tells what it was.
On a GPU some mistakes show only now and then: --cpu checks every access.""")


def told():
    """The two halves of the secret."""
    if not SECRET.exists():
        raise Problem("there is no broken/ yet: ./learn break 02 makes it")
    return base64.b64decode(SECRET.read_bytes()).decode().split("\n", 1)


parser = argparse.ArgumentParser(prog="./learn break", allow_abbrev=False, usage="./learn break [options] 02")
parser.add_argument("chapter", nargs="?")
parser.add_argument("--again", action="store_true", help="another one; your edits in broken/ are lost")
parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="makes the choice repeatable")
parser.add_argument("--reveal", action="store_true", help="tells what it was")
options = parser.parse_args()
try:
    if options.reveal:
        print(told()[1])
    elif not options.chapter:
        raise Problem("break which chapter? For example: ./learn break 02")
    elif options.chapter.rstrip("/") == "broken":
        raise Problem("broken/ is broken already; name a chapter: ./learn break 02")
    else:
        break_chapter(options.chapter, options.again, options.seed)
except Problem as problem:
    print(problem, file=sys.stderr)
    sys.exit(2)  # as ./learn does for what it does not understand
