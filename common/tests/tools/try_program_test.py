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
        return subprocess.run([sys.executable, self.root / "common/tools/learn/try_program.py", "cpu", *words],
                              cwd=self.root, capture_output=True, text=True)

    def cmake_file(self, run):
        self.assertEqual(run.returncode, 0, run.stderr)
        return self.root / "build/cpu/try" / run.stdout.strip() / "CMakeLists.txt"

    def test_a_program_has_its_own_folder_and_keeps_it(self):
        first = self.run_tool("my.cu")
        file = self.cmake_file(first)
        self.assertIn(f'"{self.root}/my.cu"', file.read_text())
        self.assertIn(f"tutorial_program({first.stdout.strip()} ", file.read_text())
        written = file.stat().st_mtime_ns
        again = self.run_tool(str(self.root / "my.cu"))
        self.assertEqual(again.stdout, first.stdout)
        self.assertEqual(file.stat().st_mtime_ns, written)  # or CMake would configure again
        self.assertNotEqual(self.run_tool("my.cu", "more.cpp").stdout, first.stdout)

    def test_names_with_spaces(self):
        run = self.run_tool("a b.cu", "more.cpp")
        self.assertIn(f'"{self.root}/a b.cu"\n  "{self.root}/more.cpp"', self.cmake_file(run).read_text())
        self.assertRegex(run.stdout, r"^try_a_b_[0-9a-f]{8}\n$")

    def test_what_is_no_source_file_is_refused(self):
        for word, told in (("my.c", "its name must end in .cu"), ("none.cu", "there is no file none.cu"),
                           ("od$d.cu", "cannot be built")):
            run = self.run_tool(word)
            self.assertEqual((run.returncode, run.stderr.count("\n")), (2, 1), run.stderr)
            self.assertIn(told, run.stderr)
        self.assertFalse((self.root / "build").exists())


if __name__ == "__main__":
    unittest.main()
