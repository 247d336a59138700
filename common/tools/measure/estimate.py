#!/usr/bin/env python3
"""What would a GPU say? The time of each step of a chapter, estimated from what the simulator counts, and what bounds it.

usage: ./learn estimate CHAPTER [STEP] [--on GPU] [--at N] [OPTIONS]     CHAPTER: 02, or a part of it: 02/hopper
       OPTIONS are the sizes, as ./learn run CHAPTER --help lists them; without any, those at which times are measured
       --at N stands for all sizes that grow with the problem: --at 1024 is --m 1024 --n 1024 --k 1024 of a product
       GPU: h200, h100, a100, 4090 or t4; without --on an H200, the one that the model was compared with

The simulator runs a few blocks of each launch, of the code as it is now; as long as that is as it was recorded, the record
stands for it. The time is a guess: docs/estimates.md says how it is made, and how far it was off. ./learn bench measures.
With --behind, ./learn run and ./learn profile give all their words, and have the estimate behind what they print.
"""
import collections
import os
import sys

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
import estimate_model as model
import estimates

# What the launches of a step depend on. Options that say how a program runs, and what it writes, are none of these.
SIZES = "--m --n --k --d --batch --heads --kv-heads --seq --seq-kv --lengths --head-dim --channels --rows --cols".split()
ALSO_TAKEN = "--kernel --mask --neighbours --layout --strip --epilogue".split()
FLAGS = "--full --bf16-out --product --tf32".split()
GROWING = {"01": "--m --n --k", "02": "--m --n --k", "03": "--m --n", "04": "--cols", "05": "--seq", "06": "--seq"}

ELSEWHERE = 2  # the range on a device on which nobody has compared: a guess
UNITS = {"DRAM": "DRAM", "L2": "L2", "L1": "shared memory and L1", "issue": "instructions", "special": "special functions",
         "tensor": "tensor cores", "latency": "latency"}
# Where more than half of the estimates were off by 40 % or more: what bounds a step is shown, and no time.
NO_TIME = ["03/block_lists"]
# Of these a few blocks do not stand for all: their blocks wait for others, or a block's work depends on the data.
NOT_YET = ["03/nearest", "05/strips", "06/joint"]
# What the times of a ladder leave out.
LEFT_OUT = {"05": "The library's two products, which nothing counts, are not in the times of whole steps."}


def usual_options(ladder):
    """Of the first size that is sampled for the record; None if it has none."""
    lines = (line.partition(" ") for line in estimates.SIZES.read_text().splitlines())
    return next((options.split() for name, _, options in lines if name == ladder), None)


def time(us):
    """In ms, in two digits, as more would be false."""
    text = f"{us / 1e3:#.2g}".rstrip(".")
    return text if "e" not in text else f"{us / 1e3:.0f}"


def rows(found, factor, shows_times):
    """Of each step: its name, the estimate with its range, what bounds it, what would be next, and the step that is as fast."""
    before = []
    for name, estimate in found:
        busiest, second = sorted(estimate.terms.items(), key=lambda term: -term[1])[:2]
        text = f"{time(estimate.us)} ms ({time(estimate.us / factor)}–{time(estimate.us * factor)})" if shows_times else "–"
        alike = next((other for other, us in before[::-1]
                      if max(us / estimate.us, estimate.us / us) < estimates.IN_RANGE), None)
        before.append((name, estimate.us))
        next_one = f"{UNITS[second[0]]}, {100 * second[1] / busiest[1]:.0f} % of it"
        yield [name, text, UNITS[busiest[0]], next_one, alike if alike and shows_times else ""]


def print_table(lines):
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def estimate_steps(ladder, options, device):
    at = options.index("--kernel") if "--kernel" in options else len(options)
    known = estimates.kept(ladder, options[:at] + options[at + 2:]) if device is model.H200 else []
    step = "".join(options[at + 1:at + 2])
    rows_of_steps = [row for row in known if step in ("", row["step"])] or estimates.sample(ladder, options)
    launches = collections.defaultdict(list)
    for row in rows_of_steps:
        launches[row["step"]].append(model.Launch(row, device))
    return [(name, model.estimate(of_step)) for name, of_step in launches.items()]


def sizes_in(words):
    """Those of a program's words that say what its steps launch. --m=64 is --m 64."""
    words, kept = [part for word in words for part in word.split("=", 1)], []
    for word, value in zip(words, [*words[1:], ""]):
        kept += [word] if word in FLAGS else [word, value] if word in SIZES + ALSO_TAKEN else []
    return kept


def options_of(ladder, words, at):
    """A program's options, with the usual sizes where none are given; None where nobody has tried one."""
    if at is None and set(words) & {*SIZES, *FLAGS}:
        return words
    usual = usual_options(ladder)
    if usual is None:
        return None
    if at is not None:
        if not at.isdecimal() or int(at) == 0:
            project.die("--at takes a size, such as --at 1024" + f", and not '{at}'" * (at != ""))
        usual = [at if before in GROWING[ladder[:2]].split() else word for before, word in zip(["", *usual], usual)]
    return usual + words


def words_of(arguments):
    """What is asked of the estimate (on, at, behind), and the words for the program, with the chapter before them."""
    parser = project.arguments(__doc__)
    parser.add_argument("--on", nargs="?", const="", default="h200", type=str.lower)
    parser.add_argument("--at", nargs="?", const="")
    parser.add_argument("--behind", action="store_true")
    asked, words = parser.parse_known_args(arguments)
    name = asked.on
    if name not in model.DEVICES:
        project.die(f"--on takes one of {', '.join(model.DEVICES)}" + (f", and there is no {name}" if name else ""))
    if not words or words[0].startswith("-"):
        project.die("estimate which chapter? for example: ./learn estimate 02 register_tile --on t4")
    if len(words) > 1 and not words[1].startswith("-"):
        words.insert(1, "--kernel")
    return asked, words


def main():
    project.program = "learn"
    asked, (chapter, *words) = words_of(sys.argv[1:])
    ladder, device = project.short_name(project.find_ladder(chapter)), model.DEVICES[asked.on]
    options = options_of(ladder, sizes_in(words) if asked.behind else words, asked.at)
    if asked.behind and (options is None or ladder in NOT_YET):
        return
    if ladder in NOT_YET:
        project.die(f"there is no estimate of {ladder} yet: a few of its blocks do not stand for all")
    if options is None:
        project.die(f"no size of {ladder} has been tried: give one; ./learn run {ladder} --help lists the options")
    os.environ["SIMULATOR_CAPABILITY"] = device.architecture.rstrip("a")
    os.environ.setdefault("SIMULATOR_MEMORY", str(16 * 10**9))
    try:
        if not (found := estimate_steps(ladder, options, device)):
            raise ValueError(f"no step of {ladder} that was asked for runs on {device.name} at these sizes: "
                             f"./learn run {ladder} --list says what each needs")
    except ValueError as error:
        return None if asked.behind else project.die(str(error))
    is_compared = asked.on in estimates.COMPARED
    print("\n" * asked.behind + f"{ladder} {' '.join(options)}, on {device.name}: estimated, not measured" +
          ("" if is_compared else "; nobody has compared the model with such a GPU"))
    shows_times = ladder not in NO_TIME
    heading = ["step", "estimated (likely range)", "bound by", "next", "about as fast as"]
    print_table([heading, *rows(found, estimates.OFF_BY if is_compared else ELSEWHERE, shows_times)])
    if not shows_times:
        print(f"No times: those of {ladder} were off by more than 40 % where they were compared.")
    if ladder in LEFT_OUT:
        print(LEFT_OUT[ladder])


if __name__ == "__main__":
    main()
