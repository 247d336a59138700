#!/usr/bin/env python3
"""common/tools/learn/passed.py in a project of one chapter with two parts: which parts ./learn test NN runs again."""
import os
import subprocess
import time
import unittest

from scratch import Scratch


class Passed(Scratch):
    def setUp(self):
        super().setUp()
        self.write("01_a/step1_plain.cu")
        for part in ("fast", "wide"):
            self.write(f"01_a/{part}/step1_x.cu")
            self.write(f"01_a/{part}/main.cpp")
            self.built(part)
        self.write("build/cpu/01_a/01_a_tests")

    def write(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def built(self, part, seconds=-60):
        for program in ("", "_tests"):
            path = self.write(f"build/cpu/01_a/{part}/01_a_{part}{program}")
            os.utime(path, (time.time() + seconds,) * 2)

    def passed(self, *words):
        return subprocess.run([self.root / "common/tools/learn/passed.py", *words], capture_output=True, text=True,
                              check=True).stdout.split()

    def stamps(self):
        return sorted(path.name for path in self.root.glob("build/cpu/passed/01_a/*"))

    def test_after_a_green_run_of_all(self):
        self.passed("note", "cpu", "0", "")
        self.assertEqual(self.stamps(), ["fast", "road", "wide"])
        self.assertEqual(self.passed("changed", "cpu", "01_a", "fast", "wide"), [])
        self.built("wide", 60)
        self.assertEqual(self.passed("changed", "cpu", "01_a", "fast", "wide"), ["wide"])

    def test_only_what_ran_is_noted(self):
        self.passed("note", "cpu", "0", "^(01_a|01_a/wide)$")
        self.assertEqual(self.stamps(), ["road", "wide"])
        (self.root / "build/cpu/01_a/fast/01_a_fast").unlink()
        (self.root / "build/cpu/01_a/fast/01_a_fast_tests").unlink()
        self.passed("note", "cpu", "0", "")  # it is not even built
        self.assertEqual(self.stamps(), ["road", "wide"])

    def test_lines_that_changed_since(self):
        step = self.write("01_a/fast/step1_x.cu", "a\nb\nc\nd\ne\n")
        self.assertEqual(self.passed("lines", "cpu", ""), [])  # nothing has passed yet
        self.passed("note", "cpu", "0", "")
        self.assertEqual(self.passed("lines", "cpu", ""), [])
        step.write_text("a\nB\nc\nD\nE\n")
        self.write("01_a/wide/new.hpp", "a\nb\n")
        self.assertEqual(" ".join(self.passed("lines", "cpu", "")),
                         "Changed since the tests of 01_a/fast passed here: step1_x.cu:2, 4-5 "
                         "Changed since the tests of 01_a/wide passed here: new.hpp:1-2")
        step.write_text("b\nc\nd\ne\n")  # a line is gone
        self.assertEqual(self.passed("lines", "cpu", "^01_a/fast$")[-1], "step1_x.cu:1")

    def test_what_failed_is_not(self):
        self.write("build/cpu/Testing/Temporary/LastTestsFailed.log",
                   "3:01_a/wide: every shape\n7:01_a: x\n8:mistake 01_a/fast: y\n")
        self.passed("note", "cpu", "8", "")
        self.assertEqual(self.stamps(), [])
        self.write("build/cpu/Testing/Temporary/LastTestsFailed.log", "3:01_a/wide: every shape\n")
        self.passed("note", "cpu", "8", "")
        self.assertEqual(self.stamps(), ["fast", "road"])

    def test_which_steps_were_edited(self):
        def made(name, seconds):
            path = self.write(f"build/cpu/{name}")
            os.utime(path, (time.time() + seconds,) * 2)
        step = "01_a/CMakeFiles/01_a_steps.dir/step1_plain.cu.cpp.o"
        tests = "01_a/CMakeFiles/01_a_tests.dir/tests.cpp.o"
        made(step, -60)
        self.assertEqual(self.passed("edited", "cpu", "01_a"), ["all"])  # it never passed
        self.assertEqual(self.passed("edited", "cpu"), [])
        self.passed("note", "cpu", "0", "")
        self.assertEqual(self.passed("edited", "cpu", "01_a"), [])
        made("01_a/fast/CMakeFiles/01_a_fast_steps.dir/step1_x.cu.o", 60)
        made("01_a/CMakeFiles/01_a_mistake_y.dir/step1_y.cu.cpp.o", 60)
        self.assertEqual(self.passed("edited", "cpu", "01_a"), [])
        self.assertEqual(self.passed("edited", "cpu", "01_a/fast"), ["x"])
        made(step, 60)
        self.assertEqual(self.passed("edited", "cpu", "01_a"), ["plain"])
        self.assertEqual(self.passed("edited", "cpu", "01_a", "01_a/fast"), ["plain,x"])
        made(tests, 60)
        self.assertEqual(self.passed("edited", "cpu", "01_a"), ["all"])
        self.assertEqual(self.passed("edited", "cpu"), ["plain,x"])
        made("common/CMakeFiles/a.dir/a.o", 60)
        self.assertEqual(self.passed("edited", "cpu", "01_a/fast"), ["all"])

    def test_without_a_log_nothing_is_noted(self):
        self.passed("note", "cpu", "1", "")
        self.assertEqual(self.stamps(), [])


if __name__ == "__main__":
    unittest.main()
