#!/usr/bin/env python3
"""How many cycles a load waits for each memory of the GPU at hand: common/tools/measure/memory_latencies.cu builds the chains.

usage: common/tools/measure/memory_latencies.py

Writes docs/results/<device>/latencies.csv (RESULTS overrides the folder), a line a memory: how many bytes
there are of it (a multiprocessor, of what each has its own; the runtime does not say it of L1), the bytes that the chain
lies in, how many loads were timed, the cycles of one of them (the median of eleven runs, the least, the most), its
nanoseconds, and at the end what each file of results has: driver, toolkit, date and commit.
"""
import csv
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
import results


def main():
    project.arguments(__doc__).parse_args()
    for tool in ("nvidia-smi", "nvcc"):
        if not shutil.which(tool):
            project.die(f"there is no {tool} here: latencies are measured on a GPU, with the CUDA Toolkit")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "memory_latencies")
        source = Path(__file__).with_suffix(".cu")
        subprocess.run(["nvcc", "-std=c++17", "-O3", "-arch=native", "-o", program, source], check=True)
        said = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
    origin = project.origin()
    rows = [row | origin for row in csv.DictReader(said.splitlines())]
    results.keep_table("latencies", rows)
    print(said, end="")
    results.quote()


if __name__ == "__main__":
    main()
