#!/usr/bin/env python3
"""Records the traces that the site's figures step through, FOLDER/NN.json, by the programs' --trace. Needs build/cpu
(BUILD overrides the folder). `./learn docs` does it for the site.

usage: common/tools/pages/traces.py FOLDER [NN]...   without a number: all

What stands in such a file: docs/simulator.md.
"""
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project

MOST_BYTES = 300_000  # a page loads the whole file


class Figure(NamedTuple):
    step: str
    options: str  # small sizes, at which each case of the kernel comes
    names: dict = {}  # of arrays that the kernel's parameters do not name
    parts: dict = {}  # of a shared array: its parts, each with its shape, in their order
    part: str = ""  # of the chapter, whose step it is


FIGURES = {
    # Two tiles each way, the last of them only a part of one.
    "02": Figure("shared_tile", "--m 20 --n 20 --k 20"),
    # Two tiles, one below the other. In the first one two of the four warps own nothing that the causal mask keeps.
    "03": Figure("small_tiles", "--batch 1 --m 128 --n 128 --k 4",
                 names={"p.1": "mask", "p.2": "mask_words", "p.3": "block_list"}, part="/block_lists"),
    # Four warps a row, the last of them with 4 columns.
    "04": Figure("block_per_row", "--rows 2 --cols 100"),
    # Two tiles of keys for the last 8 queries, a row for each warp; in the second tile the causal mask lets the first
    # row see one key, and the last one eight. A row of head size 8 takes 9 floats in shared memory (odd_stride in
    # tiles.cuh).
    "06": Figure("kv_outer", "--batch 1 --heads 1 --seq 8 --seq-kv 40 --head-dim 8",
                 parts={"shared": {"Q_i": [32, 9], "K_j": [32, 9], "V_j": [32, 9], "P_ij": [32, 32]}}),
}


# ---- What a file says, without its lists


def expanded(trace):
    """The trace with a list wherever the file has the number of one."""
    lists = trace["lists"]
    events = [{key: lists[value] if key in LISTS and isinstance(value, int) else value
               for key, value in event.items()} for event in trace["events"]]
    return {key: value for key, value in trace.items() if key != "lists"} | {"events": events}


LISTS = ["lanes", "elements", "values", "from"]


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_of(trace):
    """The file: an event a line, and the lists that come more than once by their numbers."""
    times, numbers = {}, {}
    for event in trace["events"]:
        for key in LISTS:
            if key in event:
                text = compact(event[key])
                times[text] = times.get(text, 0) + 1

    def shortened(key, value):
        text = compact(value)
        return numbers.setdefault(text, len(numbers)) if key in LISTS and times[text] > 1 else value

    events = [compact({key: shortened(key, value) for key, value in event.items()}) for event in trace["events"]]
    several = {"lines": [f"{compact(key)}: {compact(text)}" for key, text in trace["lines"].items()],
               "arrays": map(compact, trace["arrays"]), "lists": numbers, "events": events}
    blocks = [f"{compact(key)}: {compact(value)}" for key, value in trace.items() if key not in several]
    for key, lines in several.items():
        opening, closing = "{}" if key == "lines" else "[]"
        blocks.append(f"{compact(key)}: {opening}\n" + ",\n".join(lines) + f"\n{closing}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


# ---- Recording


def cut(trace, name, parts):
    """The trace with the parts of a shared array in its place, as arrays of their own."""
    index = next((i for i, array in enumerate(trace["arrays"]) if array["name"] == name), None)
    if index is None:
        project.die(f"{trace['kernel']} has no array {name}; mend FIGURES in common/tools/pages/traces.py")
    whole, size = trace["arrays"][index], sum(math.prod(shape) for shape in parts.values())
    if size != math.prod(whole["shape"]):
        project.die(f"the parts of {name} have {size} elements, and {trace['kernel']} asks for "
                    f"{math.prod(whole['shape'])}; mend FIGURES in common/tools/pages/traces.py")
    arrays, bounds, first = [], [], 0
    for part, shape in parts.items():
        offset = whole["offset_bytes"] + first * whole["element_bytes"]
        arrays.append(whole | {"name": part, "shape": shape, "offset_bytes": offset})
        bounds.append((first, first := first + math.prod(shape)))
    moved = {i: i if i < index else i + len(parts) - 1 for i in range(len(trace["arrays"]))}
    events = []
    for event in trace["events"]:
        if event.get("array") != index:
            events.append(event | {"array": moved[event["array"]]} if "array" in event else event)
            continue
        for number, (begin, end) in enumerate(bounds):
            places = [i for i, element in enumerate(event["elements"]) if begin <= element < end]
            if not places:
                continue
            part = event | {"array": index + number, "lanes": [event["lanes"][i] for i in places],
                            "elements": [event["elements"][i] - begin for i in places]}
            if "values" in event:
                width = event.get("width", 1)
                part["values"] = [value for i in places for value in event["values"][i * width:(i + 1) * width]]
            events.append(part)
    return trace | {"arrays": [*trace["arrays"][:index], *arrays, *trace["arrays"][index + 1:]], "events": events}


def recorded(number, figure):
    program = project.built_program(number + figure.part, "cpu")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        words = [program, "--kernel", figure.step, *figure.options.split(), "--trace", path]
        natural = os.environ | {"SIMULATOR_ORDER": "0"}
        run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=natural)
        if run.returncode != 0:
            project.say(run.stdout)
            project.die(f"{number} {figure.step} cannot be traced; what it said stands above")
        trace = expanded(json.loads(path.read_text()))
    for array in trace["arrays"]:
        array["name"] = figure.names.get(array["name"], array["name"])
    for name, parts in figure.parts.items():
        trace = cut(trace, name, parts)
    return trace


def record(number, folder):
    """Writes the file. False where a page could not load it."""
    path, trace = folder / f"{number}.json", recorded(number, FIGURES[number])
    text = text_of(trace)
    size = len(text.encode())
    if size > MOST_BYTES:
        project.say(f"{path} would have {size} bytes, and a page loads at most {MOST_BYTES}; "
                    "choose smaller sizes in common/tools/pages/traces.py")
        return False
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    project.say(f"wrote {path}: {len(trace['events'])} events, {size} bytes")
    return True


def main():
    parser = project.arguments(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("numbers", nargs="*")
    words = parser.parse_args()
    for number in words.numbers:
        if number not in FIGURES:
            project.die(f"there is no trace of '{number}'; there are those of {', '.join(FIGURES)}")
    return 0 if all([record(number, words.folder) for number in words.numbers or FIGURES]) else 1


if __name__ == "__main__":
    sys.exit(main())
