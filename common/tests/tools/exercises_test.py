#!/usr/bin/env python3
"""The exercises' folders hold what CONTRIBUTING.md asks for; common/tools/learn/exercises.py keeps what a learner did."""
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = map(str, (ROOT / "common/tools").glob("**/"))
import exercises  # noqa: E402
import page_rules  # noqa: E402

FILES = {"task.md", "exercise.hpp", "solution.cu", "tests.cpp"}
FEWEST, LEAST_LINES, MOST_LINES, MOST_OF_A_KERNEL = 2, 3, 15, 60


class EveryExercise(unittest.TestCase):
    def test_each_chapter_has_some(self):
        of = [one.chapter for one in exercises.exercises()]
        for chapter in exercises.project.chapters():
            self.assertGreaterEqual(of.count(chapter.name), FEWEST, chapter.name)

    def test_names_are_clear(self):
        shorts = [one.short for one in exercises.exercises()]
        self.assertEqual(len(shorts), len(set(shorts)), "two exercises have one name")

    def test_it_is_complete(self):
        for one in exercises.exercises():
            with self.subTest(one.name):
                self.assertEqual({path.name for path in one.folder.iterdir()} - {"mine.cu"}, FILES)
                self.assertTrue(one.title and one.text)
                self.assertEqual(len(one.hints), 3)
                self.assertTrue(all(len(hint) > 40 for hint in one.hints))

    def test_what_a_task_names_of_a_page_is_there(self):
        """The page: [docs/NAME.md](...), "a heading" and step 2."""
        for one in exercises.exercises():
            with self.subTest(one.name):
                found = re.search(r"The page:\s*\[[^]]*\]\(([^)]*)\)(.*?)(?=\n\n|\Z)", one.text, re.S)
                headings = re.findall(r"^#+ +(.*)$", page_rules.blanked(page_rules.CODE, (one.folder / found[1]).read_text()),
                                      re.M)
                said = " ".join(found[2].split())
                named = re.findall(r'"([^"]+)"', said)
                for steps in re.findall(r"\bsteps? ((?:\d+(?:, | and )?)+)", said):
                    named += [f"Step {number}" for number in re.findall(r"\d+", steps)]
                for name in named:
                    self.assertTrue(any(re.match(rf"{re.escape(name)}\b", heading) for heading in headings), name)

    def test_a_gap_is_for_some_lines(self):
        for one in exercises.exercises():
            with self.subTest(one.name):
                solution = (one.folder / "solution.cu").read_text()
                gaps = exercises.GAP.findall(solution)
                self.assertEqual(len(gaps), solution.count("// ---- your code"))
                self.assertTrue(gaps)
                for asked, code, _ in gaps:
                    lines = [line for line in code.splitlines() if line.split("//")[0].strip()]
                    most = MOST_OF_A_KERNEL if "a whole kernel" in asked else MOST_LINES
                    self.assertTrue(LEAST_LINES <= len(lines) <= most, code)

    def test_there_is_a_whole_kernel_to_write(self):
        whole = {one.chapter[:2] for one in exercises.exercises()
                 if "a whole kernel" in (one.folder / "solution.cu").read_text()}
        self.assertLessEqual({"02", "04", "06"}, whole)


class Tool(unittest.TestCase):
    """In a small project of its own."""

    def setUp(self):
        self.root = Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copytree(ROOT / "common/tools", self.root / "common/tools")
        for name in ("01_one/exercises/1_easy", "01_one/exercises/2_hard", "02_two/exercises/1_other"):
            self.make_exercise(name)

    def make_exercise(self, name):
        folder = self.root / name
        folder.mkdir(parents=True)
        (folder / "task.md").write_text("# The title\n\nDo it.\n" +
                                        "".join(f"\n## Hint {n}\n\nHelp {n}.\n" for n in (1, 2, 3)))
        (folder / "solution.cu").write_text("void f() {\n  // ---- your code\n  answer();\n  // ----\n}\n")

    def run_tool(self, *words, status=0, answer=""):
        run = subprocess.run([sys.executable, self.root / "common/tools/learn/exercises.py", *words], input=answer,
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def mine(self, name="01_one/exercises/1_easy"):
        return self.root / name / "mine.cu"

    def test_begin_makes_the_file_once(self):
        said = self.run_tool("begin")
        self.assertIn("01_one/exercises/1_easy\n", said)
        self.assertIn("Do it.", said)
        self.assertEqual(self.mine().read_text(), "void f() {\n  // ---- your code\n\n  // ----\n}\n")
        self.mine().write_text("edited")
        self.assertNotIn("Do it.", self.run_tool("begin"))
        self.assertEqual(self.mine().read_text(), "edited")

    def test_the_next_one_comes_after_it_is_solved(self):
        self.run_tool("begin")
        self.assertIn("next: ./learn exercise 01/hard", self.run_tool("solved", "01/easy"))
        self.assertIn("01_one/exercises/2_hard\n", self.run_tool("begin"))
        self.assertIn("✓ 01/easy", self.run_tool("progress"))
        self.assertIn("… 01/hard", self.run_tool("progress"))
        self.assertIn("02_two/exercises/1_other\n", self.run_tool("begin", "2"))
        self.assertIn("02_two/exercises/1_other\n", self.run_tool("begin"))  # the one begun last
        self.run_tool("solved", "other")
        self.assertIn("that was the last one", self.run_tool("solved", "hard"))
        self.assertIn("all exercises are solved", self.run_tool("begin", status=2))
        self.assertIn("01_one/exercises/1_easy\n", self.run_tool("begin", "easy"))

    def test_an_exercise_of_a_part(self):
        self.make_exercise("01_one/fast/exercises/1_inner")
        for part in ("fast", "none"):
            (self.root / "01_one" / part).mkdir(exist_ok=True)
            (self.root / "01_one" / part / "step1_a.cu").write_text("")
        folder = "01_one/fast/exercises/1_inner\n"
        for name in ("inner", "01/inner", "01_one/inner", "01/fast/inner", "01_one/fast/inner", "01/fast"):
            self.assertIn(folder, self.run_tool("begin", name))
        self.assertIn("… 01/inner", self.run_tool("progress"))
        self.assertIn("01 has the exercises 01/easy, 01/hard, 01/inner: name one", self.run_tool("hint", "01", status=2))
        self.assertIn("there is no exercise '01/fast/easy'", self.run_tool("hint", "01/fast/easy", status=2))
        self.assertIn("01/none has no exercises", self.run_tool("begin", "01/none", status=2))
        self.run_tool("solved", "easy")
        self.assertIn("next: ./learn exercise 01/inner", self.run_tool("solved", "hard"))  # the parts' come last
        self.assertIn("next: ./learn exercise 02/other", self.run_tool("solved", "inner"))
        self.assertIn("every exercise of 01_one/fast is solved", self.run_tool("begin", "01/fast", status=2))

    def test_hints_grow(self):
        for number in (1, 2, 3):
            self.assertIn(f"hint {number} of 3\n\nHelp {number}.", self.run_tool("hint", "easy"))
        self.assertIn("That was the last hint", self.run_tool("hint", "easy"))

    def test_reset_asks_first(self):
        self.assertIn("nothing to reset", self.run_tool("reset", "easy", status=2))
        self.run_tool("begin")
        self.mine().write_text("edited")
        self.assertIn("--yes does it", self.run_tool("reset", "easy", status=2, answer="y\n"))  # no terminal
        self.assertEqual(self.mine().read_text(), "edited")
        self.run_tool("reset", "easy", "--yes")
        self.assertIn("your code", self.mine().read_text())
        self.assertIn("name one", self.run_tool("reset", "01", status=2))
        self.assertIn("reset which exercise?", self.run_tool("reset", status=2))

    def test_the_build_gets_the_skeleton(self):
        made = self.root / "skeleton.cu"
        self.run_tool("skeleton", self.root / "01_one/exercises/1_easy/solution.cu", made)
        self.run_tool("begin")
        self.assertEqual(made.read_text(), self.mine().read_text())

    def test_the_site_gets_all(self):
        first = json.loads(self.run_tool("json"))[0]
        self.assertEqual(first, {"name": "01/easy", "folder": "01_one/exercises/1_easy", "title": "The title",
                                 "skeleton": "void f() {\n  // ---- your code\n\n  // ----\n}\n",
                                 "solution": "  // ---- your code\n  answer();\n"})

    def test_the_solution_comes_after_success(self):
        self.assertIn("not solved yet", self.run_tool("solution", "easy", status=2))
        self.assertIn("answer();", self.run_tool("solution", "easy", "--yes"))
        self.run_tool("solved", "easy")
        self.assertIn("answer();", self.run_tool("solution", "easy"))

    def test_wrong_words_are_refused(self):
        self.assertIn("did you mean '01/easy'?", self.run_tool("begin", "01/eazy", status=2))
        self.assertIn("./learn exercise: error: unrecognized arguments: --yes", self.run_tool("begin", "--yes", status=2))
        self.assertIn("unrecognized arguments: hard", self.run_tool("hint", "easy", "hard", status=2))
        self.assertIn("unrecognized arguments: easy", self.run_tool("progress", "easy", status=2))

    def test_a_damaged_state_is_no_end(self):
        self.run_tool("begin")
        (self.root / ".learn/exercises.json").write_text("{")
        self.assertIn("0 of 3 solved", self.run_tool("progress"))
        self.run_tool("solved", "easy")
        self.assertEqual(json.loads((self.root / ".learn/exercises.json").read_text())["solved"], ["01/easy"])


if __name__ == "__main__":
    unittest.main()
