#!/usr/bin/env python3
"""common/tools/mistakes/mistakes.py and `./learn break` in a project of one small chapter: what they must do, what they must
refuse, and in which words. Programs of two lines stand in for the test programs."""
import os
import re
import subprocess
import sys
import unittest

from scratch import Scratch

FIRST = """\
# A comment
[first]
name: the mistake first
seen: nothing good
check: race
line: step1.cu: sum += As[ty][k]
tests: every*
file: step1.cu
old:
|__syncthreads();
new:
"""
SECOND = """
[second]
name: the mistake second
seen: nothing good
check: value
says: the last row
tests: every*
file: words.cuh
old:
|two
new:
|spoiled by second
old:
|four
|five
new:
|spoiled, too
"""
STEP1 = "int a;\n__syncthreads();\nsum += As[ty][k];\nlaunch();\n"
RACE = "race in k, shared memory As\n  read by    block (0,0) thread (0,3)  step1.cu:{}   text\n"
WRONG = ("testing.cpp:1: failed: 'x' and '  7 of 9 elements are out of bound; the worst is C[1][0]: {}, want 2, "
         "bound 1\n  likely: {}\n'\n")
REFUSED = "testing.cpp:1: failed: '/x/step1.cu:4: launch: invalid (cudaError{})'\n"


class Project(Scratch):
    def setUp(self):
        super().setUp()
        self.write("01_a/mistakes.txt", FIRST + SECOND)
        self.write("01_a/step1.cu", STEP1)
        self.write("01_a/step2.cu", '#include "words.cuh"\n')
        self.write("01_a/words.cuh", "one\ntwo\nthree\nfour\nfive\n")
        self.write("01_a/part/step1.cu", '#include "part/part.cuh"\n')
        self.write("01_a/part/step2_last.cu", "")
        self.write("01_a/part/part.cuh", '#include "words.cuh"\n')
        self.write("01_a/tests.cpp", '#include "words.cuh"\nTEST_CASE("every step is right") {}\n')
        self.write("01_a/part/tests/steps.cpp", 'TEST_CASE(\n    "every step of the part "\n    "is right") {}\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, name):
        return (self.root / name).read_text()

    def edit(self, name, old, new):
        self.assertIn(old, self.read(name))
        self.write(name, self.read(name).replace(old, new))

    def files(self, folder):
        return sorted(str(path.relative_to(self.root)) for path in (self.root / folder).rglob("*") if path.is_file())

    def expect(self, status, text, *words, program=None):
        program = program or [sys.executable, "common/tools/mistakes/mistakes.py"]
        ran = subprocess.run([*program, *words], cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             encoding="utf-8", errors="replace", env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertIn(text, ran.stdout)
        self.assertEqual(status, ran.returncode, ran.stdout)


class Lists(Project):
    def test_what_is_well_is_accepted(self):
        self.expect(0, "2 mistakes are as they should be", "validate")
        self.expect(0, "01_a\n  first ", "list", "1")
        self.expect(2, "there is no chapter '2'", "list", "2")
        self.expect(0, "first step1.cu\nsecond step2.cu words.cuh\n", "cmake", "01_a/mistakes.txt")

    def test_an_entry_that_is_not_complete_is_refused(self):
        for old, new, problem in (
                ("name:.*\n", "", "has no line name:"),
                ("seen:.*\n", "", "has no line seen:"),
                ("check:.*\n", "", "has no line check:"),
                ("tests:.*\n", "", "has no line tests:"),
                ("file:.*\n", "", "has no line file:"),
                ("line:.*\n", "", "has check: race, which needs a line line: and no line says:"),
                ("line:", "says: a race\nline:", "has check: race, which needs a line line: and no line says:"),
                ("check: value\nsays:.*", "check: value", "which needs a line says: and no line line:"),
                ("check: race", "check: luck", "has check: luck, which is none of race, init"),
                ("line: .*", "line: somewhere", "has a line: that is not a file"),
                ("sum [+]=", "sum -=", "has a line: that is not there: step1.cu has no sum -= As[ty][k]"),
                ("line: step1", "line: step9", "has a line: that is not there: step9.cu has no sum += As[ty][k]"),
                ("seen:", "remark: x\nseen:", "none of name seen check line says tests file old new: remark: x"),
                ("seen:", "name: two\nseen:", "has two lines name:"),
                ("seen:.*", "seen:", "has nothing behind seen:"),
                (r"\[first\]", "[First]", "small letters, digits and _"),
                (r"\[second\]", "[first]", "[first] has the same name as [first] in 01_a/mistakes.txt"),
                ("mistake second", "mistake first", "[second] has the same name as [first] in 01_a/mistakes.txt"),
                ("tests: every.*", "tests: every stage*", "[first] has tests: every stage*, which names no test"),
                ("tests: every.*", "tests: every step", "[first] has tests: every step, which names no test"),
                ("tests: every.*", "tests: *of the part is right", "which names no test"),  # another program's
                ("file: step1.cu", "file: ../b/step1.cu", "[first] changes ../b/step1.cu, and there is no such source"),
                ("file: step1.cu", "file: step3.cu", "[first] changes step3.cu, and there is no such source"),
                ("file: step1.cu", "file: mistakes.txt", "[first] changes mistakes.txt, and there is no such source"),
                ("old:\n.*sync.*\nnew:\n", "", "has not an old: and a new: for each change"),
                ("new:\n\n", "\n", "has not an old: and a new: for each change"),
                ("sync", "sink", "[first] does not fit step1.cu: its old text should be there once, "
                                 "and is there 0 times: __sinkthreads();"),
                (r"\|__sync.*", "|s", "is there 4 times: s"),
                ("# A comment", "name: x", "01_a/mistakes.txt: a line comes before the first [entry]: name: x")):
            with self.subTest(problem):
                self.write("01_a/mistakes.txt", re.sub(old, new, FIRST + SECOND, count=1))
                self.expect(1, problem, "validate")

    def test_a_list_of_what_a_program_shows(self):
        held = "01_a/part/road_mistakes.txt"
        for text, problem in (("first shows\n", "01_a/part/road_mistakes.txt has no line: second"),
                              ("first shows\nsecond hides\n", "says neither shows nor cannot: and why: second"),
                              ("# x\nfirst shows\nsecond cannot: why\nthird shows\n", "no mistake of the road: third")):
            with self.subTest(problem):
                self.write(held, text)
                self.expect(1, problem, "validate")
        self.write(held, "first shows\nsecond cannot: it has no words\n")
        self.expect(0, "2 mistakes are as they should be", "validate")
        dates = [f"2026-11-{day}" for day in range(10, 30)]  # each day others of twenty
        samples = [subprocess.run([sys.executable, "common/tools/mistakes/mistakes.py", "sample", date], cwd=self.root,
                                  capture_output=True, text=True).stdout for date in dates]
        self.assertEqual(sorted("".join(samples).splitlines()),
                         ["01_a_mistake_first\tmistake 01_a: first", "01_a_mistake_second\tmistake 01_a: second",
                          "01_a_part_mistake_writes_first\tmistake 01_a/part: writes_first"])

    def test_a_list_of_a_part(self):
        self.write("01_a/part/mistakes.txt", SECOND.replace("two", "#include").replace("words", "part")
                   .replace("old:\n|four\n|five\nnew:\n|spoiled, too\n", ""))
        self.expect(1, "[second] has the same name as [second] in 01_a/mistakes.txt", "validate")
        self.edit("01_a/part/mistakes.txt", "second", "third")
        self.expect(0, "3 mistakes are as they should be", "validate")
        self.expect(0, "third part/part.cuh part/step1.cu\n", "cmake", "01_a/part/mistakes.txt")
        self.expect(0, "01_a/part\n  third ", "list")
        self.expect(0, "01_a/part\n  third ", "list", "1/part")
        self.expect(0, "", "apply", "01_a/part/mistakes.txt", "third", "built")
        self.assertIn("spoiled by third", self.read("built/part/part.cuh"))


class Apply(Project):
    def apply(self, status, text):
        self.expect(status, text, "apply", "01_a/mistakes.txt", "second", "built")

    def test_what_is_written(self):
        self.apply(0, "")
        self.assertEqual("one\nspoiled by second\nthree\nspoiled, too\n", self.read("built/words.cuh"))
        self.assertEqual(["built/step2.cu", "built/words.cuh"], self.files("built"))
        self.write("built/tests", "the program")
        self.apply(0, "")
        self.assertEqual("the program", self.read("built/tests"))  # nothing has changed
        self.edit("01_a/words.cuh", "one", "1")
        self.apply(0, "")
        self.assertNotIn("built/tests", self.files("built"))

    def test_of_one_that_no_longer_fits_nothing_stays(self):
        self.apply(0, "")
        self.write("built/tests", "the program")
        self.edit("01_a/words.cuh", "two", "2")
        self.apply(1, "01_a/mistakes.txt: [second] does not fit words.cuh")
        self.assertEqual([], self.files("built"))


class Check(Project):
    def check(self, name, status, text, out="", err="", end="exit 42"):
        self.write("built/step1.cu", STEP1)
        self.write("out", out)
        self.write("err", err)
        self.write("built/tests", f"#!/bin/sh\ncat out; cat err >&2\n{end}\n")
        (self.root / "built/tests").chmod(0o755)
        self.expect(status, text, "check", "01_a/mistakes.txt", name, "built/tests")

    def test_a_report_that_names_a_line(self):
        self.check("first", 0, "caught by a race report", err=RACE.format(3))
        self.check("first", 1, "but all tests passed", err=RACE.format(3), end="exit 0")
        self.check("first", 1, "crashed (signal 11)", err=RACE.format(3), end="kill -SEGV $$")
        self.check("first", 1, "name other lines: 2   __syncthreads();", err=RACE.format(2))
        self.check("first", 1, "name other lines: 33", err=RACE.format(33))
        in_another_report = RACE.format(3).replace("race", "init") + RACE.format(1)
        self.check("first", 1, "name other lines: 1   int a;", err=in_another_report)
        self.check("first", 1, "but only bounds spoke", err=RACE.format(3).replace("race", "bounds"))
        self.check("first", 1, "but no check spoke")
        self.check("first", 1, "but only value spoke", out=WRONG.format("got 1", "a race"))

    def test_programs_that_say_nothing_of_it(self):
        failed = "x.cpp:1: failed: y\n"  # the rest is not waited for
        self.check("first", 0, "caught by a race report", out=failed, err=RACE.format(3), end="exec sleep 9")
        self.check("first", 1, "tests: every* names no test", out='No test cases matched "every*"\n')
        os.environ["CHECK_MISTAKE_SECONDS"] = "0.2"
        self.addCleanup(os.environ.pop, "CHECK_MISTAKE_SECONDS")
        self.check("first", 1, "took longer than 0.2 seconds", end="exec sleep 9")
        (self.root / "built/tests").unlink()
        self.expect(1, "it was not built", "check", "01_a/mistakes.txt", "first", "built/tests")
        self.edit("01_a/step1.cu", "sync", "sink")
        self.expect(1, "does not fit step1.cu", "check", "01_a/mistakes.txt", "first", "built/tests")

    def test_a_line_of_common(self):
        self.edit("01_a/mistakes.txt", "line: step1.cu: sum += As[ty][k]", "line: reduce.cuh: slots[warp] = value")
        self.write("common/kernel/reduce.cuh", "slots[warp] = value;\n")
        self.check("first", 0, "caught by a race report", err=RACE.format(1).replace("step1.cu", "reduce.cuh"))

    def test_other_kinds_that_name_a_line(self):
        self.edit("01_a/mistakes.txt", "check: race\nline: step1.cu: sum += As[ty][k]",
                  "check: barrier\nline: step1.cu: int a")
        self.check("first", 0, "caught by a barrier report",
                   err="barrier in k, block (0,1)\n  9 threads wait at __syncthreads()  step1.cu:1  first: (0,0)\n")
        self.edit("01_a/mistakes.txt", "check: barrier\nline: step1.cu: int a",
                  "check: launch\nline: step1.cu: launch()")
        self.check("first", 0, "caught by a launch report", out=REFUSED.format("InvalidConfiguration"))
        self.check("first", 1, "but no check spoke", out=REFUSED.format("LaunchFailure"))  # so ends each report

    def test_a_comparison(self):
        self.check("second", 0, "caught by a comparison", out=WRONG.format("got 1.5", "the last row is lost"))
        self.check("second", 1, "but it says: likely: a column", out=WRONG.format("got -1.5", "a column"))
        beside_the_report = WRONG.format("got 1.5", "a column") + "the last row\n"
        self.check("second", 1, "but it says: likely: a column", out=beside_the_report)
        nan, poison = WRONG.format("got nan", "the last row"), WRONG.format("got nan (never written)", "the last row")
        self.check("second", 1, "but only nan spoke", out=nan)
        self.edit("01_a/mistakes.txt", "check: value", "check: nan")
        self.check("second", 0, "caught", out=nan)
        self.check("second", 1, "but only poison spoke", out=poison)
        self.edit("01_a/mistakes.txt", "check: nan", "check: poison")
        self.check("second", 0, "caught", out=poison)


class Break(Project):
    def learn(self, status, text, *words):
        self.expect(status, text, *words, program=["./learn"])

    def test_what_it_refuses(self):
        self.learn(2, "there is no broken/ yet", "break", "--reveal")
        self.learn(2, "there is no broken/ yet", "test", "broken")
        self.learn(2, "break which chapter?", "break")
        self.learn(2, "unrecognized arguments: 02", "break", "01", "02")
        self.learn(2, "there is no chapter '9'", "break", "9")
        self.learn(2, "--seed: invalid int value", "break", "--seed", "one", "01")
        self.learn(2, "unrecognized arguments: --sedd", "break", "--sedd", "01")
        self.write("broken/mine", "")
        self.learn(2, "was not made by ./learn break", "break", "--again", "01")
        self.assertEqual(["broken/mine"], self.files("broken"))

    def test_what_it_makes(self):
        self.write("01_a/exercises/1_one/task.md", "")  # what no one looks for a mistake in is not copied
        self.learn(0, "broken/ is now a copy of 01_a", "break", "--seed", "4", "01")
        self.assertEqual(STEP1.replace("__syncthreads();", ""), self.read("broken/step1.cu"))
        self.assertEqual(["broken/.mistake"] + [name.replace("01_a", "broken") for name in self.files("01_a")
                                                if not name.endswith(("mistakes.txt", "task.md"))], self.files("broken"))
        for name in self.files("broken"):
            self.assertNotIn("mistake", self.read(name))
        self.learn(0, "this mistake: the mistake first", "break", "--reveal")
        self.learn(0, "\n-__syncthreads();\n+\n", "break", "--reveal")

        self.learn(0, "copy of 01_a", "break", "--seed", "5", "1")  # as nothing was edited, it may go
        self.assertIn("spoiled by second", self.read("broken/words.cuh"))
        self.write("broken/part/step1.cu", "edited")
        self.learn(2, "broken/ has your edits", "break", "--seed", "4", "01")
        self.assertEqual("edited", self.read("broken/part/step1.cu"))
        self.learn(0, "this mistake: the mistake second", "break", "--reveal")
        self.learn(0, "copy of 01_a", "break", "--seed", "4", "--again", "01")
        self.assertNotIn("sync", self.read("broken/step1.cu"))

    def test_a_chapter_that_was_edited(self):
        self.write("01_a/step1.cu", "the learner's own work")
        self.learn(0, "copy of 01_a", "break", "--seed", "4", "01")
        self.assertIn("spoiled by second", self.read("broken/words.cuh"))
        self.write("01_a/words.cuh", "the learner's own work")
        self.learn(2, "no mistake fits 01_a", "break", "--again", "01")


if __name__ == "__main__":
    unittest.main()
