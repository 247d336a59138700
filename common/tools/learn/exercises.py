#!/usr/bin/env python3
"""What ./learn's commands for the exercises do besides building: which one, its text, hints, progress.

usage: exercises.py begin [NAME]      prints the exercise's folder; makes mine.cu, and shows the task
       exercises.py solved NAME       remembers that it is solved, and says what comes next
       exercises.py hint [NAME]       the next of its three hints
       exercises.py progress          the list
       exercises.py reset NAME        mine.cu as it was shipped; asks first, or takes --yes
       exercises.py solution [NAME]   how we filled the gap, once it is solved or with --yes
       exercises.py skeleton SOLUTION FILE   writes what a learner begins with, for the build
       exercises.py json              all that the site shows of them

NAME is transpose or 02/transpose, wherever in the chapter it is: in a part's folder, too. `begin` also takes a chapter
or a part, for its next one. Without NAME: the one begun last, or the first that is not solved. What a learner has done is
in .learn/exercises.json and in mine.cu. CONTRIBUTING.md says what an exercise's folder holds."""
import json
import os
import re
import sys
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project

STATE = project.ROOT / ".learn/exercises.json"
GAP = re.compile(r"( *// ---- your code[^\n]*\n)(.*?)( *// ----\n)", re.S)  # in solution.cu


class Exercise:
    """A folder NN_chapter/exercises/2_transpose, or NN_chapter/part/exercises/1_fragments."""

    def __init__(self, folder):
        self.folder = folder
        self.ladder = folder.parents[1]  # a chapter, or a part of one
        self.chapter = project.label(self.ladder).partition("/")[0]
        self.short = folder.name.partition("_")[2]
        self.name = f"{self.chapter[:2]}/{self.short}"
        self.mine = folder / "mine.cu"
        sections = re.split(r"^#+ (.+)\n", (folder / "task.md").read_text(), flags=re.M)
        self.title, self.text = sections[1], sections[2].strip()
        self.hints = [text.strip() for text in sections[4::2]]

    def make_mine(self):
        self.mine.write_text(skeleton((self.folder / "solution.cu").read_text()))

    def is_called(self, word):
        """By its short name, or with what it is in before it: the chapter, or the chapter and the part."""
        places = [self.ladder, project.ROOT / self.chapter]
        return word in [self.short] + [f"{name(place)}/{self.short}"
                                       for place in places for name in (project.short_name, project.label)]


def skeleton(solution):
    """What a learner begins with: the solution, a file's text, with its gaps empty."""
    return GAP.sub(r"\1\n\3", solution)


def filled(solution):
    """What we filled its gaps with."""
    return "\n…\n\n".join(first + code for first, code, _ in GAP.findall(solution))


def exercises():
    """In their order: the chapters', each before its parts', and from easy to hard."""
    return [Exercise(task.parent) for room in project.rooms() for task in sorted(room.glob("exercises/*/task.md"))]


def read_state():
    try:
        return {"solved": [], "hints": {}, "current": ""} | json.loads(STATE.read_text())
    except (FileNotFoundError, ValueError):
        return {"solved": [], "hints": {}, "current": ""}


def write_state(state):
    STATE.parent.mkdir(exist_ok=True)
    new = STATE.with_suffix(".new")
    new.write_text(json.dumps(state, indent=1) + "\n")
    new.replace(STATE)  # all of it or nothing


def find_place(word):
    """The folder of chapter 02, or of part 02/tensor_cores; or None."""
    number, _, part = word.partition("/")
    chapter = project.find_chapter(number)
    return chapter / part if chapter and chapter / part in project.rooms(chapter) else None


def choose(name, state, takes_place=False):
    """The exercise that is meant."""
    everything = exercises()
    word = name.rstrip("/")
    if not word:
        of_state = [one for one in everything if one.name == state["current"] and one.name not in state["solved"]]
        left = of_state or [one for one in everything if one.name not in state["solved"]]
        return left[0] if left else project.die("all exercises are solved; ./learn progress lists them")
    found = [one for one in everything if one.is_called(word)]
    if len(found) == 1:
        return found[0]
    if place := find_place(word):
        of_place = [one for one in everything if place in one.folder.parents]
        if not of_place:
            project.die(f"{word} has no exercises; ./learn progress lists them all")
        if not takes_place:
            project.die(f"{word} has the exercises {', '.join(one.name for one in of_place)}: name one")
        left = [one for one in of_place if one.name not in state["solved"]]
        return left[0] if left else project.die(f"every exercise of {project.label(place)} is solved; "
                                                "name one to run it again")
    known = [one.name for one in everything] + [one.short for one in everything]
    return project.die(f"there is no exercise '{word}'; {project.did_you_mean(word, known)}./learn progress lists them")


def progress(say=print):
    state, everything = read_state(), exercises()
    width = max(len(one.name) for one in everything)
    for one in everything:
        mark = "✓" if one.name in state["solved"] else "…" if one.mine.exists() else " "
        say(f" {mark} {one.name:{width}}  {one.title}")
    solved = sum(one.name in state["solved"] for one in everything)
    say(f"{solved} of {len(everything)} solved (✓), … begun. ./learn exercise NAME begins or tries one.")


def begin(name):
    state = read_state()
    one = choose(name, state, takes_place=True)
    if not one.mine.exists():
        if not name:
            progress(project.say)
        project.say(f"\n{one.name}: {one.title}\n\n{one.text}\n")
        one.make_mine()
    folder = os.path.relpath(one.folder, project.ROOT)
    project.say(f"{one.name}: edit {folder}/mine.cu; what is asked for stands in its exercise.hpp, tests.cpp and task.md.")
    write_state(state | {"current": one.name})
    print(folder)


def solved(name):
    state = read_state()
    one = choose(name, state)
    state["solved"] = sorted({*state["solved"], one.name})
    write_state(state)
    names = [other.name for other in exercises()]
    place = names.index(one.name)
    left = [name for name in names[place:] + names[:place] if name not in state["solved"]]
    project.say(f"Solved: {one.name}. ./learn solution {one.short} shows how we did it; "
                + (f"next: ./learn exercise {left[0]}" if left else "that was the last one."))


def hint(name):
    state = read_state()
    one = choose(name, state)
    given = state["hints"].get(one.name, 0)
    number = min(given, len(one.hints) - 1)
    print(f"{one.name}, hint {number + 1} of {len(one.hints)}\n\n{one.hints[number]}")
    if given >= len(one.hints):
        print(f"\nThat was the last hint. ./learn solution {one.short} --yes shows our lines.")
    state["hints"][one.name] = min(given + 1, len(one.hints))
    write_state(state)


def reset(name, yes):
    if not name:
        project.die("reset which exercise? For example: ./learn reset transpose")
    state = read_state()
    one = choose(name, state)
    if not one.mine.exists():
        project.die(f"{one.name} was not begun: there is nothing to reset")
    if not yes:
        if not sys.stdin.isatty():
            project.die(f"your edits in {one.name} would be lost: ./learn reset {one.short} --yes does it")
        try:
            answer = input(f"Your edits in {os.path.relpath(one.mine, project.ROOT)} will be lost. Go on? [y/N] ")
        except EOFError:
            answer = ""
        if answer.strip().lower() not in ("y", "yes"):
            project.say("Nothing was changed.")
            sys.exit(1)
    one.make_mine()
    state["solved"] = [name for name in state["solved"] if name != one.name]
    state["hints"].pop(one.name, None)
    write_state(state)
    project.say(f"{one.name} is as it was shipped.")


def solution(name, yes):
    state = read_state()
    one = choose(name or state["current"], state)
    if one.name not in state["solved"] and not yes:
        project.die(f"{one.name} is not solved yet: ./learn hint {one.short} helps; "
                    f"./learn solution {one.short} --yes shows our lines all the same")
    path = one.folder / "solution.cu"
    print(filled(path.read_text()), end="")
    print(f"\nThe whole file: {os.path.relpath(path, project.ROOT)}")


def write_skeleton(solution, file):
    file.write_text(skeleton(solution.read_text()))


def as_json():
    found = []
    for one in exercises():
        text = (one.folder / "solution.cu").read_text()
        found.append({"name": one.name, "folder": str(one.folder.relative_to(project.ROOT)), "title": one.title,
                      "skeleton": skeleton(text), "solution": filled(text)})
    print(json.dumps(found))


def main():
    project.program = "learn"
    parser = project.arguments(__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    with_name = {"begin": begin, "solved": solved, "hint": hint, "reset": reset, "solution": solution}
    for name, run in (with_name | {"progress": progress, "skeleton": write_skeleton, "json": as_json}).items():
        command = commands.add_parser(name, prog=f"./learn {'exercise' if name == 'begin' else name}", allow_abbrev=False)
        command.set_defaults(run=run, refuse=command.error)
        if name in with_name:
            command.add_argument("name", nargs="?", default="")
        if name in ("reset", "solution"):
            command.add_argument("--yes", action="store_true")
        if name == "skeleton":
            command.add_argument("solution", type=Path)
            command.add_argument("file", type=Path)
    words, more = parser.parse_known_args()
    words = vars(words)
    run, refuse = words.pop("run"), words.pop("refuse")
    if more:
        refuse(f"unrecognized arguments: {' '.join(more)}")
    run(**words)


if __name__ == "__main__":
    main()
