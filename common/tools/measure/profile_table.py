#!/usr/bin/env python3
"""Holds the simulator's counts against Nsight Compute's, recorded in docs/results, and two pages against both: counts.md,
beside the recorded ones, has every kernel, docs/simulator.md how many figures agree. Needs build/cpu (BUILD overrides the
folder).

usage: common/tools/measure/profile_table.py            fails where they differ without a reason, or a page is old
       common/tools/measure/profile_table.py --update   writes the tables into the pages
       common/tools/measure/profile_table.py --sample   the same as the first for one size of every fourth chapter and part, each
                                                day others: what the tests run (with TUTORIAL_ALL set, for all)

A line a kernel and size, counts of one launch. Two figures may differ by 2 %; else profile_reasons.csv
(kernel,figure,reason) says why, and has no reason where they agree. What the GPU's file lacks is named, and compared
once common/tools/measure/profile_steps.py gpu has counted it.
"""
import os
import sys
from datetime import date

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
import results
from profile_steps import COUNTERS, OWN, rows
from sizes import COUNTED

REASONS = results.RESULTS / "profile_reasons.csv"
COUNTS, SUMMARY = results.FOLDER / "counts.md", project.ROOT / "docs/simulator.md"
HEADS = "kernel,size,load sectors,a request,store sectors,a request,load conflicts,store conflicts".split(",")


def differ(x, y):
    return x > 1.02 * y or y > 1.02 * x


def number(x):
    return f"{x:.0f}" if x == round(x) else f"{x:.6g}"


def size(options):
    return options.replace("--", "").replace("-", " ")


def each(sectors, requests):
    return f"{sectors / requests:.2f}" if requests else "–"


def per_launch(rows, counters):
    """(chapter, options, kernel) -> counter -> count of one launch"""
    return {(row["chapter"], row["options"], row["kernel"]):
            {name: float(row[name]) / int(row["launches"]) for name in counters} for row in rows}


def reads_matrices(their, kind):
    """Does the kernel use ldmatrix? Own passes and requests do not count it."""
    return kind == "load" and their["own_load_passes"] < their["shared_load_passes"] / 2


def own_conflicts(their, kind):
    """A GPU counts as conflicts also the passes that two requests took from each other: a few hundred, and another
    number each time. Without those, what an instruction's own lanes make. (Of reads of 16 bytes that lanes share the
    counter of own passes counts more than there were.) Beside ldmatrix what is less than 2 % of all passes is others'."""
    count, passes, own = (their[name] for name in (f"shared_{kind}_conflicts", f"shared_{kind}_passes",
                                                   f"own_{kind}_passes"))
    if reads_matrices(their, kind):
        return count if count > 0.02 * passes else 0
    return max(0, round(count - max(0, passes - own), 6))


def count_of(their, name):
    """A counter; of passes those of the instructions themselves; None for what Nsight Compute does not count."""
    kind = "load" if "load" in name else "store"
    if name.startswith("shared") and not reads_matrices(their, kind):
        return their[name.replace("shared", "own") if "passes" in name else name]
    return None if name.startswith("shared") and "requests" in name else their[name]


def agreement(ours, theirs):
    """How many of all figures agree within 2 %, a line a kind."""
    kinds = {"requests to global memory": [("load_requests",) * 2, ("store_requests",) * 2],
             "sectors of global memory": [("load_sectors",) * 2, ("store_sectors",) * 2],
             "passes of shared memory": [("shared_load_passes",) * 2, ("shared_store_passes",) * 2],
             "requests to shared memory": [("shared_load_requests",) * 2, ("shared_store_requests",) * 2]}
    table = []
    for kind, names in kinds.items():
        pairs = [(our[x], count_of(theirs[key], y)) for key, our in ours.items() if key in theirs for x, y in names]
        pairs = [pair for pair in pairs if any(pair) and None not in pair]
        agree = sum(not differ(*pair) for pair in pairs)
        table.append([kind, str(len(pairs)), f"{100 * agree / len(pairs):.0f} %"])
    return project.markdown(["what is counted", "figures", "within 2 %"], table, "lrr")


def compare(ours, theirs, reasons):
    """The lines of the tables, and what is wrong: one sentence each."""
    tables, wrong, explained, not_yet = {}, [], set(), {}
    for key, our in ours.items():
        chapter, options, kernel = key
        if key not in theirs:
            not_yet.setdefault(size(options), []).append(f"`{kernel}`")
            continue
        their = dict(theirs[key])
        for kind in ("load", "store"):
            their[f"shared_{kind}_conflicts"] = own_conflicts(their, kind)

        def cell(what, name):
            if not differ(our[name], their[name]):
                return " / ".join(dict.fromkeys([number(our[name]), number(their[name])]))
            explained.add((kernel, what))
            if (kernel, what) not in reasons:
                wrong.append(f"{kernel} {options}: {what} {number(our[name])}, counted {number(their[name])}")
            return f"{number(our[name])} / **{number(their[name])}**"

        def ratio(kind):
            sectors, requests = kind + "_sectors", kind + "_requests"
            text = each(our[sectors], our[requests])
            if differ(our[sectors] * their[requests], their[sectors] * our[requests]):
                text += " / " + each(their[sectors], their[requests])
            return text

        tables.setdefault(chapter, []).append([
            f"`{kernel}`", size(options), cell("load sectors", "load_sectors"),
            ratio("load"), cell("store sectors", "store_sectors"), ratio("store"),
            cell("load conflicts", "shared_load_conflicts"), cell("store conflicts", "shared_store_conflicts")])
    lines = []
    for chapter, table in tables.items():
        lines += [f"### {chapter}", "", *project.markdown(HEADS, table, "llrrrrrr"), ""]
    if not_yet:
        lines += ["### Not counted on a GPU yet", "",
                  *(f"- {of}: {', '.join(dict.fromkeys(names))}" for of, names in not_yet.items()), ""]
    by_reason = {}
    for (kernel, what), reason in sorted(reasons.items()):
        if (kernel, what) in explained:
            by_reason.setdefault((what, reason), []).append(f"`{kernel}`")
        else:
            wrong.append(f"{kernel}, {what}: a reason, but no difference")
    lines += ["### Where they differ", "",
              *(f"- {', '.join(kernels)}, {what}: {reason}" for (what, reason), kernels in by_reason.items())]
    return lines, wrong


def sample(day):
    """One size of every fourth chapter and part."""
    of = {}
    for size in COUNTED:
        of.setdefault(size.line.split()[0], []).append(size.line)
    turn, quarter = divmod(day.toordinal(), 4)
    return [lines[turn % len(lines)] for lines in list(of.values())[quarter::4]]


def main():
    parser = project.arguments(__doc__)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--sample", action="store_true")
    words = parser.parse_args()
    is_sample = words.sample and "TUTORIAL_ALL" not in os.environ
    lines = sample(date.today()) if is_sample else [size.line for size in COUNTED]
    ours = per_launch(rows("cpu", lines, COUNTERS), COUNTERS)
    reasons = {}
    for line in REASONS.read_text().splitlines()[1:]:
        kernel, what, reason = line.split(",", 2)
        reasons[kernel, what] = reason
    theirs = per_launch(results.table("profile"), COUNTERS | OWN)
    tables, wrong = compare(ours, theirs, reasons)
    if is_sample:
        shown = COUNTS.read_text()
        wrong = [sentence for sentence in wrong if "no difference" not in sentence]
        wrong += [f"{COUNTS.name} has no line {line}: common/tools/measure/profile_table.py --update"
                  for line in tables if line.startswith("| `") and line not in shown]
        for sentence in wrong:
            project.say(sentence)
        return 1 if wrong else 0
    good = not wrong
    for page, marker, lines in ((COUNTS, "profiles", tables), (SUMMARY, "agreement", agreement(ours, theirs))):
        text = project.fill(page, lambda found: lines if found == marker else None)
        good = project.settle(page, text, words.update) and good
    for sentence in wrong:
        project.say(sentence)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
