#!/usr/bin/env python3
"""Writes what a page needs to estimate a step's time as ./learn estimate does: docs/site/browser/estimate.js has the formulas.

usage: common/tools/measure/page_estimates.py FILE       common/tools/learn/page_modules.py calls it
"""
import json
import sys

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
import estimate
import estimate_model as model
import estimates
import registers

# A page's memory for a device holds some 190 MB (kDeviceSpan in common/simulator/device/device.hpp). Where the usual size
# takes more, or more time than a reader waits, these stand in its place, of a ladder or of a step.
SMALLER = {"01": {"--m": "2048", "--n": "2048", "--k": "2048"}, "03": {"--batch": "16"}, "04": {"--rows": "4096"},
           "04 thread_per_row": {"--cols": "1024"}, "05": {"--batch": "1"}, "05 unfused": {"--seq": "256"},
           "06 kv_outer": {"--seq": "256"}}


def sizes(ladder, step=""):
    """The options, and those of each run."""
    smaller = SMALLER.get(ladder, {}) | SMALLER.get(f"{ladder} {step}", {})
    usual = estimate.usual_options(ladder)
    options = [smaller.get(before, word) for before, word in zip(["", *usual], usual)]
    return {"options": options, "runs": estimates.runs(ladder, options), "depth": estimates.depth_of(ladder, options)}


def ladders():
    """Those that have an estimate, by name: their sizes, those of steps that have others, and what the result leaves out."""
    named = dict.fromkeys(line.split()[0] for line in estimates.SIZES.read_text().splitlines())
    others = [name.split() for name in SMALLER if " " in name]
    return {ladder: sizes(ladder) | {"steps": {step: sizes(ladder, step) for of, step in others if of == ladder},
                                     "shows_times": ladder not in estimate.NO_TIME, "left_out": estimate.LEFT_OUT.get(ladder, "")}
            for ladder in named if ladder not in estimate.NOT_YET}


def known(devices):
    """All numbers and tables, for these devices."""
    architectures = {device.architecture for device in devices.values()}
    return {"devices": {name: device._asdict() for name, device in devices.items()},
            "numbers": {name: value for name, value in vars(model).items() if name.isupper() and isinstance(value, (int, float))},
            "fitted": model.FITTED._asdict(),
            "limits": {one: registers.LIMITS[one] for one in architectures},
            "registers": {one: model.recorded_registers(one) for one in architectures},
            "units": estimate.UNITS, "depths": estimates.DEPTHS, "texts": [*estimates.TEXTS, "program", "sizes"],
            "off_by": estimates.OFF_BY, "in_range": estimates.IN_RANGE, "ladders": ladders()}


def main():
    parser = project.arguments(__doc__)
    parser.add_argument("file")
    with open(parser.parse_args().file, "w") as file:
        json.dump(known({"h200": model.H200}), file)


if __name__ == "__main__":
    main()
