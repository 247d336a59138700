#!/usr/bin/env python3
"""Says which branches of the host's code the tests on the CPU take one way only.

usage: common/tools/mutants/branches.py [CHAPTER | PART | common]...

Host code is what is linked into a ladder's programs and is no kernel: launchers, rules, references; and in `common` what
compares, measures and prints. It is built in build/coverage, without the simulator's checks, for gcov to count how often
each branch went each way; then the tests of each ladder run, those on other GPUs, too. (The tests of counts and reports
fail there, and the number of failures is said.) Branches on exceptions do not count, and neither do those of functions
that no test calls: these are named themselves.

one_way.txt says of the others why no test can take them; the script fails where there are more, or where a line of that
list is old. Without words all ladders are tried, which takes an hour.
"""
import collections
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project

BUILD = project.ROOT / "build/coverage"
LIST = Path(__file__).parent / "one_way.txt"
COMMON = project.ROOT / "common"
ROOMS = ("kernel", "compare", "data", "program", "measure")


class Ladder:
    """A chapter's road, a part, or what all share: its sources, its objects, its tests."""

    def __init__(self, folder):
        self.folder = folder
        self.is_common = folder == COMMON
        self.label = project.label(folder)
        self.target = project.target(folder)
        self.folders = [folder / room for room in ROOMS] if self.is_common else [folder]

    def counts(self):
        """gcov's files."""
        return list((BUILD / self.label / "CMakeFiles").rglob("*.gcda"))

    def build(self):
        targets = [f"{self.target}_tests"] if self.is_common else [f"{self.target}_check"]
        run(["cmake", "--build", BUILD, "-j", os.environ.get("JOBS", "1"), "--target", *targets])

    def forget(self):
        for old in self.counts():
            old.unlink()

    def test(self):
        """Runs the tests, and says what the last line of the program says."""
        environment = {**os.environ, "SIMULATOR_CHECKS": "off"}
        ran = subprocess.run([BUILD / self.label / f"{self.target}_tests"], capture_output=True, text=True, errors="replace",
                             cwd=BUILD, env=environment, stdin=subprocess.DEVNULL)
        subprocess.run(["ctest", "--test-dir", BUILD, "-L", f"^{self.label}$", "-R", "on compute capability|the program's answer"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        said = [line for line in (ran.stdout + ran.stderr).splitlines() if re.search(r"passed|failed", line)]
        return said[-1] if said else f"exit status {ran.returncode}"


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        project.die(f"{' '.join(map(str, command))}:\n{(done.stdout + done.stderr)[-3000:]}")


def device_lines(text):
    """The numbers of the lines of functions that run on the device alone."""
    lines = set()
    for found in re.finditer(r"__(?:global|device)__", text):
        before = text[text.rfind("\n", 0, found.start()) + 1:found.start()]
        if "__host__" in before or "//" in before:
            continue
        start = at = found.end()
        depth = 0  # of ( ) before the body
        while at < len(text) and not (depth == 0 and text[at] in "{;"):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        if at < len(text) and text[at] == "{":
            while at < len(text):
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                at += 1
                if depth == 0:
                    break
            lines |= set(range(text.count("\n", 0, start) + 1, text.count("\n", 0, at) + 2))
    return lines


def switches(text):
    """The lines of `switch (…)`, which have a branch for each value and one for none; and where the code of cases begins."""
    lines = text.splitlines()
    heads = {number for number, line in enumerate(lines, 1)
             if "switch (" in line or (number > 1 and lines[number - 2].rstrip().endswith("switch ("))}
    labels = [number for number, line in enumerate(lines, 1) if re.match(r"\s*(case .*|default):", line)]
    return heads, {number if re.search(r":\s*[^\s/:{].*;", lines[number - 1]) else number + 1 for number in labels}


def without_exceptions(branches):
    """How often each condition went each way. A call that may throw has two branches, as well."""
    ways, at = [], 0
    while at + 1 < len(branches):
        one, other = branches[at:at + 2]
        if not one["throw"] and not other["throw"]:
            ways.append((one["count"], other["count"]))
        at += 2
    return ways


def folded(ways, text):
    """The instances of a template stand behind one another where they are on the same line: they add up."""
    conditions = len(re.findall(r"&&|\|\||\?|\b(?:if|for|while) ", text))
    if not conditions or len(ways) % conditions:
        return ways
    return [tuple(map(sum, zip(*ways[first::conditions]))) for first in range(conditions)] if ways else []


def one_way(counts, folders):
    """(path, line): how many conditions on it went one way only. A function that never ran counts as one."""
    text_of = functools.cache(lambda path: path.read_text().splitlines())
    sums = collections.defaultdict(dict)  # (path, line): {conditions on it: [[one, other], …]}: instances of a template add up
    called, ran = collections.Counter(), collections.Counter()
    if not counts:
        return {}
    for first in range(0, len(counts), 50):
        output = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", *counts[first:first + 50]],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, cwd=BUILD).stdout
        for document in output.splitlines():
            for file in json.loads(document)["files"] if document.startswith("{") else []:
                path = Path(file["file"])
                if path.parent not in folders or path.name in project.NOT_IN_LIBRARY:
                    continue
                for function in file["functions"]:
                    called[path, function["start_line"]] += function["execution_count"]
                for line in file["lines"]:
                    ran[path, line["line_number"]] += line["count"]
                    ways = folded(without_exceptions(line["branches"]), text_of(path)[line["line_number"] - 1])
                    so_far = sums[path, line["line_number"]].setdefault(len(ways), [[0, 0] for _ in ways])
                    for total, way in zip(so_far, ways):
                        total[0] += way[0]
                        total[1] += way[1]
    found = collections.Counter()
    skipped = {path: device_lines(path.read_text()) for path in {path for path, _ in [*sums, *called]}}
    heads, cases = {}, {}
    for path in skipped:
        heads[path], cases[path] = switches(path.read_text())
    for (path, line), by_count in sums.items():
        # (What is destroyed at the end of a block has branches, too, and so has which exception is caught.)
        is_end = re.match(r"\s*(};?$|} catch \()", text_of(path)[line - 1])
        if line not in skipped[path] | heads[path] and not is_end:
            found[path, line] += sum((one == 0) != (other == 0) for ways in by_count.values() for one, other in ways)
    for path in skipped:
        for line in cases[path] - skipped[path]:
            found[path, line] += ran.get((path, line), 1) == 0
    for (path, line), count in called.items():
        if count == 0 and line not in skipped[path]:
            found[path, line] += 1
    return +found


def reasons():
    """[(path, piece of the line, why)]"""
    lines = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(" | ")) for line in lines]


def main():
    parser = project.arguments(__doc__)
    parser.add_argument("where", nargs="*")
    words = parser.parse_args().where
    folders = [COMMON if word == "common" else project.find_room(word) for word in words] or [COMMON, *project.rooms()]
    if not (BUILD / "CMakeCache.txt").exists():
        run(["cmake", "-S", project.ROOT, "-B", BUILD, "-G", "Ninja", "-DTUTORIAL_COVERAGE=ON", "-DCMAKE_BUILD_TYPE=Debug"])
    listed, bad = reasons(), False
    ladders = list(map(Ladder, folders))
    for ladder in ladders:
        ladder.build()
    for ladder in ladders:
        ladder.forget()
    said = {ladder: ladder.test() for ladder in ladders}  # a ladder's tests may take another's branches
    counts = [file for ladder in ladders for file in ladder.counts()]
    for ladder in ladders:
        found = one_way(counts, ladder.folders)
        used, open_lines = set(), []
        for (path, line), count in sorted(found.items()):
            text = path.read_text().splitlines()[line - 1].strip()
            name = os.path.relpath(path, project.ROOT)
            why = [entry for entry in listed if entry[0] == name and entry[1] in text]
            used |= set(why)
            if not why:
                open_lines.append((f"  {name}:{line}  {text}", count))
        old = [entry for entry in listed if project.ROOT / entry[0] in
               {path for folder in ladder.folders for path in folder.iterdir()} and entry not in used]
        print(f"{ladder.label}: {sum(count for _, count in open_lines)} one way only, {len(used)} with a reason; its tests: {said[ladder]}")
        for line, _ in open_lines:
            print(line)
        for path, piece, _ in old:
            print(f"  one_way.txt is old: {path} | {piece}")
        sys.stdout.flush()
        bad = bad or bool(open_lines or old)
    sys.exit(bad)


if __name__ == "__main__":
    main()
