"""A project of their own for the tests of scripts."""
import compileall
import functools
import shutil
import tempfile
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]


@functools.cache
def tools():
    """The project's tools, compiled once for all tests of a file: they start them many times."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    shutil.copytree(PROJECT / "common/tools", folder.name, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    compileall.compile_dir(folder.name, quiet=1)
    return folder.name


class Scratch(unittest.TestCase):
    """self.root: a folder with the project's tools and ./learn, and nothing else; gone at the end of the test."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        shutil.copytree(tools(), self.root / "common/tools")
        shutil.copy(PROJECT / "learn", self.root)
