#!/usr/bin/env python3
"""What the units of the GPU at hand do: how many cycles a load waits for each memory, and how much each unit does in a cycle.

usage: common/tools/measure/memory_latencies.py

Writes docs/results/<device>/latencies.csv and rates.csv (RESULTS overrides the folder), and in each line at the end what
each file of results has: driver, toolkit, date and commit.

latencies.csv, from the chains of memory_latencies.cu, a line a memory: how many bytes there are of it (a multiprocessor, of
what each has its own; the runtime does not say it of L1), the bytes that the chain lies in, how many loads were timed, the
cycles of one of them (the median of eleven runs, the least, the most), its nanoseconds.

rates.csv, from unit_rates.cu, a line a unit: what it did, how much of it (the median of eleven runs), and of what.
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


def measure(source, table):
    """Runs the program of a .cu file beside this one, and keeps what it prints."""
    capability = project.gpu("compute_cap").replace(".", "")
    hopper = ["-arch=sm_90a", "-DWGMMA"] if capability == "90" else [f"-arch=sm_{capability}"]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, source)
        subprocess.run(["nvcc", "-std=c++20", "-O3", *hopper, f"-I{project.ROOT}", f"-I{project.ROOT}/common/backend/include",
                        "-o", program, Path(__file__).parent / "units" / f"{source}.cu"], check=True)
        said = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
    origin = project.origin()
    results.keep_table(table, [row | origin for row in csv.DictReader(said.splitlines())])
    print(said, end="")


def main():
    project.arguments(__doc__).parse_args()
    for tool in ("nvidia-smi", "nvcc"):
        if not shutil.which(tool):
            project.die(f"there is no {tool} here: latencies are measured on a GPU, with the CUDA Toolkit")
    measure("memory_latencies", "latencies")
    measure("unit_rates", "rates")
    results.quote()


if __name__ == "__main__":
    main()
