#!/usr/bin/env python3
"""What the model of 06/model writes with a mistake that is planted in the road of chapter 06.

usage: model_texts.py check NAME PROGRAM TESTS
       model_texts.py all PROGRAM FOLDER

check: the mistake [NAME] of the road must change the text, or be named. PROGRAM is the model's, TESTS the model's
tests with the mistake, which hold the program. all: a line for each, of those that are built in FOLDER/NAME/tests.
"""
import functools
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import project  # noqa: E402
import mistakes  # noqa: E402

CHAPTER = project.chapter("06")
# Long enough for several tiles of keys and queries, and for a last one that is not full.
PROMPT = "A warp is a group of 32 threads that run together. Each of them has its own registers, and "
AS_PROGRAM = "--as-program"  # common/testing/program_run.cpp
# What the model never asks of attention, so that these show nowhere: its heads share no keys and have 32 numbers, every
# query sees a key, and nobody reads lse.
CANNOT_SHOW = {}


def steps_with(mistake):
    """The steps that may have it: the one whose file it changes, or all."""
    names = [step.name for step in project.steps(CHAPTER)]
    own = re.fullmatch(r"step\d+_(\w+)\.cu", mistake.file().name)
    return [own[1]] if own else names


@functools.cache
def written(program, words, step, tokens):
    """The exit status, the text behind the prompt, and what was reported."""
    run = subprocess.run([program, *words, "--prompt", PROMPT, "--tokens", str(tokens), "--attention", step],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    text = run.stdout.partition(PROMPT)[2].partition("\n\n")[0]
    return run.returncode, text, run.stderr


def outcome(mistake, program, tests, tokens):
    """(how it was seen, the step, the text): "text", "logits", or "named" by a report; "" where nothing was seen. First
    without the simulator's checks, which is much faster, and with them if nothing shows."""
    for checks in (("--no-checks",), ()):
        for step in steps_with(mistake):
            right = written(program, checks, step, tokens if checks else 1)
            if right[0] != 0:
                project.die(f"the model itself fails: {right[2]}")
            wrong = written(tests, (AS_PROGRAM, "0 0 0 0 ", *checks), step, tokens if checks else 1)
            if wrong[0] == 2:  # refused before anything ran
                project.die(f"{mistake.id}: {wrong[2]}")
            how = "named" if wrong[2] else "text" if wrong[1] != right[1] else "logits" if wrong[0] != right[0] else ""
            if how:
                return how, step, wrong[1] or wrong[2].strip().partition("\n")[0]
    return "", "", ""


def main():
    command, *words = sys.argv[1:]
    of_road = {one.id: one for one in mistakes.mistakes_of(CHAPTER) if one.folder == CHAPTER}
    if command == "check":
        name, program, tests = words
        how, step, text = outcome(of_road[name], program, tests, 4)
        print(f"{name}: {how or 'not seen'} {step} {text}")
        return 0 if bool(how) != (name in CANNOT_SHOW) else 1
    program, folder = words
    for name, mistake in of_road.items():
        tests = Path(folder, name, "tests")
        if tests.exists():
            print(name, *outcome(mistake, program, str(tests), 40), sep="\t", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
