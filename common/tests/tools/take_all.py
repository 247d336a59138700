#!/usr/bin/env python3
"""What ./learn take writes, of all steps of all ladders, compiled and run.

usage: take_all.py compile   by the line in the file, but without the optimiser, which takes most of the time
       take_all.py run       by that line, and each runs on the GPU at hand, at its own sizes
       take_all.py try       in the simulator, at small sizes; CTest says how it is built

--sample N takes every N-th step, others each day. TAKE in the environment says which steps instead, and then takes all
of them: all, road, or a ladder such as 02/hopper.
"""
import concurrent.futures
import datetime
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path[:0] = map(str, (Path(__file__).resolve().parents[2] / "tools").glob("**/"))
import project  # noqa: E402
import take  # noqa: E402

AT_ONCE_ON_THE_GPU = 4
MOST_SECONDS = 500  # of a compiler or a program
taking = threading.Lock()
gpu = threading.Semaphore(AT_ONCE_ON_THE_GPU)


class Wrong(Exception):
    """What a compiler or a program said."""


def call(*words, cwd):
    try:
        done = subprocess.run(words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        raise Wrong(f"{words[0]} has taken {MOST_SECONDS} s") from None
    if done.returncode != 0:
        raise Wrong(f"{shlex.join(map(str, words))} ended with {done.returncode}\n{done.stdout}")
    return done.stdout


def nvcc():
    return os.environ.get("CUDACXX") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"


def compiled(taken, folder, *more):
    said = call(nvcc(), *taken.flags.split(), *more, "taken.cu", "-o", "taken", *taken.library.split(), cwd=folder)
    # Of `constexpr int BM = …, BN = …;` in another step's file not all may be used here: #177.
    if re.search(r": warning\b(?! #177-D)", said):
        raise Wrong(said)


def compile_one(options, taken, folder):
    compiled(taken, folder, "--Ofast-compile=max")


def run_one(options, taken, folder):
    needs = re.search(r"sm_(\d+)(a?)", taken.flags)
    if int(needs[1]) > options.capability or needs[2] and int(needs[1]) != options.capability:
        return f"skipped: needs {needs[0]}"
    compiled(taken, folder)
    with gpu:
        return call("./taken", cwd=folder).splitlines()[-1]


def try_one(options, taken, folder):
    call(options.translator, "taken.cu", "taken.cu.cpp", cwd=folder)
    call(*shlex.split(options.compile), "-c", "taken.cu.cpp", "-o", "taken.o", cwd=folder)
    call(*shlex.split(options.link.replace("PROGRAM", "taken.o -o taken")), cwd=folder)
    said = call("./taken", *taken.small.split(), cwd=folder)
    if "the checks found nothing" not in said:
        raise Wrong(said)
    return said.splitlines()[-1]


def chosen(sample):
    asked = os.environ.get("TAKE", "")
    ladders = project.ladders() if asked in ("", "all") else project.chapters() if asked == "road" else [
        project.find_ladder(asked)]
    steps = [(folder, step) for folder in ladders for step in project.steps(folder)]
    return steps if asked else steps[datetime.date.today().toordinal() % sample::sample]


def do(options, folder, step):
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        with taking:
            taken = take.take(folder, step, "taken.cu")
        (Path(place) / "taken.cu").write_text(taken.text)
        try:
            said, right = options.do(options, taken, place), True
        except Wrong as wrong:
            said, right = str(wrong), False
    verdict = "ok   " if right else "WRONG"
    seconds = time.monotonic() - begin
    print(f"{verdict} {seconds:5.1f} s  {project.short_name(folder)} {step.name}  {said or ''}", flush=True)
    return right


def main():
    parser = project.arguments(__doc__)
    parser.add_argument("what", choices=("compile", "run", "try"))
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--translator", help="of `try`: the program")
    parser.add_argument("--compile", help="of `try`: the compiler and its options")
    parser.add_argument("--link", help="of `try`: the same, with PROGRAM where its files are named")
    options = parser.parse_args()
    options.do = {"compile": compile_one, "run": run_one, "try": try_one}[options.what]
    missing = [program for program in (*[nvcc()] * (options.what != "try"), *["nvidia-smi"] * (options.what == "run"))
               if not shutil.which(program)]
    if missing:
        print(f"there is no {missing[0]}")
        sys.exit(4)  # skipped
    options.capability = int(float(project.gpu("compute_cap")) * 10) if options.what == "run" else 0
    steps = sorted(chosen(options.sample), key=lambda each: -each[1].path.stat().st_size)  # the longest first
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        right = list(pool.map(lambda each: do(options, *each), steps))
    print(f"{right.count(True)} of {len(right)} steps are right")
    sys.exit(not all(right))


if __name__ == "__main__":
    main()
