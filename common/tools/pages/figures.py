#!/usr/bin/env python3
"""The figures of the pages, docs/figures/*.svg, by their programs in docs/figures/programs.

usage: common/tools/pages/figures.py             fails where a file is not what its program draws, or a label is hard to read
       common/tools/pages/figures.py --update    draws them all
       common/tools/pages/figures.py --list      which figure which program draws
"""
import importlib
import sys

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import figure_labels
import project

FOLDER = project.ROOT / "docs/figures"


def programs():
    """The figures by name, once every program has been read."""
    sys.path.insert(0, str(FOLDER / "programs"))
    for path in sorted((FOLDER / "programs").glob("*.py")):
        importlib.import_module(path.stem)
    return importlib.import_module("style").FIGURES


def main():
    parser = project.arguments(__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--update", action="store_true")
    what.add_argument("--list", action="store_true")
    words = parser.parse_args()
    figures = programs()
    if words.list:
        for name, draw in sorted(figures.items()):
            print(f"{name:28} {draw.__module__}.py")
        return 0
    problems = [f"{path.name} has no program" for path in FOLDER.glob("*.svg") if path.stem not in figures]
    for name, draw in figures.items():
        path, svg = FOLDER / f"{name}.svg", draw().svg()
        if words.update:
            path.write_text(svg)
        elif not path.exists() or path.read_text() != svg:
            problems.append(f"{path.name} is not what {draw.__module__}.py draws: common/tools/pages/figures.py --update")
        problems += [f"{path.name}: {problem}" for problem in figure_labels.problems(svg)]
    for problem in problems:
        project.say(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
