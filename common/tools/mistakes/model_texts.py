#!/usr/bin/env python3
"""What the model of 06/model writes with a mistake that is planted in the road of chapter 06.

usage: model_texts.py look PROGRAM FOLDER
       model_texts.py check PROGRAM FOLDER/NAME NAME

look: a line for each mistake that is built in FOLDER/NAME/tests, which are the model's tests with the mistake and hold
the program: how it was seen, in which step, the text. check: fails unless this one is seen, and writes what the page
says that it writes. PROGRAM is the model's. road_mistakes.txt says of each mistake how it shows, or why none can.
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
PAGE = project.ROOT / "docs/06_model.md"
# Long enough for several tiles of keys and queries, and for a last one that is not full.
PROMPT = ("A block of threads runs on one multiprocessor, and its warps take turns. "
          "A warp is a group of 32 threads that run together. Each of them has its own registers, and ")
TOKENS = 40
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


def outcome(mistake, program, tests):
    """(how it was seen, the step, the text): "text", "logits", or "named" by a report; "" where nothing was seen. First
    without the simulator's checks, which is much faster, and with them if nothing shows."""
    for checks, tokens in ((("--no-checks",), TOKENS), ((), 1)):
        for step in steps_with(mistake):
            right = written(program, checks, step, tokens)
            if right[0] != 0:
                project.die(f"the model itself fails: {right[2]}")
            wrong = written(tests, (AS_PROGRAM, "0 0 0 0 ", *checks), step, tokens)
            if wrong[0] == 2 and "--attention" in wrong[2]:  # refused before anything ran
                project.die(f"{mistake.id}: {wrong[2]}")
            how = "named" if wrong[2] else "text" if wrong[1] != right[1] else "logits" if wrong[0] != right[0] else ""
            if how:
                return how, step, wrong[1] or wrong[2].strip().partition("\n")[0]
    return "", "", ""


def look(program, folder):
    for mistake in mistakes.mistakes_of(CHAPTER):
        tests = Path(folder, mistake.id, "tests")
        if mistake.folder == CHAPTER and tests.exists():
            print(mistake.id, *outcome(mistake, program, str(tests)), sep="\t", flush=True)


def on_page():
    """From the page's table: what a mistake is called, or how its name begins, to the text; "none" too."""
    return {words: text for words, ticks, text in
            re.findall(r"^\| (.+?) \| (`+ ?)(.+?) ?`+ \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)}


def check(program, folder, name):
    mistake = mistakes.entry_of(CHAPTER / "mistakes.txt", name)
    how, step, text = outcome(mistake, program, str(Path(folder, "tests")))
    if not how:
        project.die(f"{name}: the model writes what it should, and nothing is reported")
    shown = [wanted for words, wanted in on_page().items() if mistake.field["name"].startswith(words)]
    if shown not in ([], [text.rstrip()]):
        project.die(f"{name}: {PAGE.name} shows that the model writes `{shown[0]}`, and it writes `{text}`")
    print(f"{name}: {how} by {step}: {text}")


def main():
    project.program = "learn"
    command, *words = sys.argv[1:]
    {"look": look, "check": check}[command](*words)


if __name__ == "__main__":
    main()
