#!/usr/bin/env python3
"""Times a chapter's steps at the standard sizes, beside the vendor's routines, and keeps the figures.

usage: common/tools/bench.py [NN | NN/part | NN_file]...     (no word: everything; ./learn bench builds first)
       common/tools/bench.py --programs [NN | …]...          what must be built for that

Runs the chapter's or the part's program at each size below, then common/tools/bench_torch.py at the same sizes if Python
has PyTorch. Writes docs/results/<device>/NN.csv, NN_part.csv, and NN_lengths.csv and the like where there are such
sizes (RESULTS overrides the folder): what the program's --csv writes, with the options, the driver, the toolkit, the date and the
commit (COMMIT overrides what git says) at the end of each line. A file changes only when every kernel at every size
was right.
"""
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import project
from project import die, say


class Size(NamedTuple):
    line: str  # the chapter or part, and the options
    last: int = 0  # of the steps only so many, the last ones: where the others would take too long


def sizes(word, *options, last=0):
    return [Size(f"{word} {each}", last) for each in options]


PRODUCTS = [f"--m {m} --n {n} --k {k}" for m, n, k in (
    (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (4095, 4097, 4093), (4096, 4096, 4095),
    (1000, 3000, 777))]
MASKS = [f"--batch 128 --m 1024 --n 1024 --k 64 --mask {mask}" for mask in ("causal", "window:128", "window:256", "none")]
MASKS += ["--batch 32 --m 2048 --n 2048 --k 128 --mask causal"]
ROWS = [f"--rows {rows} --cols {cols}" for rows, cols in (  # 268 MB in and as much out
    (524288, 128), (131072, 512), (65536, 1024), (16384, 4096), (4096, 16384), (2048, 32768), (1335, 50257),
    (1024, 65536), (512, 131072))]
ODD_ROWS = [f"--rows {rows} --cols {cols}" for rows, cols in (  # they start anywhere; some are very short or very long
    (4000000, 17), (870000, 77), (520000, 129), (100000, 333), (67108, 1000), (66900, 1003), (16371, 4099),
    (2730, 24577), (268, 250002))]
ATTENTION = "--batch 8 --heads 12 --seq 1024 --head-dim 64"
LONG_ATTENTION = [f"--batch 4 --heads 16 --seq 4096 --head-dim 128{full}" for full in ("", " --full")]
TILES = [f"--batch 4 --heads 16 --seq 4096 --head-dim {size}" for size in (32, 64, 128)]
LENGTHS = [f"--batch {8192 // seq} --heads 12 --seq {seq} --head-dim 64"  # always 8192 tokens
           for seq in (128, 256, 512, 1024, 2048, 4096, 8192)]
HEAD_SIZES = [f"--batch 2 --heads 32 --seq 2048 --head-dim {size}" for size in (40, 64, 80, 96, 112, 128)]
FEW_BLOCKS = [f"--batch 1 --heads {heads} --seq {seq} --head-dim 64" for heads, seq in ((8, 333), (8, 128), (12, 1024))]
# Of 06/any_shape the steps that the sizes are meant for; step 5 of 06/faster stands beside them.
SIZED = " --kernel head_sizes --kernel split_keys --kernel by_shape"
LARGE = " --kernel large_heads --kernel split_keys --kernel by_shape"
DECODING = [f"--batch 8 --heads 32 --kv-heads 8 --seq {queries} --seq-kv 4096 --head-dim 128" for queries in (1, 2, 4, 8, 16)]
LONG_DECODING = [
    *[f"--batch 8 --heads 32 --kv-heads 8 --seq {queries} --seq-kv 16384 --head-dim 128" for queries in (1, 4, 16)],
    *[f"--batch 1 --heads 32 --kv-heads 8 --seq 1 --seq-kv {keys} --head-dim 128" for keys in (4096, 16384, 131072)],
    *[f"--batch 1 --heads 32 --kv-heads 8 --seq {queries} --seq-kv 131072 --head-dim 128" for queries in (4, 16)],
]


def sized(options):
    return [*sizes("06/faster", *options, last=1), *sizes("06/any_shape", *[each + SIZED for each in options])]


def bf16_products(word):
    return [*sizes(word, *[f"--m {m} --n {m} --k {m}" for m in (1024, 2048, 4096, 8192)]),
            *sizes(word, *[f"--m {m} --n {n} --k {k}" for m, n, k in (
                (1000, 3000, 776), (4095, 4097, 4093), (257, 4099, 3001), (8192, 1024, 4096), (3000, 5000, 2048),
                (16384, 512, 8192))], last=2)]


def bf16_attention(word):
    return [*sizes(word, *[f"--batch 4 --heads {heads} --seq 4096 --head-dim {size}{full}"
                           for heads, size in ((16, 128), (32, 64)) for full in (" --full", "")], ATTENTION),
            *sizes(word, *[f"--batch 4 --heads 16 --seq 4096 --head-dim {size}{full}"
                           for size in (96, 192, 256) for full in (" --full", "")],
                   *[f"--batch 4 --heads 32 --kv-heads 8 {lengths} --head-dim 128{full}"
                     for lengths in ("--seq 1000", "--seq 1000 --seq-kv 4096") for full in (" --full", "")], last=1)]


SIZES = {  # by the file that keeps them; it begins with the chapter's number
    "01": sizes("01", "--m 4096 --n 4096 --k 4096"),
    "02": sizes("02", *PRODUCTS),
    "02_faster": sizes("02/faster", *PRODUCTS),
    "02_any_shape": sizes("02/any_shape", *PRODUCTS),
    "02_shapes": sizes("02/any_shape", *[f"--m {m} --n {n} --k {k}" for m, n, k in (
        (1, 4096, 4096), (1, 8192, 8192), (1, 4097, 4099), (8, 8192, 8192), (32, 4096, 4096), (64, 4096, 11008),
        (100, 100, 100000), (128, 128, 65536), (257, 4099, 3001), (300, 5000, 2500), (4097, 500, 999),
        (8191, 511, 1025), (16384, 96, 8192), (20000, 64, 20000))], last=4),
    "02_rows": sizes("02/any_shape", *[f"--m {2**i} --n 4096 --k 4096" for i in range(11)], last=1),
    "02_tensor_cores": bf16_products("02/tensor_cores"),
    "02_hopper": bf16_products("02/hopper"),
    "02_tf32": sizes("02/tf32", *[f"--m {m} --n {n} --k {k}" for m, n, k in (
        (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (1000, 3000, 777))]),
    "03": sizes("03", *MASKS),
    "03_block_lists": sizes("03/block_lists", *MASKS),
    "03_nearest": sizes("03/nearest", *[f"--m 16384 --n {n} --d {d}{how}" for n, d, how in (
        (16384, 64, " --product"), (16384, 64, ""), (16384, 64, " --neighbours 10"), (16384, 100, " --neighbours 10"),
        (100000, 64, " --neighbours 10"), (16384, 64, " --neighbours 100"))]),
    "04": sizes("04", *ROWS),
    "04_long_rows": sizes("04/long_rows", *ROWS),
    "04_odd": [*sizes("04", *ODD_ROWS, last=2), *sizes("04/long_rows", *ODD_ROWS)],
    "05": sizes("05", *[f"--batch 8 --seq 1024 --channels 768 --heads 12{how}" for how in ("", " --tf32")]),
    "05_strips": sizes("05/strips", "--batch 8 --seq 1024 --channels 768 --heads 12"),
    "06": sizes("06", ATTENTION),
    "06_faster": [*sizes("06/faster", ATTENTION), *sizes("06/faster", *LONG_ATTENTION, last=1)],
    "06_any_shape": [*sizes("06/any_shape", ATTENTION),
                     *sizes("06/any_shape", *[each + SIZED for each in LONG_ATTENTION])],
    "06_tiles": [*sizes("06", *TILES, last=1),
                 *sizes("06/faster", *[each + " --kernel larger_tiles --kernel outer_products" for each in TILES])],
    "06_lengths": sized(LENGTHS),
    "06_head_sizes": [*sized([*HEAD_SIZES, *FEW_BLOCKS]), *sizes("06/any_shape", *[
        f"--batch 2 --heads 32 --seq 2048 --head-dim {size}{LARGE}" for size in (192, 256)])],
    "06_decoding": [*sizes("06/faster", *DECODING, last=1), *sizes("06/any_shape", *DECODING, last=4),
                    *sizes("06/any_shape", *LONG_DECODING, last=2)],
    "06_joint": sizes("06/joint", "--m 4096 --n 4096 --k 64", "--m 1024 --n 3072 --k 768",  # an MLP: GPT-2's,
                      "--m 128 --n 16384 --k 4096"),  # and the article's
    "06_backward": [*sizes("06/backward", ATTENTION, ATTENTION + " --full"),
                    *sizes("06/backward", "--batch 2 --heads 12 --seq 4096 --head-dim 64",
                           "--batch 4 --heads 16 --seq 2048 --head-dim 128", last=2)],
    "06_tensor_cores": bf16_attention("06/tensor_cores"),
    "06_hopper": bf16_attention("06/hopper"),
}

NOT_IN_TORCH = ("02/tf32", "05/strips", "06/joint")  # bench_torch.py has no rows of them


def rows_of(command, table):
    """Runs a program that writes a table; its rows, or None when one of its kernels was wrong."""
    if subprocess.run([*map(str, command), "--csv", table]).returncode != 0:
        say(f"{' '.join(map(str, command))}: see above")
        return None
    return project.read_csv(table)


def add_torch(found, words):
    """The rows and PyTorch's, or None when one of those was wrong."""
    import bench_torch  # in this process: PyTorch takes seconds to start
    print(flush=True)
    lines, all_right = bench_torch.measure(words)
    bench_torch.torch.cuda.empty_cache()  # the next program may need the memory
    return found + lines if all_right else None


def bench(name, with_torch, table):
    """Writes one file. Was everything right?"""
    rows, origin, in_torch = [], project.origin(), set()
    for size in SIZES[name]:
        word, _, options = size.line.partition(" ")
        problem = options.partition(" --kernel")[0]
        program = project.built_program(word, "gpu")
        for step in project.last_steps(program, size.last) if size.last else []:
            options += f" --kernel {step}"
        print(flush=True)
        found = rows_of([program, *options.split()], table)
        if found is not None and with_torch and word not in NOT_IN_TORCH and problem not in in_torch:
            in_torch.add(problem)
            found = add_torch(found, [word, *options.split()])
        if found is None:
            return False
        rows += [row | {"options": options} | origin for row in found]
    project.keep_table(name, rows)
    return True


def has_torch():
    if importlib.util.find_spec("torch") is None:
        return False
    import torch
    return torch.cuda.is_available()


def files_of(word):
    """The files of a chapter's road, or of a part, or the one file that is named. A file in which a part stands beside
    other steps is that part's: the last one's."""
    if word in SIZES and len(word) > 2:
        return [word]
    folder = project.find_ladder(word)
    files = [name for name, lines in SIZES.items() if lines[-1].line.split()[0] == project.short_name(folder)]
    return files or die(f"there are no standard sizes for {project.label(folder)}")


def main():
    words = sys.argv[1:]
    only_programs = words[:1] == ["--programs"]
    words = words[only_programs:]
    files = [name for word in words for name in files_of(word)] or list(SIZES)
    if only_programs:
        programs = {size.line.split()[0] for name in files for size in SIZES[name]}
        print(*sorted(project.target(project.find_ladder(word)) for word in programs))
        return 0
    if not shutil.which("nvidia-smi"):
        die("there is no NVIDIA GPU here, and a time of the simulator says nothing; ./learn run 02 counts work instead")
    with_torch = has_torch()
    if not with_torch:
        say("Python has no PyTorch with CUDA: its rows are left out.")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        right = [bench(name, with_torch, table) for name in files]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
