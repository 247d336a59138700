#!/usr/bin/env python3
"""A GPU's time from what the simulator counts: a model, and how far it is from the truth.

usage: common/tools/measure/estimates.py record [WORD]   samples the sizes of estimate_sizes.txt that contain WORD, from build/cpu
                                                 (or BUILD), and keeps the counts in docs/results/samples.csv
       common/tools/measure/estimates.py study [--rows]  the model's times beside those of times.csv, each chapter's with
                                                 constants that were fitted without it; --rows: every step

No GPU is needed. With --sample-csv a program runs a few blocks of each grid (common/simulator/README.md#a-sample), so a line
of samples.csv is a launch at a GPU's size. The model itself is estimate_model.py.
"""
import collections
import functools
import hashlib
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import profile_steps
import project
import results
import sass
import estimate_model as model

SAMPLES = project.ROOT / "docs/results/samples.csv"
SIZES = Path(__file__).with_name("estimate_sizes.txt")
TEXTS = "chapter", "options", "step", "kernel", "touched", "code"
DEPTHS = 256, 512  # a product with a K of 2048 or more is sampled at these two, and continued
BY_DEPTH = "02/few_rows", "02/any_shape"  # but for these, whose launchers choose by K
IS_ONE_SPEED = 0.05  # two steps whose times differ by less have no order that could be right
OFF_BY = 1.5         # the range of an estimate
COMPARED = {"h200": results.FOLDER, "h100": results.RESULTS / "NVIDIA_H100_80GB_HBM3"}  # whose times there are
IN_RANGE = 1.07      # of two estimates whose ratio is less no order is given: they err alike, though not so much alike


# ---- Recording

@functools.cache
def code_of(ladder, step):
    """A mark of what makes a step's launches, without comments: its file, and those of its folder that are no step's and
    have kernels or are stages."""
    folder = project.find_ladder(ladder)
    steps = {one.path: one.name for one in project.steps(folder)}
    others = {*folder.glob("*.cu"), *folder.glob("stage*.cpp")} - {folder / "take.cu"}
    own = [path for path, name in steps.items() if name == step]  # none, of a stage of chapter 05
    used = sorted(others if not own else others - set(steps) | set(own))
    return hashlib.sha256("".join(map(sass.fingerprint, used)).encode()).hexdigest()[:12]


def sampled(ladder, options):
    """The lines of one run, as texts. ValueError where the program refuses."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sample.csv")
        run = subprocess.run([project.built_program(ladder, "cpu"), *options, "--sample-csv", path], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            raise ValueError(f"the program of {ladder} says: {run.stdout.strip().splitlines()[-1]}")
        return project.read_csv(path)


def continued(depth, lines):
    """What two runs at DEPTHS would count at this depth, if each count grows linearly."""
    def linear(texts):
        low, high = map(float, texts)
        return f"{low + (high - low) * (depth - DEPTHS[0]) / (DEPTHS[1] - DEPTHS[0]):.8g}"

    def touched(texts):  # allocated:loaded:stored, then what is shared, which does not grow
        pairs = zip(*(text.split() for text in texts))
        return " ".join(":".join([*map(linear, list(zip(low.split(":"), high.split(":")))[:3]), *high.split(":")[3:]])
                        for low, high in pairs)

    if [(a["step"], a["kernel"]) for a in lines[0]] != [(b["step"], b["kernel"]) for b in lines[1]]:
        raise ValueError("at the two depths different kernels are launched")
    for low, high in zip(*lines):
        yield {key: touched((low[key], high[key])) if key == "touched" else
               high[key] if key in (*TEXTS, "program", "sizes") else linear((low[key], high[key])) for key in high}


def depth_of(ladder, options):
    """The K that is too large to be sampled, or 0: then the options are sampled as they are."""
    text = dict(zip(options, options[1:])).get("--k", "")
    depth = int(text) if ladder.startswith("02") and text.isdecimal() else 0
    return 0 if depth < 2048 or ladder in BY_DEPTH else depth


def runs(ladder, options):
    """The options of each run that a sample takes: of two, at DEPTHS, the counts are continued."""
    if not depth_of(ladder, options):
        return [options]
    at = options.index("--k") + 1
    return [[*options[:at], str(one), *options[at + 1:]] for one in DEPTHS]


def sample(ladder, options):
    """The lines of samples.csv for a program with these options."""
    lines = [sampled(ladder, one) for one in runs(ladder, options)]
    lines = lines[0] if len(lines) == 1 else list(continued(depth_of(ladder, options), lines))
    for one in lines:
        values = {key: value if key in TEXTS else f"{float(value):.8g}" for key, value in one.items()
                  if key not in ("program", "sizes", "flop", "bytes", "arithmetic")}
        yield {"chapter": ladder, "options": " ".join(options)} | values | {"code": code_of(ladder, one["step"])}


def kept(ladder, options):
    """What samples.csv has of this, or nothing if the code of one of the steps is another by now, or a step is new."""
    of_ladder = [row for row in project.read_csv(SAMPLES) if row["chapter"] == ladder]
    new = {step.name for step in project.steps(project.find_ladder(ladder))} - {row["step"] for row in of_ladder}
    lines = [row for row in of_ladder if row["options"] == " ".join(options)]
    return lines if not new and all(row["code"] == code_of(ladder, row["step"]) for row in lines) else []


def record(word):
    rows = project.read_csv(SAMPLES) if SAMPLES.exists() else []
    for line in SIZES.read_text().splitlines():
        if word in line:
            ladder, *options = line.split()
            new = list(sample(ladder, options))
            rows = results.merged(rows, new, "chapter", "options")
            project.write_csv(SAMPLES, rows)
            project.say(f"{line}: {len(new)} launches")


# ---- Beside the truth

class Step:
    """A step at a size: what it launches, and how many microseconds it took."""

    def __init__(self, row, launches):
        self.ladder, self.options, self.name = row["chapter"], row["options"], row["step"]
        self.us, self.flop, self.bytes = 1e3 * float(row["median_ms"]), float(row["flop"]), float(row["bytes"])
        self.of_bound, self.launches = float(row["of_bound"] or 0), launches


def steps(name="h200"):
    """Those that are sampled and were timed on this device."""
    launches = collections.defaultdict(list)
    for row in project.read_csv(SAMPLES):
        launches[row["chapter"], row["options"], row["step"]].append(model.Launch(row, model.DEVICES[name]))
    known = {}
    for row in results.table("times", COMPARED[name]):
        key = row["chapter"], row["options"], row["step"]
        if row["kind"] in ("step", "stage") and row["median_ms"] and key in launches:
            known[key] = Step(row, launches[key])
    # Chapter 05's pipelines have the vendor's products in them, which nothing here counts.
    return [step for step in known.values() if not (step.ladder == "05" and len(step.launches) > 1)]


def median(values):
    return sorted(values)[len(values) // 2]


def tau(pairs):
    """Kendall's: of all pairs of times that differ, those in the estimated order less those in the other."""
    sum_, count = 0, 0
    for i, (a, p) in enumerate(pairs):
        for b, q in pairs[:i]:
            if a != b:
                count += 1
                sum_ += (p > q and a > b) + (p < q and a < b) - (p > q and a < b) - (p < q and a > b)
    return sum_ / count if count else math.nan


def by_ladder(found):
    ladders = collections.defaultdict(list)
    for step, us in found:
        ladders[step.ladder, step.options].append((step.us, us))
    return ladders.values()


def order(found, given):
    """Of a step and the next, whose times differ: how many get an order, and in how many it is right."""
    ordered = right = count = 0
    for ladder in by_ladder(found):
        for (a, p), (b, q) in zip(ladder, ladder[1:]):
            if abs(a / b - 1) < IS_ONE_SPEED:
                continue
            count += 1
            if max(p / q, q / p) >= given:
                ordered += 1
                right += (a > b) == (p > q)
    return ordered, right, count


def errors(found):
    return sorted(abs(us / step.us - 1) for step, us in found)


def line(name, found):
    of_ladders = [tau(ladder) for ladder in by_ladder(found) if len(ladder) >= 5]
    ordered, right, count = order(found, IN_RANGE)
    _, all_right, _ = order(found, 1)
    return (f"{name:24} {len(found):4} {100 * median(errors(found)):5.0f} % {100 * errors(found)[int(0.9 * len(found))]:5.0f} % "
            f"{tau([(step.us, us) for step, us in found]):6.2f} {median(of_ladders) if of_ladders else math.nan:7.2f} "
            f"{100 * all_right / max(count, 1):6.0f} % of {count:3} {100 * right / max(ordered, 1):6.0f} % of {ordered:3}")


def busiest_units():
    """Of each kernel that Nsight Compute looked at, at a size that is sampled: the term that is longest by the model, and the
    unit that was busiest, "latency" too where none was busy for 60 % of the time, NVIDIA's own rule."""
    launches = {}
    for row in project.read_csv(SAMPLES):
        folder = project.label(project.find_ladder(row["chapter"]))
        launches.setdefault((folder, row["options"], profile_steps.kernel_name(row["kernel"])), model.Launch(row))
    for row in results.table("figures"):
        launch = launches.get((row["chapter"], row["options"].partition(" --kernel")[0], row["kernel"]))
        if launch is None:
            continue
        of = {name: float(value or 0) for name, value in row.items()
              if name == "ns" or name.endswith(("_percent", "_passes", "_sectors"))}
        cycles = of["ns"] * model.H200.ghz * model.H200.multiprocessors
        busy = {"DRAM": of["dram_percent"], "issue": max(of["issue_percent"], of["fma_percent"]),
                "tensor": of["tensor_percent"], "L1": 100 * of["shared_load_passes"] / cycles,
                "L2": 100 * 32 * of["l2_sectors"] / cycles / model.L2_LOADS}
        terms = model.terms(launch, model.FITTED)
        unit = max(busy, key=busy.get)
        yield max(terms, key=terms.get), {unit} | ({"latency"} if busy[unit] < 60 else set())


@functools.cache
def figures(name="h200"):
    """What a page says of the model on this device, with model.FITTED."""
    found = [(step, model.estimate(step.launches).us) for step in steps(name)]
    plain = [abs(step.of_bound + model.LAUNCH_US / step.us - 1) for step, _ in found if step.of_bound]
    ordered, right, count = order(found, IN_RANGE)
    named = [bound in true for bound, true in busiest_units()]
    return {"kernels": f"{len(named)}", "named": f"{100 * sum(named) / len(named):.0f} %",
            "tau": f"{tau([(step.us, us) for step, us in found]):.2f}", "steps": f"{len(found)}",
            "median": f"{100 * median(errors(found)):.0f} %",
            "tenth": f"{100 * errors(found)[int(0.9 * len(found))]:.0f} %", "roofline": f"{100 * median(plain):.0f} %",
            "pairs": f"{count}", "ordered": f"{ordered}", "open": f"{count - ordered}",
            "right": "all" if right == ordered else f"{right}",
            "within": f"{100 * sum(1 / OFF_BY <= us / step.us <= OFF_BY for step, us in found) / len(found):.0f} %"}


def loss(rows, constants):
    """Each chapter and part has one vote, however many sizes it has."""
    off = collections.defaultdict(list)
    for step in rows:
        off[step.ladder].append(abs(math.log(model.estimate(step.launches, constants).us / step.us)))
    return sum(median(one) + sum(one) / len(one) / 2 for one in off.values()) / len(off)


def fitted(rows):
    """From model.FITTED, one constant after another, twice: the best of those that are tried."""
    best = model.FITTED
    for name in 2 * list(model.TRIED._fields):
        tried = [best] + [best._replace(**{name: value}) for value in getattr(model.TRIED, name)]
        best = min(tried, key=lambda constants: loss(rows, constants))
    return best


def study(shows_rows):
    rows = steps()
    found = []
    print(f"{'':24} rows median   90th    tau ladders  next step        where one is given")
    for chapter in sorted({step.ladder[:2] for step in rows}):
        constants = fitted([step for step in rows if step.ladder[:2] != chapter])
        own = [(step, model.estimate(step.launches, constants).us) for step in rows if step.ladder[:2] == chapter]
        found += own
        print(line(f"{chapter}, not fitted on", own), " ", *(f"{value:g}" for value in constants))
    print(line("all, each held out", found))
    print(line("all, as model.FITTED", [(step, model.estimate(step.launches, model.FITTED).us) for step in rows]))
    print(line("roofline", [(step, step.us * step.of_bound + model.LAUNCH_US) for step in rows if step.of_bound]))
    print("fitted on all:", *(f"{name} {value:g}" for name, value in fitted(rows)._asdict().items()))
    if shows_rows:
        for step, us in found:
            estimate = model.estimate(step.launches, model.FITTED)
            print(f"{step.ladder:16} {step.options[:40]:40} {step.name:22} {step.us:10.1f} {us:10.1f} {us / step.us:5.2f} "
                  f"{estimate.bound:9}", *(f"{name} {value:.0f}" for name, value in estimate.terms.items()))


def main():
    parser = project.arguments(__doc__)
    parser.add_argument("what", choices=["record", "study"])
    parser.add_argument("word", nargs="?", default="")
    parser.add_argument("--rows", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("SIMULATOR_MEMORY", str(16 * 10**9))
    record(options.word) if options.what == "record" else study(options.rows)


if __name__ == "__main__":
    main()
