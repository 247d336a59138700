"""Runs cells of docs/colab.ipynb with nothing but Python: Jupyter need not be here, and would not stop at a command
that fails."""
import json
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]

NOTEBOOK = PROJECT / "docs/colab.ipynb"
COMMAND = re.compile(r"^( *)!(.*)$", re.M)


class Failed(Exception):
    """A command of a cell ended, or said, what it should not."""


def load():
    return json.loads(NOTEBOOK.read_text())


def code_cells():
    """The code of each cell, by the cell's id, in order."""
    return {cell["id"]: "".join(cell["source"]) for cell in load()["cells"] if cell["cell_type"] == "code"}


def as_python(code):
    """A cell's code as Python: `!command` becomes a call of command()."""
    return COMMAND.sub(lambda line: f"{line[1]}command({line[2]!r})", code)


class Session:
    """What cells share. `expected` has, for commands that do not just end with 0, their status and what they say."""

    def __init__(self, expected=None):
        self.expected = expected or {}
        self.names = {"command": self.command, "__name__": "__main__"}
        self.commands = []

    def command(self, line):
        # As IPython does it: {name} is a variable of the notebook.
        line = re.sub(r"\{(\w+)\}", lambda match: str(self.names[match[1]]), line)
        self.commands.append(line)
        ran = subprocess.run(["bash", "-c", line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace")
        sys.stdout.write(f"!{line}\n{ran.stdout}")
        sys.stdout.flush()
        status, words = self.expected.get(line, (0, ""))
        if ran.returncode != status or words not in ran.stdout:
            told = f' and to say "{words}"' if words else ""
            raise Failed(f"!{line} was to end with {status}{told}; it ended with {ran.returncode}")

    def run(self, name, code):
        exec(compile(as_python(code), f"cell {name}", "exec"), self.names)
