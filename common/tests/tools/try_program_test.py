#!/usr/bin/env python3
"""common/tools/learn/try_program.py: the CMakeLists.txt that it leaves for a program, and what it refuses."""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"


class TryProgram(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copytree(TOOLS, self.root / "common/tools")
        for name in ("my.cu", "a b.cu", "more.cpp", "my.c", "od$d.cu"):
            (self.root / name).write_text("")

    def run_tool(self, *words):
        return subprocess.run([sys.executable, self.root / "common/tools/learn/try_program.py", "cpu", ".", *words],
                              cwd=self.root, capture_output=True, text=True)

    def cmake_file(self, run):
        self.assertEqual(run.returncode, 0, run.stderr)
        return self.root / "build/cpu/try" / run.stdout.split()[0] / "CMakeLists.txt"

    def test_a_program_has_its_own_folder_and_keeps_it(self):
        first = self.run_tool("my.cu")
        file = self.cmake_file(first)
        self.assertIn(f'"{self.root}/my.cu"', file.read_text())
        self.assertIn(f"tutorial_program({first.stdout.split()[0]} ", file.read_text())
        written = file.stat().st_mtime_ns
        again = self.run_tool(str(self.root / "my.cu"))
        self.assertEqual(again.stdout, first.stdout)
        self.assertEqual(file.stat().st_mtime_ns, written)  # or CMake would configure again
        self.assertNotEqual(self.run_tool("my.cu", "more.cpp").stdout, first.stdout)

    def test_names_with_spaces(self):
        run = self.run_tool("a b.cu", "more.cpp")
        self.assertIn(f'"{self.root}/a b.cu"\n  "{self.root}/more.cpp"', self.cmake_file(run).read_text())
        self.assertRegex(run.stdout, r"^try_a_b_[0-9a-f]{8} 2\n$")

    def test_what_is_no_source_file_is_refused(self):
        for word, told in (("my.c", "its name must end in .cu"), ("none.cu", "there is no file none.cu"),
                           ("od$d.cu", "cannot be built")):
            run = self.run_tool(word)
            self.assertEqual((run.returncode, run.stderr.count("\n")), (2, 1), run.stderr)
            self.assertIn(told, run.stderr)
        self.assertFalse((self.root / "build").exists())

    def test_what_follows_the_files_is_the_programs(self):
        for words, used in ((("my.cu", "10", "more.cpp"), 1), (("my.cu", "-n", "5"), 1), (("my.cu", "--", "more.cpp"), 2),
                            (("-DN=1", "-D", "M", "my.cu", "more.cpp", "-I", "x"), 5)):
            self.assertEqual(self.run_tool(*words).stdout.split()[1], str(used), words)

    def test_options_of_nvcc(self):
        (self.root / "in clude").mkdir()
        run = self.run_tool("-I", "in clude", "-DN=64", "-U", "M", '-DNAME="a b"', "-O3", "-arch=sm_90", "-o", "out",
                            "--use_fast_math", "-lcublas", "my.cu")
        text = self.cmake_file(run).read_text()
        self.assertIn(f"INCLUDE [==[{self.root}/in clude]==]\n", text)
        self.assertIn('OPTIONS [==[-DN=64]==] [==[-UM]==] [==[-DNAME="a b"]==])', text)
        self.assertRegex(run.stderr, r"^note: -O3, -arch=sm_90, -o out, --use_fast_math, -lcublas: not used here; .*\n$")
        self.assertNotEqual(run.stdout, self.run_tool("-DN=65", "my.cu").stdout)
        (self.root / "my.cu").write_text("#define N 1000\n")
        run = self.run_tool("--set", "N=2*32", "--set=M=1", "-Xcompiler", "-fopenmp", "my.cu")
        self.assertIn("OPTIONS [==[-fopenmp]==]\n  SET [==[N=2*32]==] [==[M=1]==])", self.cmake_file(run).read_text())
        self.assertEqual(run.stderr, "note: --set M=1: none of the files gives M a value; a header may\n")
        for words, told in ((("--set", "N", "my.cu"), "as in --set N=64"), (("-I", "none", "my.cu"), "there is no such folder"), (("--use_fast_maht", "my.cu"), "did you mean"),
                            (("-D", "A;B", "my.cu"), "cannot be built"), (("-O3",), "a source file is wanted"),
                            (("-I",), "wants a word behind it")):
            run = self.run_tool(*words)
            self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (2, "", 1), run.stderr)
            self.assertIn(told, run.stderr)


if __name__ == "__main__":
    unittest.main()
