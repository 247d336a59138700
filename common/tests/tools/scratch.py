"""A project of their own for the tests of scripts."""
import shutil
import tempfile
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]


class Scratch(unittest.TestCase):
    """self.root: a folder with the project's tools and ./learn, and nothing else; gone at the end of the test."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        shutil.copytree(PROJECT / "common/tools", self.root / "common/tools",
                        ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(PROJECT / "learn", self.root)
