#!/usr/bin/env python3
"""common/tools/learn/progress.py: what it shows of what ninja, make and ctest say."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRESS = Path(__file__).resolve().parents[2] / "tools/learn/progress.py"

NINJA = """\
[0/2] Re-checking globbed directories...
[1/3] Translating step1.cu
[2/3] Building CXX object a/CMakeFiles/a.dir/step1.cu.cpp.o
/a/step1.cu:7:3: warning: odd
    7 |   x
      |   ^

[3/3] Linking CXX executable a/a
"""
NINJA_FAILS = """\
[1/3] Building CXX object a/CMakeFiles/a.dir/main.cpp.o
FAILED: a/CMakeFiles/a.dir/step1.cu.cpp.o
/usr/bin/c++ -O2 -o a/CMakeFiles/a.dir/step1.cu.cpp.o -c /a/step1.cu.cpp
/a/step1.cu:7:3: error: no
ninja: build stopped: subcommand failed.
"""
MAKE_FAILS = """\
-- Configuring done
Consolidate compiler generated dependencies of target a
[ 50%] Building CXX object a/CMakeFiles/a.dir/main.cpp.o
/a/main.cpp:7:3: error: no
make[2]: *** [a/CMakeFiles/a.dir/build.make:76: a/CMakeFiles/a.dir/main.cpp.o] Error 1
make[1]: *** [CMakeFiles/Makefile2:83: a/CMakeFiles/a.dir/all] Error 2
make: *** [Makefile:91: all] Error 2
"""
CTEST = """\
Test project {folder}
      Start  1: a: one
      Start  2: a: two
 1/3 Test  #2: a: two ...........................   Passed    0.10 sec
      Start  3: a: three
 2/3 Test  #1: a: one ...........................{one}    0.20 sec
 3/3 Test  #3: a: three .........................***Skipped   0.01 sec

{percent} tests passed, {failed} tests failed out of 3

Label Time Summary:
a    =   0.31 sec*proc (3 tests)

Total Test time (real) =   0.31 sec

The following tests did not run:
\t  3 - a: three (Skipped)
"""


class Progress(unittest.TestCase):
    def shown(self, said, status=0, program="cmake"):
        with tempfile.TemporaryDirectory() as folder:
            fake = Path(folder, program)
            Path(folder, "said").write_text(said.replace("{folder}", folder))
            Path(folder, "Testing/Temporary").mkdir(parents=True)
            Path(folder, "Testing/Temporary/LastTest.log").write_text(
                "skipped 2 times: needs a clock\n...\nskipped step cluster: needs sm_90\nskipped 1 time: needs a clock\n"
                "skipped step cluster: needs sm_90\nskipped step tma: needs sm_90a\n")
            fake.write_text(f"#!/bin/sh\ncat {folder}/said\nexit {status}\n")
            fake.chmod(0o755)
            done = subprocess.run([sys.executable, PROGRESS, fake], capture_output=True, text=True)
        self.assertEqual(done.returncode, status)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def test_builds(self):
        self.assertEqual(self.shown("[0/2] Re-checking globbed directories...\nninja: no work to do.\n"), "")
        self.assertEqual(self.shown("[100%] Built target a\n"), "")
        self.assertEqual(self.shown(NINJA), "/a/step1.cu:7:3: warning: odd\n    7 |   x\n      |   ^\n\n"
                                            "built 1 file in 0 s\n")
        self.assertEqual(self.shown(NINJA_FAILS, 1), "/a/step1.cu:7:3: error: no\n")
        self.assertEqual(self.shown(MAKE_FAILS, 2), "/a/main.cpp:7:3: error: no\n")

    def test_a_failure_is_never_silent(self):
        self.assertEqual(self.shown("-- Check for working CXX compiler\n", 1), "-- Check for working CXX compiler\n")
        self.assertIn("no rule", self.shown("make: *** no rule to make target 'x'.  Stop.\n", 2))

    def test_tests_that_pass(self):
        self.assertEqual(
            self.shown(CTEST.format(folder="{folder}", one="   Passed", percent="100%", failed=0), program="ctest"),
            """\
Skipped, which is no pass:
  step cluster: needs sm_90 (in 2 tests)
  step tma: needs sm_90a (in 1 test)
  2 tests: needs a clock
Total Test time (real) =   0.31 sec
100% tests passed, 0 tests failed out of 3
""")

    def test_the_closing_line_of_a_newer_ctest(self):
        said = CTEST.format(folder="{folder}", one="   Passed", percent="100%", failed=0)
        shown = self.shown(said.replace("passed, 0 tests failed out", "passed out"), program="ctest")
        self.assertTrue(shown.endswith("\nTotal Test time (real) =   0.31 sec\n100% tests passed out of 3\n"))

    def test_tests_that_fail(self):
        said = CTEST.format(folder="{folder}", one="***Failed ", percent="67%", failed=1)
        said = said.replace("0.20 sec\n", "0.20 sec\nC[0][1] is wrong\n\n  see block (0,0)\n")
        said += "\nThe following tests FAILED:\n\t  1 - a: one (Failed)\nErrors while running CTest\n"
        shown = self.shown(said, 8, program="ctest")
        self.assertTrue(shown.startswith("FAILED  a: one\nC[0][1] is wrong\n  see block (0,0)\n"))
        self.assertNotIn("a: two", shown)
        self.assertIn("The following tests FAILED:\n\t  1 - a: one (Failed)\n", shown)
        self.assertTrue(shown.endswith("\n67% tests passed, 1 tests failed out of 3\n"))

    def failing(self, *outputs):
        """What is shown of tests that fail and say this."""
        said = "Test project {folder}\n"
        for i, output in enumerate(outputs, 1):
            said += f" {i}/9 Test  #{i}: a: test {i} ......***Failed    0.20 sec\n{output}\n"
        return self.shown(said, 8, program="ctest").partition("Skipped, which")[0]

    def test_a_finding_is_shown_once(self):
        race = "race in k, shared memory As[{0}]\n  read by block (0,{0})  a.cu:7   x\n  seen {0} times\n"
        other = race.replace("a.cu:7", "a.cu:8")
        shown = self.failing("device: CPU\n" + race.format(1) + "FAILED  test 1\n  M=3: race, a.cu:7, above\n",
                             race.format(2) + other.format(3) + "FAILED  test 2\n  M=4: race, a.cu:7, above\n")
        self.assertEqual(shown, race.format(1) + "FAILED  test 1\n  M=3: race, a.cu:7, above\n" +
                         other.format(3) + "FAILED  test 2\n  M=4: race, a.cu:7, above\n")

    def test_a_screen_is_enough(self):
        shown = self.failing(*["\n".join(f"line {i}" for i in range(50))] * 3).splitlines()
        self.assertEqual(len(shown), 61)
        self.assertRegex(shown[-1], "^… and 9[0-9] lines more: .*LastTest.log has all$")


if __name__ == "__main__":
    unittest.main()
