#!/usr/bin/env python3
"""common/tools/measure/results.py: rows that were measured anew take the place of the old ones, and nothing else changes."""
import csv
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from scratch import PROJECT

sys.path[:0] = map(str, (PROJECT / "common/tools").glob("**/"))
import project  # noqa: E402
import results  # noqa: E402
import sizes  # noqa: E402


def rows(text):
    """"02 a 1.5" a line -> {"sizes": "02", "step": "a", "ms": "1.5"}"""
    return [dict(zip(("sizes", "step", "ms"), line.split())) for line in text.split("\n")]


class Merged(unittest.TestCase):
    def assert_merged(self, old, new, want, *columns):
        self.assertEqual(results.merged(rows(old), rows(new), *columns or ["sizes"]), rows(want))

    def test_a_set_is_replaced_where_it_stood(self):
        self.assert_merged("01 a 1\n02 a 2\n02 b 3\n03 a 4", "02 a 20\n02 b 30", "01 a 1\n02 a 20\n02 b 30\n03 a 4")

    def test_steps_that_are_gone_go_and_new_ones_come(self):
        self.assert_merged("02 a 2\n02 b 3\n02 c 4\n03 a 5", "02 b 30\n02 d 40", "02 b 30\n02 d 40\n03 a 5")

    def test_what_is_new_comes_last(self):
        self.assert_merged("02 a 2", "01 a 1\n02 a 20\n01 b 3", "02 a 20\n01 a 1\n01 b 3")

    def test_rows_of_a_set_that_stand_apart_come_together(self):
        self.assert_merged("02 a 2\n01 a 1\n02 b 3", "02 a 20\n02 b 30", "02 a 20\n02 b 30\n01 a 1")

    def test_by_more_than_one_column(self):
        self.assert_merged("02 a 2\n02 b 3", "02 b 30", "02 a 2\n02 b 30", "sizes", "step")

    def test_from_nothing(self):
        self.assertEqual(results.merged([], rows("01 a 1"), "sizes"), rows("01 a 1"))


class Kept(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        for change in (mock.patch.object(results, "RESULTS", self.root / "results"),
                       mock.patch.object(project, "gpu", lambda what: "Some GPU"),
                       mock.patch.object(project, "say", lambda sentence: None)):
            change.start()
            self.addCleanup(change.stop)
        results.keep_table("times", rows("01 a 1\n02 a 2"))

    def table(self, folder):
        return project.read_csv(self.root / folder / "times.csv")

    def test_in_the_devices_folder(self):
        results.keep_rows("times", rows("02 a 20"), "sizes")
        self.assertEqual(self.table("results/Some_GPU"), rows("01 a 1\n02 a 20"))
        self.assertEqual(os.listdir(self.root / "results/Some_GPU"), ["times.csv"])

    def test_a_folder_of_its_own_begins_as_the_projects(self):
        with mock.patch.dict(os.environ, RESULTS=str(self.root / "out")):
            results.keep_rows("times", rows("02 a 20"), "sizes")
            results.keep_rows("times", rows("01 a 10"), "sizes")
        self.assertEqual(self.table("out"), rows("01 a 10\n02 a 20"))
        self.assertEqual(self.table("results/Some_GPU"), rows("01 a 1\n02 a 2"))

    def test_rows_of_another_kind_are_not_written(self):
        with self.assertRaises(ValueError):
            results.keep_rows("times", [{"sizes": "02", "what": "else"}], "sizes")
        self.assertEqual(self.table("results/Some_GPU"), rows("01 a 1\n02 a 2"))


class Recorded(unittest.TestCase):
    def test_each_set_is_a_known_one(self):
        self.assertLessEqual({row["sizes"] for row in results.table("times")}, set(sizes.SETS))

    def test_a_row_stands_once(self):
        for name, columns in (("times", ("sizes", "chapter", "options", "step")), ("device", ("key",)),
                              ("variants", ("experiment", "size", "variant")), ("sanitizers", results.OF_SANITIZERS)):
            keys = [tuple(row[column] for column in columns) for row in results.table(name)]
            self.assertEqual(len(keys), len(set(keys)), name)

    def test_each_row_says_where_it_is_from(self):
        for path in sorted(results.FOLDER.glob("*.csv")):
            with open(path, newline="") as file:
                heads = next(csv.reader(file))
            if path.stem != "matrix_patterns":
                self.assertEqual(heads[-2:], ["date", "commit"], path.name)


if __name__ == "__main__":
    unittest.main()
