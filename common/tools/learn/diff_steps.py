#!/usr/bin/env python3
"""Shows a step of a chapter beside the one before it, or beside another.

usage: ./learn diff CHAPTER STEP [OTHER] [--kernel]     CHAPTER: 02, or a part of it: 02/hopper
       ./learn diff CHAPTER              all steps: their length, and how much each changes
       common/tools/learn/diff_steps.py --json all steps of all chapters with their differences, for the site
A part's first step stands beside the one that the part goes on from; OTHER may be in another ladder: faster/alpha_beta.
--kernel leaves out the header comment and the launcher: only what runs on the device is compared.
"""
import argparse
import json
import os
import re
import shutil
import signal
import sys
from difflib import SequenceMatcher

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
from project import die

RED, GREEN, REVERSE, PLAIN = "\033[31m", "\033[32m", "\033[7m", "\033[0m"
LONG, MANY = 150, 120  # a longer step that changes more lines is marked in the table


# ---- what a file is made of


def items(lines):
    """The functions, types, constants and directives of a file, each with its comment: (first line, last + 1)."""
    found, start, depth = [], None, 0
    for i, line in enumerate(lines):
        code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])+\'|//.*', "", line).strip()
        if re.match(r"(inline )?namespace\b.*\{$", code) or re.match(r"\}\s*// namespace", line):
            start = None
        elif line.strip() and start is None:
            start = i
        depth += code.count("{") - code.count("}") if start is not None else 0
        if start is not None and depth == 0 and (code.endswith((";", "}")) or code.startswith("#")):
            found.append((start, i + 1))
            start = None
    return found


def is_comment(line):
    return line.strip() == "" or line.strip().startswith("//")


def device_part(lines):
    """What runs on the device, and its constants and types: not the header comment, not the launcher."""
    kept = []
    for first, last in items(lines):
        code = " ".join(line for line in lines[first:last] if not is_comment(line))
        if re.search(r"__global__|__device__", code) or re.match(
            r"(static |inline )*(template ?<.*?> *)?(constexpr|const|struct|using|enum|static_assert)\b", code
        ):
            kept += [""] * bool(kept) + lines[first:last]
    return kept


def longest_function(lines):
    """The length of the longest kernel or other device function, without the comment above it."""
    lengths = [0]
    for first, last in items(lines):
        while first < last and is_comment(lines[first]):
            first += 1
        if any(re.search("__global__|__device__", line) for line in lines[first:last]):
            lengths.append(last - first)
    return max(lengths)


def steps_with_the_one_before(folder):
    """Of a ladder; of a part's first step that is the one that the part goes on from."""
    steps, border = project.steps(folder), project.step_before(folder)
    return zip(steps, [border and border[1], *steps])


# ---- the difference


def compare(old, new):
    return SequenceMatcher(None, old, new, autojunk=False)


def count(matcher):
    """How many lines were removed and added: those with code, those that are comments only or blank."""
    lines = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            lines += matcher.a[i1:i2] + matcher.b[j1:j2]
    comments = sum(map(is_comment, lines))
    return len(lines) - comments, comments


def pairs(old, new):
    """Of lines that were replaced: (old line or None, new line or None), two that are alike together."""
    found, done = [], 0
    for line in new:
        alike = [(compare(other, line).ratio(), -i) for i, other in enumerate(old[done : done + 12], done)]
        ratio, i = max(alike, default=(0, 0))
        if ratio > 0.6:
            found += [(other, None) for other in old[done:-i]] + [(old[-i], line)]
            done = 1 - i
        else:
            found.append((None, line))
    return found + [(other, None) for other in old[done:]]


def words(old, new):
    """Two lines in pieces: for each a list of (text, has it changed?). One of them may be None."""
    if None in (old, new):
        return [[] if line is None else [(line, False)] for line in (old, new)]
    a, b = (re.findall(r"\w+|\s+|.", line) for line in (old, new))
    left, right = [], []
    for tag, i1, i2, j1, j2 in compare(a, b).get_opcodes():
        left.append(("".join(a[i1:i2]), tag != "equal"))
        right.append(("".join(b[j1:j2]), tag != "equal"))
    return left, right


def paint(pieces, colour):
    if not colour:
        return "".join(text for text, _ in pieces)
    return colour + "".join(f"{REVERSE}{text}{PLAIN}{colour}" if new else text for text, new in pieces) + PLAIN


def blocks(matcher, group):
    """Lists of (old pieces, new pieces), and for each list whether its lines differ. Where one side has no line,
    it has no pieces."""
    for tag, i1, i2, j1, j2 in group:
        old, new = matcher.a[i1:i2], matcher.b[j1:j2]
        yield [words(a, b) for a, b in (zip(old, new) if tag == "equal" else pairs(old, new))], tag != "equal"


def unified(matcher, group, red, green):
    for lines, differ in blocks(matcher, group):
        if differ:
            yield from (paint([("- ", False), *old], red) for old, _ in lines if old)
            yield from (paint([("+ ", False), *new], green) for _, new in lines if new)
        else:
            yield from (paint([("  ", False), *old], "") for old, _ in lines)


def folded(pieces, width):
    """The pieces of a line that is too long for its column, in several lines."""
    lines, room = [[]], width
    for text, new in pieces:
        while text:
            if room == 0:
                lines.append([])
                room = width
            lines[-1].append((text[:room], new))
            text, room = text[room:], max(room - len(text), 0)
    return lines


def side_by_side(matcher, group, red, green, columns):
    width = (columns - 7) // 2  # with a mark and a blank before each half, and " │ " between them
    for lines, differ in blocks(matcher, group):
        for pieces in lines:
            halves = [folded(half, width) for half in pieces]
            for i in range(max(map(len, halves))):
                cells = []
                for whole, half, mark, colour in zip(pieces, halves, "-+", (red, green)):
                    line = half[i] if i < len(half) else []
                    mark = mark if differ and whole and i == 0 else " "
                    text = paint([(mark + " ", False), *line], colour if differ else "")
                    cells.append(text + " " * (width - sum(len(text) for text, _ in line)))
                yield " │ ".join(cells).rstrip()


def show(old, new, only_device):
    """Prints the difference between two steps; old is None before the first."""
    texts = [step.path.read_text().splitlines() for step in (old, new)]
    if only_device:
        texts = [device_part(text) for text in texts]
    matcher = compare(*texts)
    code, comments = count(matcher)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    in_colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    red, green = (RED, GREEN) if in_colour else ("", "")
    print(f"{old.path.relative_to(project.ROOT)} → {new.path.relative_to(project.ROOT)}")
    for group in matcher.get_grouped_opcodes(3):
        print("…")
        wide = columns >= 160
        lines = side_by_side(matcher, group, red, green, columns) if wide else unified(matcher, group, red, green)
        print("\n".join(lines))
    where = "on the device " if only_device else ""
    print(f"{code} lines of code {where}changed (removed and added), and {comments} that are comments or blank")


# ---- for the site


def rows(matcher):
    """Each line of both files once, in the order of the difference: its mark, its number in each file, its pieces,
    and whether it stands near a change."""
    everything = list(matcher.get_opcodes())  # grouping them cuts the list's ends off
    shown = [False] * (len(matcher.b) + 1)
    for group in matcher.get_grouped_opcodes(3):
        shown[group[0][3] : group[-1][4]] = [True] * (group[-1][4] - group[0][3])
    old = new = 0
    for lines, differ in blocks(matcher, everything):
        gone, come = [], []
        for a, b in lines:
            same = not differ or not (a or b)  # two blank lines have no pieces
            if a and not same:
                gone.append({"mark": "-", "old": old + 1, "pieces": a, "near": True})
            if b or same:
                come.append({"mark": " " if same else "+", "new": new + 1, "pieces": b, "near": differ or shown[new]})
            old, new = old + bool(a or same), new + bool(b or same)
        yield from gone + come


def as_data(step, before):
    texts = [each.path.read_text().splitlines() if each else [] for each in (before, step)]
    matcher = compare(*texts) if before else compare(texts[1], texts[1])
    code, comments = count(matcher)
    paths = [str(each.path.relative_to(project.ROOT)) if each else None for each in (step, before)]
    return {"number": step.number, "name": step.name, "path": paths[0], "before": paths[1], "code": code,
            "comments": comments, "rows": list(rows(matcher))}


def all_as_data():
    return {project.label(folder): [as_data(step, before) for step, before in steps_with_the_one_before(folder)]
            for folder in project.ladders()}


# ---- the command line


def table(folder):
    border = project.step_before(folder)
    after = f", which goes on from {project.short_name(border[0])} {border[1].name}" if border else ""
    print(f"{project.label(folder)}{after}")
    print(f"  {'step':28} lines  longest function  changed  and comments, blank lines")
    for step, before in steps_with_the_one_before(folder):
        lines = step.path.read_text().splitlines()
        text = f"  {step.number:2} {step.name:25} {len(lines):5}  {longest_function(lines) or '–':>16}"
        if before:
            code, comments = count(compare(before.path.read_text().splitlines(), lines))
            text += f"  {code:7}  {comments:23}"
            if len(lines) > LONG and code + comments > MANY:
                text += f"  ← over {LONG} lines, and over {MANY} changed"
        print(text)


def is_called(step, word):
    return word in (step.name, str(step.number), step.path.name, step.path.stem)


def find(folder, word, command="diff"):
    """The folder and the position of a step, by its name or number: in this ladder, or if it has none, in the one of
    its chapter's that has such a step. part/step names that ladder, too. For ./learn diff, or another command."""
    chapter = folder if re.match("[0-9]", folder.name) else folder.parent
    part, slash, name = word.rpartition("/")
    if slash:
        folder, word = (chapter / part).resolve(), name
        if folder not in project.ladders(chapter):
            die(f"{chapter.name} has no part '{part}'")
    having = [(place, i) for place in ([folder] if slash else project.ladders(chapter))
              for i, step in enumerate(project.steps(place)) if is_called(step, word)]
    here = [found for found in having if found[0] == folder]
    if here or len(having) == 1:
        return (here or having)[0]
    if having:
        die(f"'{word}' is a step of {' and of '.join(project.short_name(place) for place, _ in having)}: "
            f"say ./learn {command} {project.short_name(having[0][0])} {word}")
    names = [step.name for step in project.steps(folder)]
    hint = (f"it is a part, so say ./learn {command} {project.short_name(chapter)}/{word}, or "
            if folder == chapter and word in project.parts(chapter) else project.did_you_mean(word, names))
    return die(f"there is no step '{word}' in {project.label(folder)}; {hint}choose from {', '.join(names)}")


def main():
    project.program = "learn diff"
    usage = "./learn diff CHAPTER [STEP [OTHER]] [--kernel]"
    parser = argparse.ArgumentParser(prog="./learn diff", add_help=False, usage=usage)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("chapter", nargs="?")
    parser.add_argument("step", nargs="?")
    parser.add_argument("other", nargs="?")
    parser.add_argument("--kernel", action="store_true")
    words = parser.parse_intermixed_args()
    if words.json:
        json.dump(all_as_data(), sys.stdout)
        return
    if not words.chapter:
        parser.error("which chapter?")
    folder = project.find_ladder(words.chapter)
    if not words.step:
        for each in project.ladders(folder) if folder in project.chapters() else [folder]:
            table(each)
        return
    place, at = find(folder, words.step)
    step, before = list(steps_with_the_one_before(place))[at]
    if words.other:
        there, at = find(place, words.other)
        show(project.steps(there)[at], step, words.kernel)
    elif before:
        show(before, step, words.kernel)
    else:
        print(f"{step.name} is the first step: there is none before it.")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` is no error
    main()
