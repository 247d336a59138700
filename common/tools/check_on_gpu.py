#!/usr/bin/env python3
"""Builds, tests, sanitizes and measures everything on the GPU at hand.

usage: common/tools/check_on_gpu.py [build|test|large|sanitize|measure]...      (no word: all five)

Times go to docs/results/<device>/NN.csv (common/tools/bench.py), how long a load waits for each memory to
latencies.csv (common/tools/memory_latencies.py), and where Python has NumPy, what a product takes there to
matmul_in_python.csv (common/tools/matmul_in_python.py). Beside them go what became of the tests tagged [large]
(large.txt) and what the sanitizers say (sanitizers.txt), each under a line with device, driver, toolkit, date and
commit. RESULTS overrides the folder, COMMIT what git says. CMAKE_ARGS holds further options for the configure step,
SANITIZERS the tools to use, JOBS how many of them at once, SANITIZE_SECONDS how long each may take. racecheck takes
longest: of some chapters it looks at one step at a time, and at fewer shapes of a step that is late. PARTS, such as
"02 02/hopper", takes these chapters' and parts' tests alone, step by step, and keeps what is said in
sanitizers_of_parts.txt.
"""
import importlib.util
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import exercises
import project

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
            and run("common/tools/progress.py", "cmake", "--build", "--preset", "gpu", "-j", jobs))


def test():
    return run("common/tools/progress.py", "ctest", "--preset", "gpu", "-j", "4")


def tests_of(name):
    """The test program of a room, of a chapter, of a part, "02_tiled_matmul/hopper", or of an exercise,
    "02/transpose", with our solution."""
    if "/" in name and not (project.ROOT / name).is_dir():
        folder = next(one.folder for one in exercises.exercises() if one.name == name)
        return project.ROOT / "build/gpu" / folder.relative_to(project.ROOT) / "solution"
    return project.ROOT / "build/gpu" / (name if name[0].isdigit() else "common") / f"{name.replace('/', '_')}_tests"


def keep(file, records):
    """Writes what was found into the folder of this device. Is all of it good?"""
    origin = project.origin()
    heading = (f"device {project.gpu('name')}, driver {origin['driver']}, CUDA {origin['toolkit']}, "
               f"{origin['date']}, commit {origin['commit']}")
    folder = project.results_folder()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text("\n".join([heading, *records]) + "\n")
    return all(record.endswith("(exit 0)") for record in records)


def keep_each(file, records):
    """The same as they come, so that a run that is cut off leaves what it has found."""
    kept, good = [], True
    for record in records:
        kept.append(record)
        good = keep(file, kept)
    return good


def large():
    """The tests tagged [large], one by one. `test` leaves out those that must be asked for: they need 20 GB of device
    memory, for arrays of more than 2^31 elements, and alone see an index of 32 bits."""
    records = []
    for name in map(project.label, project.ladders()):
        program = tests_of(name)
        listed = subprocess.run([program, "--list-tests", "--verbosity", "quiet", "[large]"], stdout=subprocess.PIPE,
                                text=True, check=True).stdout
        for test in listed.splitlines():
            began = time.monotonic()
            ran = subprocess.run([program, re.sub(r"([,\[\]\\*])", r"\\\1", test)], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, errors="replace")
            summaries = re.findall(r"All tests passed.*|test cases:.*", ran.stdout)
            records.append(f"{name:22} {test}: {summaries[-1] if summaries else 'no answer'}, "
                           f"{time.monotonic() - began:.0f} s  (exit {ran.returncode})")
            print(records[-1], flush=True)
            if ran.returncode:
                print("\n".join(ran.stdout.splitlines()[:40]), flush=True)
    return keep("large.txt", records)


def steps_of(name):
    """The steps of a chapter or a part, by name. "" is all there are."""
    folder = project.ROOT / name
    if name[:2] not in STEP_BY_STEP or folder not in project.ladders():
        return [""]
    return [step.name for step in project.steps(folder)]


def sanitize_one(name, tool, step="", less=()):
    """Prints the line for the record, and what was found. Launches that tests mean to fail are no errors of ours."""
    less = list(less)
    command = ["compute-sanitizer", "--tool", tool, "--report-api-errors", "no", "--error-exitcode", "9",
               tests_of(name), *LEFT_OUT, *less, *(LEFT_OUT_OF_COMMON if name == "common" else [])]
    try:
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                             timeout=SECONDS, env={**os.environ, "TUTORIAL_STEP": step})
        status, said = ran.returncode, ran.stdout
    except subprocess.TimeoutExpired as late:
        status, said = 124, (late.stdout or b"").decode(errors="replace")
    if status == 124 and step and OF_LARGER_SHAPES not in less:
        return sanitize_one(name, tool, step, [OF_LARGER_SHAPES])
    summaries = re.findall(r"(?:ERROR|RACECHECK) SUMMARY.*", said)
    what = " ".join(filter(None, [name, step, *(tag for tag in less if tag.startswith("~"))]))
    record = f"{what:22} {tool:10} {summaries[-1] if summaries else ''}  (exit {status})"
    print(record, flush=True)
    if status:
        lines = [line for line in said.splitlines() if not re.fullmatch(r"|.*Host Frame.*|=* *", line)]
        print("\n".join(lines[:40]), flush=True)
    return record


def sanitize():
    """A few at once: each keeps a core busy for longer than it keeps the GPU."""
    if parts := os.environ.get("PARTS", "").split():
        runs = [(project.label(folder), tool, step.name) for folder in map(project.find_ladder, parts)
                for tool in TOOLS for step in project.steps(folder)]
        with ThreadPoolExecutor(int(os.environ.get("JOBS", "4"))) as pool:
            return keep_each("sanitizers_of_parts.txt", pool.map(sanitize_one, *zip(*runs)))
    names = ["common", "simulator", *map(project.label, project.ladders()),
             *(exercise.name for exercise in exercises.exercises())]
    runs = [(name, tool, step) for name in names for tool in TOOLS
            for step in (steps_of(name) if tool == "racecheck" else [""])]
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "4"))) as pool:
        return keep_each("sanitizers.txt", pool.map(sanitize_one, *zip(*runs)))


def measure():
    good = run("common/tools/bench.py")
    good = run("common/tools/memory_latencies.py") and good
    if importlib.util.find_spec("numpy"):
        good = run("common/tools/matmul_in_python.py") and good
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
