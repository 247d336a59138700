#!/usr/bin/env python3
"""common/tools/mutants/mutate.py: what names a mutant, and what the end of a run says. (CI makes and judges some.)"""
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "tools/mutants"), str(Path(__file__).resolve().parents[2] / "tools")]
import mutate

KERNEL = "int i = a + b;\nint j = a + b;\nint j = a + b;\n"


class Names(unittest.TestCase):
    def named(self, text, seed=3):
        """The names of the mutants that make each + of the text a -."""
        with tempfile.TemporaryDirectory(dir=mutate.project.ROOT / "build") as folder:
            file = Path(folder) / "step.cu"
            file.write_text(text)
            sites = [{"file": str(file), "kind": "operator", "start": at, "end": at + 1, "new": "-"}
                     for at, letter in enumerate(text) if letter == "+"]
            relative = mutate.os.path.relpath
            mutate.os.path.relpath = lambda *_: "01/step.cu"  # the folder has another name each time
            self.addCleanup(setattr, mutate.os.path, "relpath", relative)
            mutate.name_sites(sites, seed)
            return [site["name"] for site in sites]

    def test_each_has_its_own_even_on_equal_lines(self):
        self.assertEqual(len(set(self.named(KERNEL))), 3)

    def test_an_edit_elsewhere_leaves_them(self):
        self.assertEqual(self.named("// a head\n" + KERNEL), self.named(KERNEL))
        self.assertEqual(self.named(KERNEL.replace("i = a", "i = c"))[1:], self.named(KERNEL)[1:])

    def test_another_line_or_seed_has_others(self):
        self.assertNotEqual(self.named(KERNEL.replace("i = a", "i = c"))[0], self.named(KERNEL)[0])
        self.assertFalse(set(self.named(KERNEL, seed=4)) & set(self.named(KERNEL)))


class Changed(unittest.TestCase):
    @staticmethod
    def mutant(file):
        path = mutate.project.ROOT / file
        return mutate.Mutant({"name": "0", "file": str(path), "kind": "constant", "start": 0, "end": 0, "new": ""}, 3)

    def test_the_program_changes_with_a_header_that_it_includes(self):
        with tempfile.TemporaryDirectory() as folder:
            mutant = self.mutant("06_flash_attention/tensor_cores/bf16_program.hpp")
            mutant.apply(Path(folder))
            self.assertEqual(mutant.program(), "tensor_cores/main.cpp")
            text = (Path(folder) / mutant.program()).read_text()
        self.assertRegex(text, r'\nint program_main\(int argc, char\*\* argv\)')
        self.assertNotIn("int main(", text)

    def test_and_not_with_a_file_of_its_library(self):
        mutant = self.mutant("02_tiled_matmul/few_rows/asked.cpp")
        self.assertEqual((mutant.touched(), mutant.program()), (["few_rows/asked.cpp"], ""))


class Late(unittest.TestCase):
    class Endless:
        """A mutant whose tests begin a program, and wait for it."""

        def __init__(self, folder):
            self.program, self.script = Path(folder) / "program", Path(folder) / "tests"
            self.script.write_text(f"#!/bin/sh\necho begun\nsleep 60 &\necho $! > {self.program}\nwait\n")
            self.script.chmod(0o755)

        def tests(self):
            return self.script

    def test_nothing_goes_on_after_its_time(self):
        self.addCleanup(setattr, mutate, "SECONDS", mutate.SECONDS)
        mutate.SECONDS = 1
        with tempfile.TemporaryDirectory() as folder:
            endless = self.Endless(folder)
            self.assertEqual(mutate.run_tests(endless), ("late", "begun\n", ""))
            status = Path(f"/proc/{endless.program.read_text().strip()}/stat")
        for _ in range(100):  # killed, it may still wait for somebody to ask how it ended
            if not status.exists() or status.read_text().split()[2] == "Z":
                return
            time.sleep(0.05)
        self.fail("the program goes on")


class Summary(unittest.TestCase):
    @staticmethod
    def said(*rows):
        return "\n".join(mutate.summary([{**dict.fromkeys(mutate.COLUMNS, ""), "file": "01/step.cu", "line": 7, "kind": "operator",
                                          "old": "+", "new": "-", **row} for row in rows]))

    def test_survivors_that_are_equal_in_effect_do_not_count(self):
        said = self.said({"verdict": "caught", "named": "near"}, {"verdict": "caught", "named": "no"},
                         {"verdict": "caught", "named": "near"}, {"verdict": "survived"},
                         {"verdict": "survived", "judgement": "equal: the size is even"}, {"verdict": "does not compile"})
        self.assertIn("6 mutants: 1 do not compile, 3 caught, 2 survived", said)
        self.assertIn("caught 75.0 %, of these 66.7 % with a line within 3", said)
        self.assertIn("not counted: 1 that are equal", said)
        self.assertEqual(said.count("01/step.cu:7"), 1)

    def test_none_that_was_caught_is_said_without_a_share(self):
        self.assertEqual(self.said({"verdict": "does not compile"}), "1 mutants: 1 do not compile, 0 caught, 0 survived")


if __name__ == "__main__":
    unittest.main()
