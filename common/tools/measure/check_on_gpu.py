#!/usr/bin/env python3
"""Builds, tests, sanitizes and measures everything on the GPU at hand.

usage: common/tools/measure/check_on_gpu.py [build|test|large|sanitize|measure]...      (no word: all five)

What is measured goes to docs/results/<device>: times (common/tools/measure/bench.py --keep, a chapter or part at a time), how
long a load waits for each memory (common/tools/measure/memory_latencies.py), and where Python has NumPy, what a product takes
there (common/tools/measure/matmul_in_python.py). What the sanitizers say goes to sanitizers.csv, a line for each program of
tests and tool, as it comes. RESULTS overrides the folder, COMMIT what git says. CMAKE_ARGS holds further options for the
configure step, SANITIZERS the tools to use, JOBS how many of them at once, SANITIZE_SECONDS how long each may take.
racecheck takes longest: of some chapters it looks at one step at a time, and at fewer shapes of a step that is late.
PARTS, such as "02 02/hopper", takes these chapters' and parts' tests alone, step by step.
`large` runs the tests of large problems one by one: more than 2^31 elements, more rows than a grid has blocks.
"""
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
import exercises
import results
from sizes import SETS

TOOLS = os.environ.get("SANITIZERS", "memcheck racecheck initcheck synccheck").split()
SECONDS = int(os.environ.get("SANITIZE_SECONDS", "300"))
# Tests tagged [large] would take minutes under a sanitizer; those tagged [values] make the same accesses as others,
# with other numbers. The chapters' frame measures the device's ceilings, which racecheck slows down to minutes. A
# chapter's program is a process of its own.
LEFT_OUT = ["~[large]", "~[values]", "~[timing]", "~[program]"]
LEFT_OUT_OF_COMMON = ["~[chapter]"]
STEP_BY_STEP = ["02", "03", "06"]  # under racecheck, which takes longer than SECONDS for all steps together
OF_LARGER_SHAPES = "~[shapes]"  # left out where it takes longer for one


def run(*command):
    return subprocess.run(command, cwd=project.ROOT).returncode == 0


def build():
    jobs = str(os.cpu_count())
    return (run("cmake", "--preset", "gpu", "-DTUTORIAL_WERROR=ON", *os.environ.get("CMAKE_ARGS", "").split())
            and run("common/tools/learn/progress.py", "cmake", "--build", "--preset", "gpu", "-j", jobs))


def test():
    return run("common/tools/learn/progress.py", "ctest", "--preset", "gpu", "-j", "4")


def tests_of(name):
    """The test program of a room, of a chapter, of a part, "02_tiled_matmul/hopper", or of an exercise,
    "02/transpose", with our solution."""
    if "/" in name and not (project.ROOT / name).is_dir():
        folder = next(one.folder for one in exercises.exercises() if one.name == name)
        return project.ROOT / "build/gpu" / folder.relative_to(project.ROOT) / "solution"
    return project.ROOT / "build/gpu" / (name if name[0].isdigit() else "common") / f"{name.replace('/', '_')}_tests"


def large():
    """The tests tagged [large], one by one. `test` leaves out those that must be asked for: they need 20 GB of device
    memory, for arrays of more than 2^31 elements, and alone see an index of 32 bits."""
    good = True
    for name in map(project.label, project.rooms()):
        program = tests_of(name)
        listed = subprocess.run([program, "--list-tests", "--verbosity", "quiet", "[large]"], stdout=subprocess.PIPE,
                                text=True, check=True).stdout
        for test in listed.splitlines():
            began = time.monotonic()
            ran = subprocess.run([program, re.sub(r"([,\[\]\\*])", r"\\\1", test)], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, errors="replace")
            summaries = re.findall(r"All tests passed.*|test cases:.*", ran.stdout)
            print(f"{name:22} {test}: {summaries[-1] if summaries else 'no answer'}, "
                  f"{time.monotonic() - began:.0f} s  (exit {ran.returncode})", flush=True)
            if ran.returncode:
                print("\n".join(ran.stdout.splitlines()[:40]), flush=True)
                good = False
    return good


def steps_of(name):
    """The steps of a chapter or a part, by name. "" is all there are."""
    folder = project.ROOT / name
    if name[:2] not in STEP_BY_STEP or folder not in project.ladders():
        return [""]
    return [step.name for step in project.steps(folder)]


def sanitize_one(name, tool, step="", less=""):
    """The line for the record; prints it, and what was found. Launches that tests mean to fail are no errors of ours."""
    command = ["compute-sanitizer", "--tool", tool, "--report-api-errors", "no", "--error-exitcode", "9",
               tests_of(name), *LEFT_OUT, *less.split(), *(LEFT_OUT_OF_COMMON if name == "common" else [])]
    # With a group of its own, for the program of tests outlives its sanitizer, and what is measured next shares the GPU.
    ran = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                           env={**os.environ, "TUTORIAL_STEP": step}, start_new_session=True)
    try:
        said, status = ran.communicate(timeout=SECONDS)[0], ran.returncode
    except subprocess.TimeoutExpired:
        os.killpg(ran.pid, signal.SIGKILL)
        said, status = ran.communicate()[0], 124
    if status == 124 and step and not less:
        return sanitize_one(name, tool, step, OF_LARGER_SHAPES)
    summary = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)", said)
    found = f"stopped after {SECONDS} s" if status == 124 else summary[1] if summary and status in (0, 9) else f"exit {status}"
    print(f"{' '.join(filter(None, [name, step, less])):30} {tool:10} {found}", flush=True)
    if status:
        lines = [line for line in said.splitlines() if not re.fullmatch(r"|.*Host Frame.*|=* *", line)]
        print("\n".join(lines[:40]), flush=True)
    tests = project.short_name(project.ROOT / name) if (project.ROOT / name) in project.rooms() else name
    return {"tests": tests, "step": step, "only": less, "mistake": "", "check": "", "tool": tool, "said": found}


def sanitize():
    """A few at once: each keeps a core busy for longer than it keeps the GPU. A run that is cut off leaves what it has
    found."""
    if parts := os.environ.get("PARTS", "").split():
        runs = [(project.label(folder), tool, step.name) for folder in map(project.find_ladder, parts)
                for tool in TOOLS for step in project.steps(folder)]
    else:
        names = ["common", "simulator", *map(project.label, project.rooms()),
                 *(exercise.name for exercise in exercises.exercises())]
        runs = [(name, tool, step) for name in names for tool in TOOLS
                for step in (steps_of(name) if tool == "racecheck" else [""])]
    good, when = True, {name: project.origin()[name] for name in ("date", "commit")}
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "4"))) as pool:
        for row in pool.map(sanitize_one, *zip(*runs)):
            kept = results.merged(results.kept("sanitizers"), [row | when], *results.OF_SANITIZERS)
            results.write_table("sanitizers", kept)
            good = good and row["said"] == "0"
    return good


def measure():
    good = True
    for ladder in dict.fromkeys(sizes[-1].ladder for sizes in SETS.values()):
        good = run("common/tools/measure/bench.py", ladder, "--keep") and good
    good = run("common/tools/measure/memory_latencies.py") and good
    if importlib.util.find_spec("numpy"):
        good = run("common/tools/measure/matmul_in_python.py") and good
    return good


def main():
    steps = {"build": build, "test": test, "large": large, "sanitize": sanitize, "measure": measure}
    parser = project.arguments(__doc__)
    parser.add_argument("steps", nargs="*")
    wanted = parser.parse_args().steps or list(steps)
    for word in wanted:
        if word not in steps:
            project.die(f"there is no step '{word}'; choose from {', '.join(steps)}")
    good = True
    for word in wanted:
        good = steps[word]() and good
        if word == "build" and not good:
            break
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
