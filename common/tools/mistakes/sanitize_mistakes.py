#!/usr/bin/env python3
"""Which of compute-sanitizer's tools names each mistake that the simulator's checks name?

usage: common/tools/mistakes/sanitize_mistakes.py [CHAPTER...]    (after check_on_gpu build, with Ninja)

For each mistake of these chapters, or of all, whose check is race, init, bounds or barrier: builds the chapter's tests
with it, runs those that show it under each tool, and puts into sanitizers.csv of docs/results/<device> (RESULTS overrides
the folder): "line" if the tool named a line of the changed file, "yes" if it reported something, "no" if it did not,
"timeout". JOBS is how many at once (6).
"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
import results
from mistakes import ROOT, chapters, mistakes_in

BUILD = ROOT / "build/gpu"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def verdict(mistake, tool, program):
    try:
        ran = subprocess.run(["compute-sanitizer", "--tool", tool, "--report-api-errors", "no", "--error-exitcode", "9",
                              program, mistake.field["tests"]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             encoding="utf-8", errors="replace", timeout=60)
    except subprocess.TimeoutExpired:
        return "timeout"
    if not re.search("(ERROR|RACECHECK) SUMMARY: [1-9]", ran.stdout):
        return "no"
    return "line" if re.search(rf"in (.*/)?{re.escape(mistake.file().name)}:[0-9]", ran.stdout) else "yes"


def build(mistake, folder):
    """The test program, by the build's own commands: with the changed files' objects before the chapter's library."""
    def run(command):
        subprocess.run(command, shell=True, check=True, cwd=BUILD)

    tests = f"{project.label(mistake.folder)}/{project.target(mistake.folder)}_tests"
    commands = subprocess.check_output(["ninja", "-t", "commands", Path(tests).name], cwd=BUILD, text=True)
    mistake.apply(folder)
    objects = []
    for path in mistake.touched():
        source = mistake.chapter / path
        for command in re.findall(rf"^.* -c {re.escape(str(source))}(?: .*)?$", commands, re.M):
            old_object, new_object = re.search(r" -o (\S+)", command)[1], f"{folder / path}.o"
            run(command.replace(old_object, new_object).replace(f" -c {source}", f" -w -c {folder / path}")
                .replace(f" -I{mistake.chapter} ", f" -I{folder} -I{mistake.chapter} "))
            objects.append(new_object)
    link = re.search(rf"^: && (.* -o {tests} .*?) && ", commands, re.M)[1]
    run(link.replace(f" -o {tests} ", f" {' '.join(objects)} -o {folder}/tests "))
    return folder / "tests"


def rows(mistake):
    with tempfile.TemporaryDirectory() as folder:
        program = build(mistake, Path(folder))
        return [{"tests": project.short_name(mistake.folder), "step": "", "only": "", "mistake": mistake.id,
                 "check": mistake.field["check"], "tool": tool, "said": verdict(mistake, tool, program)} | WHEN
                for tool in TOOLS]


parser = project.arguments(__doc__)
parser.add_argument("chapters", nargs="*", type=project.find_ladder)
words = parser.parse_args()
WHEN = {name: project.origin()[name] for name in ("date", "commit")}
wanted = [mistake for chapter in words.chapters or chapters()
          for mistake in mistakes_in(chapter) if mistake.field["check"] in ("race", "init", "bounds", "barrier")]
with ThreadPoolExecutor(int(os.environ.get("JOBS", "6"))) as pool:
    found = [row for of_mistake in pool.map(rows, wanted) for row in of_mistake]
results.keep_rows("sanitizers", found, *results.OF_SANITIZERS)
sys.exit(0 if results.quote() else 1)
