#!/usr/bin/env python3
"""What single accesses of a warp cost, read from a GPU's counters by Nsight Compute.

usage: common/tools/measure/access_patterns.py FILE.csv

Takes width, lanes and 32 byte offsets from each line of the file, and writes the counts behind them; in
matrix_patterns.csv it is the word (ldmatrix, ldmatrix_trans, stmatrix), how many matrices, and 32 byte offsets. The
simulator's rules (common/simulator/count/warp_request.cpp) are tested against these.
"""
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
from profile_steps import by_nsight_compute, kernel_name

SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
PASSES = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
# Which counters each kernel of access_patterns.cu is made for, and the columns for them.
KERNELS = {
    "load_shared": {"load_passes": PASSES.format("ld"), "load_conflicts": CONFLICTS.format("ld")},
    "store_shared": {"store_passes": PASSES.format("st"), "store_conflicts": CONFLICTS.format("st")},
    "store_global": {"sectors": SECTORS.format("st")},
    "add_global": {"atomic_sectors": SECTORS.format("red")},
}
MATRIX_KERNELS = {
    "load_matrix": {"passes": PASSES.format("ld"), "conflicts": CONFLICTS.format("ld")},
    "store_matrix": {"passes": PASSES.format("st"), "conflicts": CONFLICTS.format("st")},
}


def main():
    parser = project.arguments(__doc__)
    parser.add_argument("file", type=Path)
    path = parser.parse_args().file
    patterns = project.read_csv(path)
    of_matrices = "word" in patterns[0]
    kernels = MATRIX_KERNELS if of_matrices else KERNELS
    counters = list(dict.fromkeys(counter for columns in kernels.values() for counter in columns.values()))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "access_patterns")
        source = Path(__file__).with_suffix(".cu")
        include = ["-I", project.ROOT, "-I", project.ROOT / "common/backend/include"]
        subprocess.run(["nvcc", "-std=c++17", "-arch=native", *include, "-o", program, source], check=True)
        with open(path) as file:
            launches = by_nsight_compute([program], counters, stdin=file)
    counts = []
    for name, values in launches:
        kernel = kernel_name(name)
        if of_matrices or kernel == "load_shared":  # the first of a pattern
            counts.append({})
        value = dict(zip(counters, values))
        counts[-1].update({column: f"{value[counter]:.0f}" for column, counter in kernels[kernel].items()})
    pattern = [*(["word", "count"] if of_matrices else ["bytes", "lanes"]), *(f"at{i}" for i in range(32))]
    heads = list(dict.fromkeys([*pattern, *(column for columns in kernels.values() for column in columns)]))
    lines = [[*(row[head] for head in pattern), *count.values()] for row, count in zip(patterns, counts, strict=True)]
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([heads, *lines])


if __name__ == "__main__":
    main()
