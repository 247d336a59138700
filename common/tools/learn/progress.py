#!/usr/bin/env python3
"""Runs CMake, a build or CTest, and shows one line of progress instead of one for each file or test.

usage: common/tools/learn/progress.py COMMAND…

On a terminal that line is overwritten; elsewhere there is one a minute. What a compiler says is printed
in full; what failing tests say up to some 60 lines, and what the simulator found once. A build ends in "built 57 files in 80 s", if there was something to build;
tests end in CTest's own "100% tests passed …". Exits as COMMAND does.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

STEP = re.compile(r"\[ *([\d/]+%?)\] (.*)")  # of ninja or make
COMPILED = re.compile(r"Building (?:C|CXX|CUDA) object (?:.*/)?(.*)\.o$")
BUILD_NOISE = re.compile(  # of ninja, make and CMake; what they say of errors is none of it
    r"ninja: (no work to do|build stopped)|g?make(\[\d+\])?: (\*\*\* (\[.*\] Error|Waiting)|Entering|Leaving)"
    r"|(Consolidate compiler generated|Scanning) dependencies|-- |Preset CMake variables:|  \w+(:\w+)?="
)
RESULT = re.compile(r" *(\d+/\d+) Test +#\d+: (.*?) \.*\s*(Passed|\*\*\*Skipped)?(?:\*\*\*.*?)?\s+[\d.]+ sec")
FINDING = re.compile(r"[a-z ]+ in ")  # common/simulator/: the lines after it are indented
TEST_CHATTER = re.compile(r"device: |skipped |Filters: |Randomness seeded|\d+ of \d+ test cases failed")
MOST_LINES = 60
TEST_NOISE = re.compile(r"Internal ctest|\s+Start +\d+: |Errors while running|Output from these|Use \"--rerun")


class Screen:
    def __init__(self):
        self.terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.start = self.last = time.monotonic()
        self.said = False  # was a line printed that stays?
        self.clear = ""

    def progress(self, text):
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            print("\r\033[K" + text[:width], end="", flush=True)
            self.clear = "\r\033[K"
        elif time.monotonic() > self.last + 60:
            print(text, flush=True)
            self.last = time.monotonic()

    def say(self, text):
        print(self.clear + text, flush=True)
        self.clear, self.said = "", True

    def seconds(self):
        return round(time.monotonic() - self.start)


def follow_build(lines, screen):
    """Shows the lines of cmake; returns what to say at the end."""
    built, skip, before = 0, False, ""
    for line in lines:
        step = STEP.match(line)
        if skip:  # the command that failed
            skip = False
        elif step:
            file = COMPILED.match(step[2])
            built += bool(file)
            screen.progress(f"[{step[1]}] {file[1] if file else step[2]}")
            line = ""
        elif line.startswith("FAILED: "):  # ninja
            skip, line = True, ""
        elif BUILD_NOISE.match(line):
            screen.progress(line)
            line = ""
        elif line or before:
            screen.say(line)
        before = line
    return [f"built {built} file{'s' * (built != 1)} in {screen.seconds()} s"] if built else []


def skipped(folder):
    """What could not run: CTest shows what a test says only if it fails."""
    log = Path(folder, "Testing/Temporary/LastTest.log")
    if not log.exists():
        return []
    text = log.read_text(errors="replace")
    steps = re.findall(r"^skipped step (.*)", text, re.MULTILINE)
    tests = re.findall(r"^skipped \d+ times?: (.*)", text, re.MULTILINE)
    lines = [f"  step {step} (in {count} test{'s' * (count != 1)})" for step, count in sorted(collections.Counter(steps).items())]
    lines += [f"  {count} test{'s' * (count != 1)}: {reason}" for reason, count in sorted(collections.Counter(tests).items())]
    return ["Skipped, which is no pass:", *lines] if lines else []


class Failures:
    """What failing tests say. One fault is found in many tests: its report is shown once."""

    def __init__(self, screen):
        self.screen, self.told, self.report, self.lines, self.more = screen, set(), [], 0, 0
        self.name = ""  # of the test, until it is said

    def begin(self, name):
        self.end_report()
        self.name = name

    def line(self, line):
        if self.report and line.startswith(" "):
            self.report.append(line)
            return
        self.end_report()
        if FINDING.match(line):
            self.report = [line]
        elif line and not TEST_CHATTER.match(line):
            named = line.startswith("FAILED  ")  # our test programs name the test themselves
            self.say([line] if named or not self.name else [f"FAILED  {self.name}", line])
            self.name = ""

    def end_report(self):
        if self.report:
            place = tuple(re.findall(r"[^ /]+\.(?:cu|cuh|cpp|hpp|h):\d+", "\n".join(self.report)))
            key = (self.report[0].split()[0], place or self.report[0])
            if key not in self.told:
                self.told.add(key)
                self.say(self.report)
        self.report = []

    def say(self, lines):
        if self.lines + len(lines) > MOST_LINES and self.lines > 0:
            self.more += len(lines)
            return
        for line in lines:
            self.screen.say(line)
        self.lines += len(lines)


def follow_tests(lines, screen):
    """Shows the lines of ctest; returns what to say at the end."""
    folder, failed, closing = ".", [], []
    in_list = False
    failures = Failures(screen)
    for line in lines:
        result = RESULT.match(line)
        if result and result[3]:
            failures.end_report()
            screen.progress(f"[{result[1]}] {result[2]}")
        elif result:
            failures.begin(result[2])
        elif line.startswith("Test project "):
            folder = line[len("Test project "):]
        elif re.match(r"\d+% tests passed", line):
            closing = [line]
        elif closing:
            if not line.startswith("\t"):
                in_list = line == "The following tests FAILED:"
            failed += [line] * in_list
            if line.startswith("Total Test time"):
                closing.insert(0, line)
        elif not TEST_NOISE.match(line):
            failures.line(line)
    failures.end_report()
    if failures.more:
        screen.say(f"… and {failures.more} lines more: {folder}/Testing/Temporary/LastTest.log has all")
    return [*failed, *skipped(folder), *closing]


def main():
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    screen = Screen()
    everything = []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
        errors="replace", env=os.environ | {"NINJA_STATUS": "[%f/%t] "},
    )

    def lines():
        for line in process.stdout:
            everything.append(line.rstrip())
            yield everything[-1]

    try:
        follow = follow_tests if Path(command[0]).name == "ctest" else follow_build
        closing = follow(lines(), screen)
        status = process.wait()
    except KeyboardInterrupt:
        process.wait()
        return 130
    if status and not screen.said:
        screen.say("\n".join(everything))
    for line in closing if status == 0 or follow == follow_tests else []:
        screen.say(line)
    print(screen.clear, end="")
    return status


if __name__ == "__main__":
    sys.exit(main())
