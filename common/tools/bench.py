#!/usr/bin/env python3
"""Times a chapter's steps at the standard sizes, beside the vendor's routines, and keeps the figures.

usage: common/tools/bench.py [NN | NN_file]...         (no word: all chapters; ./learn bench builds first)

Runs build/gpu/NN_name/NN_name at each size below, then common/tools/bench_torch.py at the same sizes if Python has
PyTorch. Writes docs/results/<device>/NN.csv, and NN_lengths.csv and the like where a chapter has such sizes (RESULTS
overrides the folder): what the program's --csv writes, with the options, the driver, the toolkit, the date and the
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
    options: str
    last: int = 0  # of the steps only so many, the last ones: where the others would take too long


# Steps of chapter 06: those that the sizes are meant for, and one to stand beside.
SIZED = "--kernel outer_products --kernel head_sizes --kernel split_keys --kernel by_shape"
LARGE = "--kernel large_heads --kernel split_keys --kernel by_shape"
DECODING = "--kernel outer_products --kernel own_keys --kernel group_rows --kernel split_keys --kernel by_shape"

SIZES = {  # by the file that keeps them; it begins with the chapter's number
    "01": [Size("--m 4096 --n 4096 --k 4096")],
    "02": [
        Size("--m 2048 --n 2048 --k 2048"),
        Size("--m 4096 --n 4096 --k 4096"),
        Size("--m 8192 --n 8192 --k 8192"),
        Size("--m 4095 --n 4097 --k 4093"),
        Size("--m 4096 --n 4096 --k 4095"),
        Size("--m 1000 --n 3000 --k 777"),
    ],
    "02_shapes": [  # from step 11 on
        *(Size(f"--m {m} --n {n} --k {k}", last=4) for m, n, k in (
            (1, 4096, 4096), (1, 8192, 8192), (1, 4097, 4099), (8, 8192, 8192), (32, 4096, 4096), (64, 4096, 11008),
            (100, 100, 100000), (128, 128, 65536), (257, 4099, 3001), (300, 5000, 2500), (4097, 500, 999),
            (8191, 511, 1025), (16384, 96, 8192), (20000, 64, 20000))),
    ],
    **{f"02_{part}": [
        *(Size(f"--part {part} --m {m} --n {n} --k {k}") for m, n, k in (
            (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192))),
        *(Size(f"--part {part} --m {m} --n {n} --k {k}", last=2) for m, n, k in (
            (1000, 3000, 776), (4095, 4097, 4093), (257, 4099, 3001), (8192, 1024, 4096), (3000, 5000, 2048),
            (16384, 512, 8192))),
    ] for part in ("tensor_cores", "hopper")},
    "02_tf32": [
        *(Size(f"--part tf32 --m {m} --n {n} --k {k}") for m, n, k in (
            (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (1000, 3000, 777))),
    ],
    "02_rows": [Size(f"--m {2**i} --n 4096 --k 4096", last=1) for i in range(11)],
    "03": [
        Size("--batch 128 --m 1024 --n 1024 --k 64 --mask causal"),
        Size("--batch 128 --m 1024 --n 1024 --k 64 --mask window:128"),
        Size("--batch 128 --m 1024 --n 1024 --k 64 --mask window:256"),
        Size("--batch 128 --m 1024 --n 1024 --k 64 --mask none"),
        Size("--batch 32 --m 2048 --n 2048 --k 128 --mask causal"),
        Size("--part nearest --m 16384 --n 16384 --d 64 --product"),
        Size("--part nearest --m 16384 --n 16384 --d 64"),
        Size("--part nearest --m 16384 --n 16384 --d 64 --neighbours 10"),
        Size("--part nearest --m 16384 --n 16384 --d 100 --neighbours 10"),
        Size("--part nearest --m 16384 --n 100000 --d 64 --neighbours 10"),
        Size("--part nearest --m 16384 --n 16384 --d 64 --neighbours 100"),
    ],
    "04": [  # 268 MB in and as much out
        Size("--rows 524288 --cols 128"),
        Size("--rows 131072 --cols 512"),
        Size("--rows 65536 --cols 1024"),
        Size("--rows 16384 --cols 4096"),
        Size("--rows 4096 --cols 16384"),
        Size("--rows 2048 --cols 32768"),
        Size("--rows 1335 --cols 50257"),
        Size("--rows 1024 --cols 65536"),
        Size("--rows 512 --cols 131072"),
    ],
    "04_odd": [  # rows that start anywhere, of which some are very short or very long
        Size("--rows 4000000 --cols 17", last=6),
        Size("--rows 870000 --cols 77", last=6),
        Size("--rows 520000 --cols 129", last=6),
        Size("--rows 100000 --cols 333", last=6),
        Size("--rows 67108 --cols 1000", last=6),
        Size("--rows 66900 --cols 1003", last=6),
        Size("--rows 16371 --cols 4099", last=6),
        Size("--rows 2730 --cols 24577", last=6),
        Size("--rows 268 --cols 250002", last=6),
    ],
    "05": [
        Size("--batch 8 --seq 1024 --channels 768 --heads 12"),
        Size("--batch 8 --seq 1024 --channels 768 --heads 12 --tf32"),
        Size("--part strips --batch 8 --seq 1024 --channels 768 --heads 12"),
    ],
    "06": [
        Size("--batch 8 --heads 12 --seq 1024 --head-dim 64"),
        Size(f"--batch 4 --heads 16 --seq 4096 --head-dim 128 {SIZED}"),
        Size(f"--batch 4 --heads 16 --seq 4096 --head-dim 128 --full {SIZED}"),
        Size("--part joint --m 4096 --n 4096 --k 64"),
        Size("--part backward --batch 8 --heads 12 --seq 1024 --head-dim 64"),
        Size("--part backward --batch 8 --heads 12 --seq 1024 --head-dim 64 --full"),
        Size("--part backward --batch 2 --heads 12 --seq 4096 --head-dim 64", last=2),
        Size("--part backward --batch 4 --heads 16 --seq 2048 --head-dim 128", last=2),
        Size("--part joint --m 1024 --n 3072 --k 768"),  # an MLP: GPT-2's,
        Size("--part joint --m 128 --n 16384 --k 4096"),  # and the article's
    ],
    "06_tiles": [  # the last step of the road beside larger tiles
        *[Size(f"--batch 4 --heads 16 --seq 4096 --head-dim {size} --kernel two_buffers --kernel larger_tiles "
               "--kernel outer_products") for size in (32, 64, 128)],
    ],
    "06_lengths": [  # always 8192 tokens
        *[Size(f"--batch {8192 // seq} --heads 12 --seq {seq} --head-dim 64 {SIZED}")
          for seq in (128, 256, 512, 1024, 2048, 4096, 8192)],
    ],
    "06_head_sizes": [
        *[Size(f"--batch 2 --heads 32 --seq 2048 --head-dim {size} {SIZED}") for size in (40, 64, 80, 96, 112, 128)],
        *[Size(f"--batch 2 --heads 32 --seq 2048 --head-dim {size} {LARGE}") for size in (192, 256)],
        # Few queries in all: too few blocks of 128.
        Size(f"--batch 1 --heads 8 --seq 333 --head-dim 64 {SIZED}"),
        Size(f"--batch 1 --heads 8 --seq 128 --head-dim 64 {SIZED}"),
        Size(f"--batch 1 --heads 12 --seq 1024 --head-dim 64 {SIZED}"),
    ],
    **{f"06_{part}": [
        *[Size(f"--part {part} --batch 4 --heads {heads} --seq 4096 --head-dim {size}{full}")
          for heads, size in ((16, 128), (32, 64)) for full in (" --full", "")],
        Size(f"--part {part} --batch 8 --heads 12 --seq 1024 --head-dim 64"),
        *[Size(f"--part {part} --batch 4 --heads 16 --seq 4096 --head-dim {size}{full}", last=1)
          for size in (96, 192, 256) for full in (" --full", "")],
        *[Size(f"--part {part} --batch 4 --heads 32 --kv-heads 8 {lengths} --head-dim 128{full}", last=1)
          for lengths in ("--seq 1000", "--seq 1000 --seq-kv 4096") for full in (" --full", "")],
    ] for part in ("tensor_cores", "hopper")},
    "06_decoding": [
        *[Size(f"--batch 8 --heads 32 --kv-heads 8 --seq {queries} --seq-kv 4096 --head-dim 128 {DECODING}")
          for queries in (1, 2, 4, 8, 16)],
        *[Size(f"--batch 8 --heads 32 --kv-heads 8 --seq {queries} --seq-kv 16384 --head-dim 128", last=2)
          for queries in (1, 4, 16)],
        *[Size(f"--batch 1 --heads 32 --kv-heads 8 --seq 1 --seq-kv {keys} --head-dim 128", last=2)
          for keys in (4096, 16384, 131072)],
        *[Size(f"--batch 1 --heads 32 --kv-heads 8 --seq {queries} --seq-kv 131072 --head-dim 128", last=2)
          for queries in (4, 16)],
    ],
}


TORCH_PARTS = ("--part backward", "--part nearest", "--part tensor_cores", "--part hopper")  # of which bench_torch.py has rows


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
    number, rows, origin = name[:2], [], project.origin()
    program = project.built_program(number, "gpu")
    for size in SIZES[name]:
        options = size.options
        for step in project.last_steps(program, options, size.last) if size.last else []:
            options += f" --kernel {step}"
        print(flush=True)
        found = rows_of([program, *options.split()], table)
        if found is not None and with_torch and ("--part" not in options or options.startswith(TORCH_PARTS)):
            found = add_torch(found, [number, *options.split()])
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
    """The files of a chapter, or the one file that is named."""
    if word in SIZES and len(word) > 2:
        return [word]
    chapter = project.chapter(word).name
    if chapter[:2] not in SIZES:
        die(f"there are no standard sizes for {chapter}")
    return [name for name in SIZES if name.startswith(chapter[:2])]


def main():
    if not shutil.which("nvidia-smi"):
        die("there is no NVIDIA GPU here, and a time of the simulator says nothing; ./learn run 02 counts work instead")
    files = [name for word in sys.argv[1:] or [chapter.name for chapter in project.chapters()]
             for name in files_of(word)]
    with_torch = has_torch()
    if not with_torch:
        say("Python has no PyTorch with CUDA: its rows are left out.")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        right = [bench(name, with_torch, table) for name in files]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
