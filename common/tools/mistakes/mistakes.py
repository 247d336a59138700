#!/usr/bin/env python3
"""The planted mistakes of the chapters: docs/mistakes.md says what for, docs/CONTRIBUTING.md how a mistakes.txt is written.

usage: mistakes.py validate                   is each entry complete, does its old text match once, is there such a test?
       mistakes.py list [CHAPTER | PART]      what there is
       mistakes.py show CHAPTER | PART        the fields of each, the file that it changes, that file's text, and what
                                              is told in the end, as JSON
       mistakes.py heard CHAPTER | PART NAME  of a report on stdin: what it says in place of what the entry foretells
and for the build (common/cmake/Mistakes.cmake), where LIST is a mistakes.txt and NAME an entry in it:
       mistakes.py cmake LIST                 a line for each mistake of a list: NAME and the files it changes
       mistakes.py apply LIST NAME FOLDER     writes these files into FOLDER
       mistakes.py check LIST NAME PROGRAM    do the tests in PROGRAM, built from FOLDER, fail as the entry says?
"""
import datetime
import difflib
import fnmatch
import functools
import json
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
from project import ROOT, chapters
import mistake_reports
import page_outputs

FIELDS = ("name", "seen", "check", "line", "says", "tests", "file")
NEEDED_BY = {**dict.fromkeys(("race", "init", "bounds", "barrier", "endless", "launch"), "line"),
             **dict.fromkeys(("value", "nan", "poison"), "says")}
SOURCES = (".cu", ".cuh", ".cpp", ".hpp")


class Problem(Exception):
    """Something that is not as it should be, in a sentence."""


class Mistake:
    """An entry of a mistakes.txt."""

    left_alone = project.NOT_IN_LIBRARY  # even where they include what changes

    def __init__(self, listed_in, name):
        self.listed_in, self.id = listed_in, name  # the name in brackets
        self.folder = listed_in.parent
        self.chapter = chapter_of(listed_in)
        self.field = {}
        self.blocks = []  # ("old" or "new", lines), as they come
        self.problems = []

    def read_line(self, line):
        key, colon, value = (word.strip() for word in line.partition(":"))
        if line.startswith("|") and self.blocks:
            self.blocks[-1][1].append(line[1:])
        elif line in ("old:", "new:"):
            self.blocks.append((key, []))
        elif not colon or key not in FIELDS:
            self.problems.append(f"has a line that is none of {' '.join(FIELDS)} old new: {line}")
        elif key in self.field:
            self.problems.append(f"has two lines {key}:")
        elif not value:
            self.problems.append(f"has nothing behind {key}:")
        else:
            self.field[key] = value

    def validate(self):
        """Appends to `problems`."""
        field, check = self.field, self.field.get("check")
        if not re.fullmatch("[a-z0-9_]+", self.id):
            self.problems.append("has a name that is not made of small letters, digits and _")
        self.problems += [f"has no line {key}:" for key in FIELDS if key not in (*field, "line", "says")]
        if check and check not in NEEDED_BY:
            self.problems.append(f"has check: {check}, which is none of {', '.join(NEEDED_BY)}")
        elif check and {"line", "says"} & set(field) != {NEEDED_BY[check]}:
            other = "says" if NEEDED_BY[check] == "line" else "line"
            self.problems.append(f"has check: {check}, which needs a line {NEEDED_BY[check]}: and no line {other}:")
        if "line" in field and not re.fullmatch(r"[^:/ ]+\.(cu|cuh|cpp|hpp): .+", field["line"]):
            self.problems.append("has a line: that is not a file, a colon and a piece of a line in it: "
                                 "step1.cu: sum += As[ty][k]")
        kinds = [kind for kind, _ in self.blocks]
        if not kinds or kinds != ["old", "new"] * (len(kinds) // 2):
            self.problems.append("has not an old: and a new: for each change, one after the other")
        if not self.problems:
            try:
                changed = self.changed_text()
                if "line" in field:
                    file, text = field["line"].split(": ", 1)
                    source = next((folder / file for folder in self.sources() if (folder / file).is_file()), None)
                    if not source or text not in (changed if source == self.file() else source.read_text()):
                        self.problems.append(f"has a line: that is not there: {file} has no {text}")
                if not any(fnmatch.fnmatchcase(name.lower(), field["tests"].lower()) for name in tests_of(self.folder)):
                    self.problems.append(f"has tests: {field['tests']}, which names no test")
            except Problem as problem:
                self.problems.append(str(problem))

    def file(self):
        """The file that it changes; nothing if there is no such file."""
        path = self.folder / self.field.get("file", "")
        return path if path.parent == self.folder and path.suffix in SOURCES and path.is_file() else None

    def sources(self):
        """The folders of the files that a report may name."""
        return [self.folder, *project.ladders(self.chapter), *(ROOT / "common").glob("*/")]

    def changed_text(self):
        """Its file's text with the mistake in it."""
        file = self.file()
        if not file:
            raise Problem(f"changes {self.field['file']}, and there is no such source file beside the list")
        text = file.read_text()
        for (_, old), (_, new) in zip(self.blocks[::2], self.blocks[1::2]):
            old, new = "\n".join(old), "\n".join(new)
            if text.count(old) != 1:
                raise Problem(f"does not fit {file.name}: its old text should be there once, and is there "
                              f"{text.count(old)} times: {old.strip().partition(chr(10))[0]}")
            text = text.replace(old, new)
        return text

    def touched(self):
        """The files of its chapter's or part's library that change with it, by their paths in the chapter: its own
        file, and those that include one that changes."""
        if not self.file():
            return []
        touched = {os.path.relpath(self.file(), self.chapter)}
        includes = {}
        for source in sorted(self.folder.iterdir()):
            if source.suffix in SOURCES and source.name not in self.left_alone:
                path = os.path.relpath(source, self.chapter)
                names = re.findall(r'^#include "(.+)"', source.read_text(), re.M)
                beside = [os.path.normpath(os.path.join(os.path.dirname(path), name)) for name in names]
                includes[path] = {*names, *beside}
        while more := {path for path in includes if includes[path] & touched} - touched:
            touched |= more
        return sorted(touched)

    def apply(self, folder):
        """Writes what `touched` names into `folder`, and leaves alone what is right already. The older test program
        goes first, so that one that cannot be built is not taken for the new one."""
        try:
            changed = self.changed_text()
        except Problem:
            for path in [*self.touched(), "tests"]:
                (folder / path).unlink(missing_ok=True)
            raise
        for path in self.touched():
            original, copy = self.chapter / path, folder / path
            text = changed if original == self.file() else original.read_text()
            if not copy.exists() or copy.read_text() != text:
                (folder / "tests").unlink(missing_ok=True)
                copy.parent.mkdir(parents=True, exist_ok=True)
                half_written = copy.with_name(copy.name + ".part")
                half_written.write_text(text)
                half_written.replace(copy)

    def revelation(self, copy, original):
        """What is told in the end of `copy`, which is `original` with the mistake in it."""
        field, file = self.field, os.path.relpath(self.file(), self.chapter)
        diff = difflib.unified_diff(self.file().read_text().splitlines(), self.changed_text().splitlines(),
                                    f"{self.chapter.name}/{file}", f"broken/{file}", lineterm="")
        return "\n".join([f"{copy} is {original} with this mistake: {field['name']}",
                          f"On a GPU: {field['seen']}",
                          f"The check that names it: {field['check']}, {field.get('line') or field['says']}", "", *diff])

    def says(self, *sentences):
        return "\n".join(f"{os.path.relpath(self.listed_in, ROOT)}: [{self.id}] {sentence}" for sentence in sentences)


# ---- the lists

def chapter_of(path):
    """The chapter's folder, for a list of the chapter or of one of its parts."""
    return path.parent if re.match("[0-9][0-9]_", path.parent.name) else path.parent.parent


@functools.lru_cache
def tests_of(folder):
    """The names of a chapter's or a part's tests."""
    texts = (path.read_text() for path in [*folder.glob("tests.cpp"), *folder.glob("tests/*.c*")])
    named = (name for text in texts
             for name in re.findall(r'^ *(?:TEMPLATE_)?TEST_CASE\(\s*((?:"[^"\n]*"\s*)+)', text, re.M))
    return ["".join(re.findall('"(.*?)"', name)) for name in named]


def files_of(folder):
    """The files below a folder, by their paths in it."""
    return sorted(os.path.relpath(path, folder) for path in folder.rglob("*") if path.is_file())


def read_list(path):
    mistakes = []
    for line in path.read_text().splitlines():
        if entry := re.fullmatch(r"\[(.*)\]", line):
            mistakes.append(Mistake(path, entry[1]))
        elif line.strip() and not line.startswith("#"):
            if not mistakes:
                raise Problem(f"{os.path.relpath(path, ROOT)}: a line comes before the first [entry]: {line}")
            mistakes[-1].read_line(line)
    for mistake in mistakes:
        mistake.validate()
    return mistakes


def mistakes_of(chapter):
    """Those of a chapter and of its parts."""
    lists = [*chapter.glob("mistakes.txt"), *sorted(chapter.glob("*/mistakes.txt"))]
    mistakes = [mistake for path in lists for mistake in read_list(path)]
    known = {}
    for mistake in mistakes:
        for name in (f"[{mistake.id}]", mistake.field.get("name", mistake)):
            other = known.setdefault(name, mistake)
            if other is not mistake:
                listed_in = os.path.relpath(other.listed_in, ROOT)
                mistake.problems.append(f"has the same name as [{other.id}] in {listed_in}")
    return mistakes


def entry_of(path, name):
    path = Path(path).resolve()
    for mistake in mistakes_of(chapter_of(path)):
        if (mistake.listed_in, mistake.id) == (path, name):
            return mistake
    raise Problem(f"{path} has no entry [{name}]")


def shown_by_programs():
    """[(part, {mistake of its chapter's road: "shows", or why it cannot})] of the parts that hold them: 06/model."""
    for path in sorted(ROOT.glob("[0-9][0-9]_*/*/road_mistakes.txt")):
        lines = path.read_text(encoding="utf-8").splitlines()
        yield path.parent, dict(line.split(" ", 1) for line in lines if not line.startswith("#"))


def problems_of_programs():
    for part, said in shown_by_programs():
        road = {mistake.id for mistake in mistakes_of(part.parent) if mistake.folder == part.parent}
        unclear = [name for name, how in said.items() if not re.fullmatch("shows|cannot: .+", how)]
        for what, names in (("says neither shows nor cannot: and why", unclear), ("has no line", road - set(said)),
                            ("names what is no mistake of the road", set(said) - road)):
            if names:
                yield f"{project.label(part)}/road_mistakes.txt {what}: {', '.join(sorted(names))}"


# ---- the commands

def validate():
    mistakes = [mistake for chapter in chapters() for mistake in mistakes_of(chapter)]
    problems = [mistake.says(*mistake.problems) for mistake in mistakes if mistake.problems]
    problems += problems_of_programs()
    if problems:
        raise Problem("\n".join(problems))
    print(f"{len(mistakes)} mistakes are as they should be")


def mistakes_in(folder):
    """Those of a part alone, or of a chapter and its parts."""
    chapter = folder if folder in chapters() else folder.parent
    return [mistake for mistake in mistakes_of(chapter) if folder in (chapter, mistake.folder)]


def show_list(word=""):
    for folder in [project.find_room(word)] if word else chapters():
        heading = ""
        for mistake in mistakes_in(folder):
            if heading != (heading := os.path.relpath(mistake.folder, ROOT)):
                print(heading)
            print(f"  {mistake.id:34} {mistake.field.get('check', ''):8} {mistake.field.get('name', '')}")
        if word and not heading:
            raise Problem(f"{project.label(folder)} has no mistakes")


def show_json(word):
    folder = project.find_room(word)
    print(json.dumps([{"id": mistake.id, **mistake.field, "file": os.path.relpath(mistake.file(), ROOT),
                       "source": mistake.changed_text(),
                       "revelation": mistake.revelation("This", os.path.relpath(mistake.file(), ROOT))} for mistake in mistakes_of(folder) if mistake.folder == folder]))


def heard(word, name):
    mistake = next((each for each in mistakes_in(project.find_room(word)) if each.id == name), None)
    if mistake is None:
        raise Problem(f"{word} has no mistake [{name}]")
    report = sys.stdin.read()
    with tempfile.TemporaryDirectory() as folder:  # the lines that a report counts are those of the changed file
        Path(folder, mistake.file().name).write_text(mistake.changed_text())
        print(mistake_reports.came_instead(mistake.field, [Path(folder), *mistake.sources()], report, report))


def show_sample(date):
    """Every twentieth, others each day of twenty: what builds it, and the name of its test."""
    tests = [(mistake.folder, mistake.id) for chapter in chapters() for mistake in mistakes_of(chapter)]
    tests += [(part, f"writes_{name}") for part, said in shown_by_programs() for name, how in said.items() if how == "shows"]
    for folder, name in tests[datetime.date.fromisoformat(date).toordinal() % 20::20]:
        label = os.path.relpath(folder, ROOT)
        print(f"{label.replace('/', '_')}_mistake_{name}\tmistake {label}: {name}")


def show_cmake(path):
    by_id = {mistake.id: mistake for mistake in read_list(Path(path))}  # of two with one name, `validate` tells
    for mistake in by_id.values():
        if re.fullmatch("[a-z0-9_]+", mistake.id):
            print(mistake.id, *mistake.touched())


def apply(path, name, folder):
    mistake = entry_of(path, name)
    try:
        mistake.apply(Path(folder))
    except Problem as problem:
        raise Problem(mistake.says(problem)) from None


def check(path, name, program):
    mistake = entry_of(path, name)
    if mistake.problems:
        raise Problem(mistake.says(*mistake.problems))
    folders = [Path(program).parent / os.path.relpath(mistake.folder, mistake.chapter), *mistake.sources()]
    shown = page_outputs.reports(mistake.chapter.name[:2], mistake.id)
    problem, expected = mistake_reports.judge(mistake.field, Path(program), folders, shown)
    if problem:
        raise Problem(mistake.says(problem))
    print(mistake.says(f"caught by {expected}"))


def main():
    project.program = "learn"
    parser = project.arguments(__doc__)
    commands = parser.add_subparsers(prog=parser.prog, required=True, metavar="COMMAND")
    for name, run, *words in (("validate", validate), ("list", show_list),
                              ("show", show_json, "word"), ("heard", heard, "word", "name"),
                              ("sample", show_sample, "date"), ("cmake", show_cmake, "path"),
                              ("apply", apply, "path", "name", "folder"), ("check", check, "path", "name", "program")):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        for word in words:
            command.add_argument(word)
    commands.choices["list"].add_argument("word", nargs="?", default="")
    words = vars(parser.parse_args())
    try:
        words.pop("run")(**words)
    except Problem as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
