#!/usr/bin/env python3
"""What every kernel of every chapter does, as comma-separated values, a line a kernel. The sizes are in sizes.py.

usage: common/tools/measure/profile_steps.py cpu [NN[/part]]...                counted by the simulator, from build/cpu (or BUILD)
       common/tools/measure/profile_steps.py gpu [NN[/part]]... [--keep]       read by Nsight Compute from a GPU's counters, from
                                                                       build/gpu
       common/tools/measure/profile_steps.py figures [NN[/part]]... [--keep]   what limits each kernel at a size that fills a GPU,
                                                                       by Nsight Compute: means over its launches

--keep puts the lines into docs/results/<device>/profile.csv, or figures.csv, in place of those of the same chapters and
parts (RESULTS overrides the folder). common/tools/measure/profile_table.py puts the first two side by side; the pages show some
of the figures (common/tools/pages/pages.py).
"""
import csv
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
import results
import sizes


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
    ladder, *options = line.split()
    program = project.built_program(ladder, backend)
    kernels = {}
    for name, launches, values in (on_gpu if backend == "gpu" else on_cpu)(program, options, counters):
        before, sums = kernels.get(name, (0, [0] * len(values)))
        kernels[name] = (before + launches, [a + b for a, b in zip(sums, values)])
    return kernels


def rows(backend, lines, counters, mean=False):
    """The lines of the table."""
    origin = project.origin() if backend == "gpu" else {}
    for line in lines:
        ladder, _, options = line.partition(" ")
        problem = options if mean else options.partition(" --kernel")[0]
        for name, (launches, sums) in profile(backend, line, counters).items():
            texts = [f"{value / launches:.6g}" if mean else f"{value:.0f}" for value in sums]
            yield {"chapter": project.label(project.find_ladder(ladder)), "options": problem, "kernel": name,
                   "launches": str(launches)} | dict(zip(counters, texts)) | origin


def is_wanted(size, words):
    """Does a size belong to one of these chapters with its parts, or to one of these parts? Without words all do."""
    return not words or any(f"{size.ladder}/".startswith(f"{word}/") for word in words)


def lines_of(size):
    """A line for the size; for each of its last steps one, if it names some."""
    if size.last == 0:
        return [size.line]
    return [f"{size.line} --kernel {step}"
            for step in project.last_steps(project.built_program(size.ladder, "gpu"), size.last)]


def main():
    parser = project.arguments(__doc__)
    parser.add_argument("what", choices=["cpu", "gpu", "figures"])
    parser.add_argument("ladders", nargs="*")
    parser.add_argument("--keep", action="store_true")
    words = parser.parse_intermixed_args()
    if words.what == "cpu" and words.keep:
        parser.error("--keep is for what a GPU counted")
    wanted = [size for size in (sizes.LARGE if words.what == "figures" else sizes.COUNTED)
              if is_wanted(size, words.ladders)]
    if not wanted:
        project.die(f"there are no sizes for {' '.join(words.ladders)}")
    lines = [line for size in wanted for line in lines_of(size)]
    if words.what == "figures":
        table = list(rows("gpu", lines, FIGURES, mean=True))
    else:
        table = list(rows(words.what, lines, COUNTERS if words.what == "cpu" else COUNTERS | OWN))
    if words.keep:
        results.keep_rows("figures" if words.what == "figures" else "profile", table, "chapter")
        return 0 if results.quote() else 1
    project.write_rows(sys.stdout, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
