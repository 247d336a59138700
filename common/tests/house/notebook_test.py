#!/usr/bin/env python3
"""docs/colab.ipynb: its form, and the cells that prepare a machine, with stand-ins for that machine. run_notebook.py
runs all cells."""
import contextlib
import io
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.append(f"{sys.path[0]}/../tools")
import notebook
from scratch import Scratch


class Form(unittest.TestCase):
    def test_it_is_a_notebook_without_outputs(self):
        book = notebook.load()
        self.assertEqual((book["nbformat"], book["nbformat_minor"]), (4, 5))
        self.assertEqual(book["metadata"]["kernelspec"]["name"], "python3")
        ids = [cell["id"] for cell in book["cells"]]
        self.assertEqual(len(ids), len(set(ids)))
        for cell in book["cells"]:
            self.assertIn(cell["cell_type"], ("code", "markdown"))
            self.assertTrue("".join(cell["source"]).strip(), cell["id"])
            if cell["cell_type"] == "code":
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None), cell["id"])

    def test_words_stand_before_every_cell_of_code(self):
        kinds = [cell["cell_type"] for cell in notebook.load()["cells"]]
        self.assertEqual(kinds[0], "markdown")
        self.assertNotIn(("code", "code"), list(zip(kinds, kinds[1:])))

    def test_its_code_needs_no_more_of_jupyter_than_commands(self):
        for name, code in notebook.code_cells().items():
            compile(notebook.as_python(code), name, "exec")  # so neither %magic nor ?help

    def test_a_command_that_fails_is_seen(self):
        with contextlib.redirect_stdout(io.StringIO()):
            notebook.Session({"exit 3": (3, "")}).run("it", "!exit 3")
            for code, expected in (("!exit 1", {}), ("!echo no", {"echo no": (0, "yes")}), ("!true", {"true": (1, "")})):
                with self.assertRaises(notebook.Failed):
                    notebook.Session(expected).run("it", code)


class Machine(Scratch):
    """A folder that holds no tutorial, or a part of one."""

    def setUp(self):
        super().setUp()
        before, path = Path.cwd(), os.environ.copy()
        self.addCleanup(os.environ.update, path)
        self.addCleanup(os.chdir, before)
        self.cells = notebook.code_cells()
        self.empty = self.root / "empty folder"
        self.empty.mkdir()

    def run_cell(self, name, code=None):
        session = notebook.Session()
        session.names.update(os=os, subprocess=subprocess)  # the first cell's, which later ones use
        with contextlib.redirect_stdout(io.StringIO()):
            session.run(name, code or self.cells[name])
        return session

    def test_in_a_clone_that_clone_is_used(self):
        os.chdir(self.root / "common/tools")
        self.assertEqual(self.run_cell("clone").commands, [])
        self.assertTrue(Path("learn").exists())

    def test_elsewhere_the_address_is_asked_for(self):
        (self.root / "learn").unlink()
        os.chdir(self.empty)
        with self.assertRaisesRegex(SystemExit, "address of the tutorial's repository into REPOSITORY"):
            self.run_cell("clone")
        self.assertEqual(list(self.empty.iterdir()), [])

    def cloned_from(self, address):
        placeholder = "https://example.com/cuda-tutorial.git"
        self.assertEqual(self.cells["clone"].count(placeholder), 1)
        return self.run_cell("clone", self.cells["clone"].replace(placeholder, str(address)))

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_elsewhere_it_is_cloned(self):
        (self.root / "learn").rename(self.empty / "learn")
        source = self.root / "source"
        self.empty.rename(source)
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", source]
        for words in (["init", "-q"], ["add", "learn"], ["commit", "-qm", "one"]):
            subprocess.run([*git, *words], check=True)
        self.empty.mkdir()
        os.chdir(self.empty)
        self.assertEqual(len(self.cloned_from(source).commands), 1)
        self.assertEqual(Path.cwd(), (self.empty / "cuda-tutorial").resolve())
        self.assertEqual(self.cloned_from(source).commands, [])  # run again, it clones nothing

    def stand_in(self, name, text):
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def test_an_old_compiler_gets_a_newer_one_beside_it(self):
        os.environ["PATH"] = f"{self.root / 'bin'}:{os.environ['PATH']}"
        for variable in ("CXX", "CUDAHOSTCXX"):
            self.addCleanup(os.environ.pop, variable, None)
            os.environ.pop(variable, None)
        self.stand_in("apt-get", "exit 0\n")
        self.stand_in("c++", "echo 12\n")
        self.assertEqual(self.run_cell("compiler").commands, [])
        self.assertNotIn("CXX", os.environ)
        self.stand_in("c++", "echo 11.4.0\n")
        self.assertIn("install -y g++-12", self.run_cell("compiler").commands[0])
        self.assertEqual((os.environ["CXX"], os.environ["CUDAHOSTCXX"]), ("g++-12", "g++-12"))
        (self.root / "bin/c++").unlink()


if __name__ == "__main__":
    unittest.main()
