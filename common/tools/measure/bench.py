#!/usr/bin/env python3
"""Times a chapter's steps at the standard sizes (sizes.py), beside the vendor's routines.

usage: common/tools/measure/bench.py [NN | NN/part | SET]... [--keep] [--csv FILE]   (no word: everything)
       common/tools/measure/bench.py NN[/part] --random COUNT [--seed S] [--keep]    its step for any shape, at random ones
       common/tools/measure/bench.py --programs [NN | …]...                          what must be built for that

Runs the chapter's or the part's program at each size, then common/tools/measure/bench_torch.py at the same sizes if Python has
PyTorch. Prints, and with --csv writes what was measured into a file. --keep puts it into docs/results/<device>/times.csv
in place of what these sets have there, and writes anew what quotes it: pages, figures and the headers of the steps. A
run in which one kernel was wrong keeps nothing.
--random draws the shapes (random_shapes.py says how), another seed gives others. Beside it stands the
library's fastest row. --keep puts these times into random.csv instead.
The set "estimates" has the sizes at which estimates.py compares its times with these, of the programs alone.
RESULTS names another folder for times.csv, COMMIT what git would say: for a machine that has no git. There a file that
RESULTS lacks begins as the project's; copied to the project it needs `pages.py --update` and `figures.py --update`.
"""
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
import random_shapes
from project import die, say
import results
from sizes import ESTIMATED, SETS

COLUMNS = ("sizes chapter options kind step flop bytes max_error bound median_ms low_ms high_ms of_bound clock_mhz "
           "driver toolkit date commit").split()
ALL_SETS = SETS | ESTIMATED
OF_RANDOM = "ladder seed options step median_ms library library_ms driver toolkit date commit".split()
NOT_IN_TORCH = ("02/tf32", "05/strips", "06/joint")  # bench_torch.py has no rows of them


def rows_of(command, table):
    """Runs a program that writes a table; its rows, or None when one of its kernels was wrong."""
    if subprocess.run([*map(str, command), "--csv", table]).returncode != 0:
        say(f"{' '.join(map(str, command))}: see above")
        return None
    return [row for row in project.read_csv(table) if row["kind"] != "kernel"]


def add_torch(found, words):
    """The rows and PyTorch's, or None when one of those was wrong."""
    import bench_torch  # in this process: PyTorch takes seconds to start
    print(flush=True)
    lines, all_right = bench_torch.measure(words)
    bench_torch.torch.cuda.empty_cache()  # the next program may need the memory
    return found + lines if all_right else None


def measured(name, with_torch, table):
    """The rows of a set, or None when something was wrong."""
    rows, origin, in_torch = [], project.origin(), set()
    for size in ALL_SETS[name]:
        options = size.line.partition(" ")[2].split()
        program = project.built_program(size.ladder, "gpu")
        for step in project.last_steps(program, size.last) if size.last else []:
            options += ["--kernel", step]
        print(flush=True)
        found = rows_of([program, *options], table)
        if found is not None and with_torch and name in SETS and size.ladder not in NOT_IN_TORCH and size.problem not in in_torch:
            in_torch.add(size.problem)
            found = add_torch(found, [size.ladder, *options])
        if found is None:
            return None
        own = {"sizes": name, "chapter": size.ladder, "options": size.problem} | origin
        rows += [{column: (row | own).get(column, "") for column in COLUMNS} for row in found]
    return rows


def moved(old, new):
    """A sentence for each time that has changed by more than what half of its runs differ by, before and now."""
    def by_row(rows):
        return {tuple(row[column] for column in ("sizes", "chapter", "options", "step")): row for row in rows
                if row["median_ms"] and row["low_ms"]}
    before = by_row(old)
    for key, row in by_row(new).items():
        if was := before.get(key):
            if float(row["low_ms"]) > float(was["high_ms"]) or float(row["high_ms"]) < float(was["low_ms"]):
                yield f"{' '.join(key)}: {float(was['median_ms']):.4g} ms before, {float(row['median_ms']):.4g} now"


def keep(rows):
    """Into times.csv, and into what quotes it. Is all that quotes it as it should be?"""
    old = results.kept("times")
    results.keep_rows("times", rows, "sizes")
    for sentence in moved(old, rows):
        say(sentence)
    return results.quote()


def require_gpu():
    if not shutil.which("nvidia-smi"):
        die("there is no NVIDIA GPU here, and a time of the simulator says nothing; ./learn run 02 counts work instead")


def has_torch():
    if importlib.util.find_spec("torch") is None:
        return False
    import torch
    return torch.cuda.is_available()


def measured_at_random(ladder, count, seed, with_torch, table):
    """A row a shape, or None when something was wrong."""
    library_kind = random_shapes.library_kind(ladder)
    program, rows = project.built_program(ladder, "gpu"), []
    step = random_shapes.STEPS.get(ladder) or project.last_steps(program, 1)[0]
    own = {"ladder": ladder, "seed": seed} | project.origin()
    for i, options in enumerate(random_shapes.drawn(ladder, count, seed), 1):
        print(f"\n{i} of {count}: {options}", flush=True)
        found = rows_of([program, *options.split(), "--kernel", step], table)
        if found is not None and library_kind == "pytorch" and with_torch:
            found = add_torch(found, [ladder, *options.split()])
        if found is None:
            return None
        timed = [row for row in found if row["median_ms"]]
        ours = [row for row in timed if row["kind"] == "step"]
        others = [row for row in timed if row["kind"] == library_kind]
        if not ours or not others:
            say("no row of ours, or none of a library: left out")
            continue
        library = min(others, key=results.milliseconds)
        row = own | ours[-1] | {"options": options, "library": library["step"], "library_ms": library["median_ms"]}
        rows.append({column: row[column] for column in OF_RANDOM})
    return rows


def bench_at_random(chosen):
    """One ladder at shapes that are drawn. The exit status."""
    if len(chosen.words) != 1 or chosen.random < 1:
        die("--random takes how many shapes, 1 or more, and one chapter or part: ./learn bench 02/hopper --random 200 --seed 7")
    folder = project.find_ladder(chosen.words[0])
    ladder = project.short_name(folder)
    if chosen.programs:
        random_shapes.drawn(ladder, 1, chosen.seed)  # ends where there are none
        print(project.target(folder))
        return 0
    require_gpu()
    with tempfile.TemporaryDirectory() as folder:
        rows = measured_at_random(ladder, chosen.random, chosen.seed, has_torch(), Path(folder, "table.csv"))
    if not rows:
        say("nothing is kept" if rows is None else "there is no library to compare with: install PyTorch with CUDA")
        return 1
    print(f"\n{ladder}, {rows[0]['step']}, seed {chosen.seed}", *random_shapes.summary(rows), sep="\n", flush=True)
    if chosen.csv:
        project.write_csv(chosen.csv, rows)
    if chosen.keep:
        results.keep_rows("random", rows, "ladder")
        return 0 if results.quote() else 1
    return 0


def sets_of(word):
    """The sets of a chapter's road, or of a part, or the one set that is named. One in which a part stands beside
    other steps is that part's: the last one's."""
    if word in SETS and len(word) > 2 or word in ESTIMATED:
        return [word]
    folder = project.find_ladder(word)
    names = [name for name, lines in SETS.items() if lines[-1].ladder == project.short_name(folder)]
    return names or die(f"there are no standard sizes for {project.label(folder)}")


def options():
    parser = project.arguments(__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--random", type=int, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv")
    return parser.parse_intermixed_args()


def main():
    chosen = options()
    if chosen.random is not None:
        return bench_at_random(chosen)
    names = list(dict.fromkeys(name for word in chosen.words for name in sets_of(word))) or list(SETS)
    if chosen.programs:
        ladders = {size.ladder for name in names for size in ALL_SETS[name]}
        print(*sorted(project.target(project.find_ladder(ladder)) for ladder in ladders))
        return 0
    require_gpu()
    with_torch = has_torch()
    if not with_torch:
        say("Python has no PyTorch with CUDA: its rows are left out.")
        if chosen.keep and any(row["kind"] == "pytorch" and row["sizes"] in names for row in results.kept("times")):
            die("--keep would lose PyTorch's times at these sizes")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            found = measured(name, with_torch, Path(folder, "table.csv"))
            if found is None:
                say("nothing is kept")
                return 1
            rows += found
    if chosen.csv:
        project.write_csv(chosen.csv, rows)
    return 0 if not chosen.keep or keep(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
