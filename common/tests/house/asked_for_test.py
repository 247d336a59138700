#!/usr/bin/env python3
"""What a step asks global memory for stands in its list, and for readers in the head of its file: the same formula.

    .asked = by_tiles<16, 16>        {.loads = 4 * K * (M * ceil_div(N, BN) + N * ceil_div(M, BM)), .stores = 4 * M * N}
    // asked for       loads 4·K·(M·⌈N/16⌉ + N·⌈M/16⌉) bytes, stores 4·M·N bytes

In a file of several kernels it is "asked for by fill_kernel". What stands between "bytes" and "stores", and behind
them, is for readers alone.
"""
import re
import sys
import unittest
from pathlib import Path

sys.path[:0] = map(str, (Path(__file__).resolve().parents[2] / "tools").glob("**/"))
import project  # noqa: E402

STATED = re.compile(r"asked for(?: by (\w+))? +loads (.*?) bytes.*? stores (.*?) bytes")
FUNCTION = re.compile(r"(?:template <([^\n]*)>\n)?^(?:inline )?(?:std::vector<Asked>|Asked) (\w+)\([^;{}]*\) \{(.*?)^}", re.M | re.S)
ENTRY = re.compile(r"\{\s*(?:\.kernel = \"(\w*)\",\s*)?\.loads =\s+([^{}]*?),\s*\.stores =\s+([^{}]*?)\}")
CALL = re.compile(r"\b(\w+)(?:<([\w, ]+)>)?\(")
NAMED = re.compile(r"\.asked = (?:\w+::)*(\w+)(?:<([\w, ]+)>)?")


def as_stated(code):
    """4·K·⌈M/16⌉ from 4 * s.K * ceil_div(s.M, 16)."""
    text = re.sub(r"\b[a-z]+\.", "", re.sub(r"\s+", " ", code)).replace("( ", "(")
    while call := re.search(r"ceil_div\(((?:[^()]|\([^()]*\))*?), ((?:[^(),]|\([^()]*\))*)\)", text):
        above, below = (f"({part})" if sign in part else part for part, sign in zip(call.groups(), "+*"))
        text = text.replace(call[0], f"⌈{above}/{below}⌉")
    return text.replace(" * ", "·")


class Code:
    """The functions of a ladder that say what is asked for. Those of other ladders of its chapter count where its own
    code names them."""

    def __init__(self, folder):
        self.own, self.others, self.steps = functions(folder), {}, {}
        for ladder in project.ladders(project.chapter(project.label(folder)[:2])):
            self.others |= functions(ladder)
        for header in folder.glob("*.hpp"):
            for name, rest in re.findall(r"\{\.name = \"(\w+)\",(.*?)(?=\{\.name|^\};)", header.read_text(), re.M | re.S):
                self.steps[name] = NAMED.search(rest)

    def entries(self, name, arguments="", within=()):
        """(kernel, loads, stores) of a function and of those that it calls; of a template with its arguments, and with
        its parameters' names."""
        parameters, body = self.own.get(name) or self.others.get(name, ([], ""))
        values = dict(zip(parameters, (arguments or "").split(", ")))
        for kernel, *formulas in ENTRY.findall(body):
            for known in (values, {}):
                named = [re.sub(r"\w+", lambda word: known.get(word[0], word[0]), code) for code in formulas]
                yield (kernel, *map(as_stated, named))
        for called in CALL.findall(body):
            if called[0] not in (name, *within):
                yield from self.entries(*called, (name, *within))

    def of_step(self, name):
        return list(self.entries(*self.steps[name].groups()))

    def of_kernel(self, kernel):
        return [entry for name in self.own for entry in self.entries(name) if entry[0] == kernel]


def functions(folder):
    """name → (the names of a template's numbers, parameters and body)."""
    return {name: (re.findall(r"int (\w+)", template), body) for path in sorted(folder.glob("*.[ch]pp"))
            for template, name, body in FUNCTION.findall(path.read_text())}


def stated(path):
    """(kernel or "", loads, stores) of each formula in the head of a file."""
    head = re.match(r"(//.*\n)*", path.read_text())[0].replace("\n//", " ")
    return STATED.findall(re.sub(r"\s+", " ", head))


class AskedFor(unittest.TestCase):
    def test_every_step_says_it(self):
        for folder in project.ladders():
            code = Code(folder)
            for step in project.steps(folder):
                with self.subTest(f"{project.label(folder)}: {step.name}"):
                    self.assertIsNotNone(code.steps.get(step.name), "its entry in the list has no .asked")
                    self.assertTrue(code.of_step(step.name), "the function of its .asked is not found")
                    if "__global__" in step.path.read_text():
                        self.assertTrue(stated(step.path), "its head does not say what it asks for")

    def test_the_heads_say_what_the_code_says(self):
        files = 0
        for folder in project.ladders():
            code = Code(folder)
            for path in sorted(folder.glob("*.cu")):
                step = re.sub(r"^step\d+_", "", path.stem)
                formulas = stated(path)
                files += len(formulas) > 0
                for kernel, *formula in formulas:
                    with self.subTest(f"{project.label(folder)}/{path.name} {kernel}"):
                        said = code.of_kernel(kernel or only_kernel(path)) if kernel or step not in code.steps \
                            else code.of_step(step)
                        self.assertIn(formula, [list(entry[1:]) for entry in said])
                        if kernel:
                            self.assertEqual(len({entry[1:] for entry in said}), 1, f"{kernel} has several formulas")
        self.assertGreater(files, 100)


def only_kernel(path):
    return re.search(r"__global__ void(?: __launch_bounds__\(.*\))?\s+(\w+)\(", path.read_text())[1]


if __name__ == "__main__":
    unittest.main()
