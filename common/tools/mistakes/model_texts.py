#!/usr/bin/env python3
"""What the model of 06/model writes with a mistake that is planted in the road of chapter 06.

usage: model_texts.py PROGRAM FOLDER

A line for each that is built in FOLDER/NAME/tests, which are the model's tests with the mistake and hold the program:
how it was seen, in which step, the text. PROGRAM is the model's.
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
    program, folder = sys.argv[1:]
    for mistake in mistakes.mistakes_of(CHAPTER):
        tests = Path(folder, mistake.id, "tests")
        if mistake.folder == CHAPTER and tests.exists():
            print(mistake.id, *outcome(mistake, program, str(tests), 40), sep="\t", flush=True)


if __name__ == "__main__":
    main()
