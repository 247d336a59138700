#!/usr/bin/env python3
"""What every kernel of every chapter does, as comma-separated values, a line a kernel.

usage: common/tools/profile_steps.py cpu [NN[/part]]...       counted by the simulator, from build/cpu (or BUILD)
       common/tools/profile_steps.py gpu [NN[/part]]...       read by Nsight Compute from a GPU's counters, from
                                                              build/gpu
       common/tools/profile_steps.py figures [NN[/part]]...   what limits each kernel at a size that fills a GPU, by
                                                              Nsight Compute: means over its launches

The first two take some sizes of each chapter, one that the tiles divide and others that they do not;
common/tools/profile_table.py puts them side by side. The chapters' pages show some of the figures (common/tools/pages.py).
"""
import csv
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import project


def for_each(ladders, sizes):
    """The same sizes for a chapter's road and for parts of it."""
    return [f"{word} {options}" for word in ladders.split() for options in sizes]


SIZES = [
    "01 --m 256 --n 128 --k 64",
    "01 --m 257 --n 130 --k 45",
    "01 --m 33 --n 65 --k 100",
    "01 --m 100 --n 96 --k 33",
    *for_each("02 02/faster 02/any_shape", [
        "--m 256 --n 256 --k 64",
        "--m 257 --n 131 --k 45",
        "--m 129 --n 130 --k 70",
        "--m 100 --n 60 --k 130",
        "--m 66 --n 68 --k 300",
        "--m 3 --n 70 --k 1100",
    ]),
    "02/tensor_cores --m 256 --n 256 --k 64",
    "02/tensor_cores --m 257 --n 136 --k 72",
    "02/tensor_cores --m 130 --n 131 --k 45",
    "02/tf32 --m 256 --n 256 --k 64",
    "02/tf32 --m 130 --n 131 --k 45",
    *for_each("03 03/block_lists", [
        "--batch 1 --m 256 --n 256 --k 64",
        "--batch 2 --m 300 --n 259 --k 45",
        "--batch 1 --m 129 --n 131 --k 100",
        "--batch 3 --m 64 --n 200 --k 7",
    ]),
    "03/nearest --m 256 --n 512 --d 64 --product",
    "03/nearest --m 130 --n 259 --d 45",
    "03/nearest --m 100 --n 300 --d 33 --neighbours 10",
    *for_each("04 04/long_rows", [
        "--rows 64 --cols 4096",
        "--rows 37 --cols 1001",
        "--rows 5 --cols 12345",
        "--rows 130 --cols 77",
    ]),
    "05 --batch 1 --seq 128 --channels 128 --heads 2",
    "05 --batch 2 --seq 51 --channels 36 --heads 3",
    "05 --batch 1 --seq 100 --channels 300 --heads 3",
    "05 --batch 1 --seq 257 --channels 64 --heads 2",
    "05/strips --batch 2 --seq 128 --channels 128 --heads 4 --strip 64",
    "05/strips --batch 2 --seq 51 --channels 36 --heads 3 --strip 25",
    "05/strips --batch 1 --seq 100 --channels 300 --heads 3 --strip 33",
    "05/strips --batch 1 --seq 257 --channels 64 --heads 2 --strip 128",
    *for_each("06 06/faster 06/any_shape", [
        "--batch 1 --heads 1 --seq 256 --head-dim 64",
        "--batch 1 --heads 1 --seq 150 --head-dim 40",
        "--batch 1 --heads 2 --seq 77 --head-dim 100",
        "--batch 1 --heads 1 --seq 130 --head-dim 128",
    ]),
    *for_each("06 06/any_shape", ["--batch 1 --heads 4 --kv-heads 1 --seq 3 --seq-kv 300 --head-dim 136"]),
    "06/tensor_cores --batch 1 --heads 1 --seq 256 --head-dim 64",
    "06/tensor_cores --batch 1 --heads 2 --kv-heads 1 --seq 150 --head-dim 128",
    "06/tensor_cores --batch 1 --heads 1 --seq 77 --seq-kv 130 --head-dim 40",
    "06/tensor_cores --batch 1 --heads 1 --seq 70 --head-dim 136 --full",
    "06/joint --m 128 --n 128 --k 64",
    "06/joint --m 100 --n 90 --k 40",
    "06/joint --m 70 --n 130 --k 33",
    "06/joint --m 64 --n 200 --k 100",
    "06/backward --batch 1 --heads 1 --seq 256 --head-dim 64",
    "06/backward --batch 1 --heads 2 --kv-heads 1 --seq 77 --head-dim 40",
    "06/backward --batch 1 --heads 1 --seq 70 --head-dim 100",
]
LARGE_SIZES = [  # and of how many of the last steps, each by itself; 0: all together
    ("01 --m 4096 --n 4096 --k 4096", 0),
    *[(f"{word} --m 4096 --n 4096 --k 4096", 0) for word in ("02", "02/faster", "02/any_shape")],
    ("02/any_shape --m 4095 --n 4097 --k 4093", 5),
    *[(f"{word} --batch 128 --m 1024 --n 1024 --k 64", 0) for word in ("03", "03/block_lists")],
    *[(f"{word} --rows 16384 --cols 4096", 0) for word in ("04", "04/long_rows")],
    ("04/long_rows --rows 1024 --cols 65536", 1),
    ("05 --batch 8 --seq 1024 --channels 768 --heads 12", 0),
    ("05/strips --batch 8 --seq 1024 --channels 768 --heads 12", 0),
    *[(f"{word} --batch 8 --heads 12 --seq 1024 --head-dim 64", 0) for word in ("06", "06/faster", "06/any_shape")],
    ("02/tensor_cores --m 4096 --n 4096 --k 4096", 0),
    ("02/tf32 --m 4096 --n 4096 --k 4096", 0),
    ("02/hopper --m 4096 --n 4096 --k 4096", 0),
    ("06/joint --m 4096 --n 4096 --k 64", 0),
    ("06/tensor_cores --batch 4 --heads 16 --seq 4096 --head-dim 128 --full", 0),
    ("06/hopper --batch 4 --heads 16 --seq 4096 --head-dim 128 --full", 0),
    ("06/backward --batch 8 --heads 12 --seq 1024 --head-dim 64", 0),
]

# Nsight Compute's names. What the memory unit counts as conflicts has passes in it that two requests took from
# each other. The passes of the instructions themselves stand behind: own.
COUNTERS, OWN = {}, {}
for kind, op in (("load", "ld"), ("store", "st")):
    COUNTERS[f"{kind}_requests"] = f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"
    COUNTERS[f"{kind}_sectors"] = f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum"
for kind, op in (("load", "ld"), ("store", "st")):
    COUNTERS[f"shared_{kind}_requests"] = f"smsp__inst_executed_op_shared_{op}.sum"
    COUNTERS[f"shared_{kind}_passes"] = f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
    COUNTERS[f"shared_{kind}_conflicts"] = f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum"
    OWN[f"own_{kind}_passes"] = f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"

# dram, l2 and conflicts are per launch; a stall is the number of warps that wait for this reason, on average,
# each time an instruction is issued.
FIGURES = {
    "ns": "gpu__time_duration.sum",
    "dram_bytes": "dram__bytes.sum",
    "dram_percent": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_sectors": "lts__t_sectors_srcunit_tex.sum",
    "sectors_per_load": "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "shared_loads": "smsp__inst_executed_op_shared_ld.sum",
    "shared_load_passes": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "ffma": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "instructions": "smsp__inst_executed.sum",
    "issue_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "fma_percent": "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "tensor_percent": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "warps_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "lanes": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "local_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
}
for reason in ("long_scoreboard short_scoreboard mio_throttle lg_throttle math_pipe_throttle dispatch_stall barrier "
               "wait").split():
    FIGURES[reason] = f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


def by_nsight_compute(command, counters, options=(), **how):
    """Runs a program; for each launch, in their order, the kernel's full name and the values of the counters."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "ncu.csv")
        subprocess.run(["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-kernel-base", "demangled",
                        "--log-file", log, *options, "--metrics", ",".join(counters), *command],
                       stdout=sys.stderr, check=True, **how)
        lines = csv.DictReader(line for line in log.read_text().splitlines() if line.startswith('"'))
        return [(line["Kernel Name"], [float(line[name].replace(",", "")) for name in counters])
                for line in lines if line["ID"]]  # the line without one has the units


def kernel_name(full):
    """void tutorial::tiled_matmul::(anonymous namespace)::shared_tile_kernel<4>(…) -> shared_tile_kernel"""
    if kernel := re.search(r"\w+_kernel\b", full):  # what its template takes may have names like these, too
        return kernel[0]
    full = re.sub(r"\(anonymous namespace\)|<unnamed>", "", full)
    return re.split(r"[: ]", re.split(r"[<(]", full)[0])[-1]


def on_gpu(program, options, counters):
    launches = by_nsight_compute([program, *options, "--repeats", "0"], counters.values(),
                                 ["--kernel-name-base", "demangled", "--kernel-name", "regex:tutorial::"])
    # Chapter 06's launches that count by themselves (their last argument is a Count) belong to no row of the
    # program's table, which is all that the simulator profiles.
    return [(kernel_name(name), 1, values) for name, values in launches if not re.search("[: ]Count>", name)]


def on_cpu(program, options, counters):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "profile.csv")
        subprocess.run([program, *options, "--no-checks", "--profile-csv", path], stdout=subprocess.PIPE, check=True)
        return [(kernel_name(row["kernel"]), int(row["launches"]), [float(row[name]) for name in counters])
                for row in project.read_csv(path)]


def profile(backend, line, counters):
    """For one size, by kernel: its launches, and the sums of its counters."""
    word, *options = line.split()
    program = project.built_program(word, backend)
    kernels = {}
    for name, launches, values in (on_gpu if backend == "gpu" else on_cpu)(program, options, counters):
        before, sums = kernels.get(name, (0, [0] * len(values)))
        kernels[name] = (before + launches, [a + b for a, b in zip(sums, values)])
    return kernels


def rows(backend, lines, counters, mean=False):
    """The lines of the table, its heads first."""
    yield ["chapter", "options", "kernel", "launches", *counters]
    for line in lines:
        word, _, options = line.partition(" ")
        for name, (launches, sums) in profile(backend, line, counters).items():
            texts = [f"{value / launches:.6g}" if mean else f"{value:.0f}" for value in sums]
            yield [project.label(project.find_ladder(word)), options, name, str(launches), *texts]


def is_wanted(line, words):
    """Does a size belong to one of these chapters with its parts, or to one of these parts? Without words all do."""
    return not words or any(f"{line.split()[0]}/".startswith(f"{word}/") for word in words)


def large_sizes(words):
    for line, last in LARGE_SIZES:
        if not is_wanted(line, words):
            continue
        if last == 0:
            yield line
        else:
            for step in project.last_steps(project.built_program(line.split()[0], "gpu"), last):
                yield f"{line} --kernel {step}"


def main():
    what, *words = sys.argv[1:] or ["--help"]
    if what == "figures":
        table = rows("gpu", large_sizes(words), FIGURES, mean=True)
    elif what in ("cpu", "gpu"):
        sizes = [line for line in SIZES if is_wanted(line, words)]
        table = rows(what, sizes, COUNTERS if what == "cpu" else COUNTERS | OWN)
    else:
        sys.exit(__doc__)
    csv.writer(sys.stdout, lineterminator="\n").writerows(table)


if __name__ == "__main__":
    main()
