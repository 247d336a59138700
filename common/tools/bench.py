#!/usr/bin/env python3
"""Times a chapter's steps at the standard sizes, beside the vendor's routines, and keeps the figures.

usage: common/tools/bench.py [NN]...         (no word: all chapters; ./learn bench builds first)

Runs build/gpu/NN_name/NN_name at each size below, then common/tools/bench_torch.py at the same sizes if Python has
PyTorch. Writes docs/results/<device>/NN.csv, and NN_lengths.csv or NN_odd.csv where a chapter has such sizes (RESULTS
overrides the folder): what the program's --csv writes, with the options, the driver, the toolkit, the date and the
commit (COMMIT overrides what git says) at the end of each line. A file changes only when every kernel at every size
was right.
"""
import csv
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
    "03": [
        Size("--batch 128 --m 1024 --n 1024 --k 64 --mask causal"),
        Size("--batch 128 --m 1024 --n 1024 --k 64 --mask window:128"),
        Size("--batch 128 --m 1024 --n 1024 --k 64 --mask window:256"),
        Size("--batch 128 --m 1024 --n 1024 --k 64 --mask none"),
        Size("--batch 32 --m 2048 --n 2048 --k 128 --mask causal"),
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
        Size("--batch 4 --heads 16 --seq 4096 --head-dim 128", last=3),
        Size("--batch 4 --heads 16 --seq 4096 --head-dim 128 --full", last=3),
        Size("--part joint --m 4096 --n 4096 --k 64"),
        Size("--part joint --m 1024 --n 3072 --k 768"),  # an MLP: GPT-2's,
        Size("--part joint --m 128 --n 16384 --k 4096"),  # and the article's
    ],
    "06_lengths": [  # always 8192 tokens
        Size("--batch 64 --heads 12 --seq 128 --head-dim 64", last=1),
        Size("--batch 32 --heads 12 --seq 256 --head-dim 64", last=1),
        Size("--batch 16 --heads 12 --seq 512 --head-dim 64", last=1),
        Size("--batch 8 --heads 12 --seq 1024 --head-dim 64", last=1),
        Size("--batch 4 --heads 12 --seq 2048 --head-dim 64", last=1),
        Size("--batch 2 --heads 12 --seq 4096 --head-dim 64", last=1),
        Size("--batch 1 --heads 12 --seq 8192 --head-dim 64", last=1),
    ],
}


def rows_of(command, table):
    """Runs a program that writes a table; its rows, or None when one of its kernels was wrong."""
    if subprocess.run([*map(str, command), "--csv", table]).returncode != 0:
        say(f"{' '.join(map(str, command))}: see above")
        return None
    return project.read_csv(table)


def bench(name, with_torch, folder, table):
    """Writes one file. Was everything right?"""
    number, rows, origin = name[:2], [], project.origin()
    program = project.built_program(number, "gpu")
    for size in SIZES[name]:
        options = size.options
        for step in project.last_steps(program, options, size.last) if size.last else []:
            options += f" --kernel {step}"
        commands = [[program, *options.split()]]
        if with_torch and "--part" not in options:
            torch = Path(__file__).with_name("bench_torch.py")
            commands.append([sys.executable, torch, number, *options.split()])
        for command in commands:
            print(flush=True)
            more = rows_of(command, table)
            if more is None:
                return False
            rows += [row | {"options": options} | origin for row in more]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    half_written = path.with_suffix(".csv.new")
    with open(half_written, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    half_written.replace(path)
    say(f"wrote {path.relative_to(project.ROOT) if path.is_relative_to(project.ROOT) else path}")
    return True


def has_torch():
    if importlib.util.find_spec("torch") is None:
        return False
    import torch
    return torch.cuda.is_available()


def main():
    if not shutil.which("nvidia-smi"):
        die("there is no NVIDIA GPU here, and a time of the simulator says nothing; ./learn run 02 counts work instead")
    chapters = [project.chapter(word) for word in sys.argv[1:]] or project.chapters()
    for chapter in chapters:
        if chapter.name[:2] not in SIZES:
            die(f"there are no standard sizes for {chapter.name}")
    with_torch = has_torch()
    if not with_torch:
        say("Python has no PyTorch with CUDA: its rows are left out.")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        right = [bench(name, with_torch, project.results_folder(), table)
                 for chapter in chapters for name in SIZES if name.startswith(chapter.name[:2])]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
