#!/usr/bin/env python3
"""The house as DESIGN has it: the road in a chapter's folder, each part beside it in a folder of its own."""
import difflib
import re
import sys
import unittest
from pathlib import Path

sys.path[:0] = map(str, (Path(__file__).resolve().parents[2] / "tools").glob("**/"))
import exercises  # noqa: E402
import project  # noqa: E402

MOST_LINES = 110  # of a main.cpp, which reads from top to bottom
MOST_CHANGED = {True: 60, False: 80}  # lines of code that a step brings, or takes away: on the road, in a part
PARTS = [folder for folder in project.ladders() if folder not in project.chapters()]


class House(unittest.TestCase):
    def test_a_ladder_has_all_that_is_its_own(self):
        for folder in project.ladders():
            with self.subTest(project.label(folder)):
                for name in ("main.cpp", "take.cu", "mistakes.txt", "CMakeLists.txt"):
                    self.assertTrue((folder / name).is_file(), name)
                self.assertTrue(any(folder.glob("tests*")), "tests.cpp or tests/")
                page = page_of(folder)
                self.assertTrue(page.is_file(), page.name)
                self.assertLessEqual(len((folder / "main.cpp").read_text().splitlines()), MOST_LINES)
                numbers = [step.number for step in project.steps(folder)]
                self.assertEqual(numbers, list(range(1, len(numbers) + 1)))

    def test_each_program_is_run_with_every_row_made_wrong(self):
        for folder in project.ladders():
            with self.subTest(project.label(folder)):
                tests = "".join(path.read_text() for path in [*folder.glob("tests.cpp"), *folder.glob("tests/*.cpp")])
                for check in ("check_all_right(", "check_every_row_can_fail("):
                    self.assertIn(check, tests, "common/testing/program_run.hpp has it")

    def test_a_part_says_which_step_it_goes_on_from(self):
        for folder in PARTS:
            with self.subTest(project.label(folder)):
                border = project.step_before(folder)
                self.assertIsNotNone(border, 'its header has no `after = "…"` that names a step')
                opening = page_of(folder).read_text().partition("\n## ")[0]
                self.assertTrue(f"`{border[1].name}`" in opening,
                                f"its page does not begin with `{border[1].name}`")
                self.assertRegex((folder / "main.cpp").read_text(), r"\.after = (\w+::)*after\b")

    def test_names(self):
        for chapter in project.chapters():
            with self.subTest(project.label(chapter)):
                for folder in project.ladders(chapter):
                    steps = [step.name for step in project.steps(folder)]
                    self.assertEqual(len(steps), len(set(steps)), "two steps of a ladder have one name")
                names = [room.name for room in project.rooms(chapter)] + [one.short for one in exercises.exercises() if one.chapter == chapter.name]
                self.assertEqual(len(names), len(set(names)), "a part and an exercise of a chapter have one name")

    def test_a_step_that_changes_much_says_why(self):
        for folder in project.ladders():
            steps = project.steps(folder)
            for before, step in zip(steps, steps[1:]):
                with self.subTest(project.label(folder), step=step.name):
                    difference = list(difflib.unified_diff(code_of(before), code_of(step), n=0))[2:]
                    signs = [line[0] for line in difference]
                    much = max(signs.count("+"), signs.count("-")) > MOST_CHANGED[folder in project.chapters()]
                    says = re.search(r"^// long diff +\S", step.path.read_text(), re.M)
                    self.assertEqual(much, bool(says), "its header has a line `// long diff  why` if, and only if, it is long")

    def test_the_tree_in_the_readme(self):
        shown = re.findall(r"^(\d\d_\w+)/ +(?:parts: (.*)|a chapter.*)$", (project.ROOT / "README.md").read_text(), re.M)
        self.assertEqual([(name, parts.split()) for name, parts in shown],
                         [(chapter.name, sorted(room.name for room in project.rooms(chapter) if room != chapter))
                          for chapter in project.chapters()])

    def test_the_address_in_the_readme(self):
        address = re.search(r"^export const ADDRESS = '(.*)'$", (project.ROOT / "docs/site/project.js").read_text(), re.M)[1]
        first_screen = (project.ROOT / "README.md").read_text().partition("\n## ")[0]
        self.assertIn(f"browser: [{address}]({address})" if address else "browser: `./learn docs`", first_screen)

    def test_arrows_between_ladders_go_one_way(self):
        """The road knows no part but for the goal in its main.cpp; no two parts know each other."""
        for chapter in project.chapters():
            with self.subTest(project.label(chapter)):
                knows = {folder: {chapter / name for path in folder.iterdir() if path.suffix in (".cu", ".cuh", ".cpp", ".hpp")
                                  and path.name != "main.cpp"
                                  for name in re.findall(r'^#include "(\w+)/', path.read_text(), re.M)} - {folder}
                         for folder in project.ladders(chapter)}
                self.assertFalse(knows[chapter] & set(PARTS), "the road's files include a part's")
                for folder, others in knows.items():
                    for other in others & set(knows):
                        self.assertNotIn(folder, knows[other], f"{folder.name} and {other.name} include each other")


def code_of(step):
    """Its lines without comments and indentation."""
    lines = re.sub(r"//.*", "", step.path.read_text()).splitlines()
    return [line.strip() for line in lines if line.strip()]


def page_of(folder):
    return project.ROOT / "docs" / f"{folder.name if folder in project.chapters() else page_stem(folder)}.md"


def page_stem(folder):
    return project.short_name(folder).replace("/", "_")


if __name__ == "__main__":
    unittest.main()
