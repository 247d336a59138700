#!/usr/bin/env python3
"""The dev container: has it what docs/setup.md asks for, and does it need no GPU?"""
import json
import re
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]

FOLDER = PROJECT / ".devcontainer"
# Those of the reference of devcontainer.json (containers.dev) that we use.
PROPERTIES = {"name", "build", "hostRequirements", "remoteUser", "postCreateCommand", "customizations"}


def needed():
    """The rows of setup.md's table: least version and Debian's package, by what it is."""
    text = (PROJECT / "docs/setup.md").read_text()
    rows = [re.split(r" *\| *", line.strip("| ")) for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: (row[1], row[2].strip("`")) for row in rows if len(row) == 5}


class DevContainer(unittest.TestCase):
    def setUp(self):
        self.settings = json.loads((FOLDER / "devcontainer.json").read_text())
        self.image = (FOLDER / self.settings["build"]["dockerfile"]).read_text()

    def test_the_settings_are_known_ones(self):
        self.assertEqual(set(self.settings), PROPERTIES)
        for name in self.settings["customizations"]["vscode"]["extensions"]:
            self.assertRegex(name, r"^[\w-]+\.[\w-]+$")

    def test_a_gpu_may_be_missing(self):
        self.assertEqual(self.settings["hostRequirements"]["gpu"], "optional")
        self.assertNotIn("runArgs", self.settings)  # --gpus would end the start where there is none

    def test_it_has_every_package(self):
        installed = re.search(r"apt-get install ((?:.|\n)*?)&&", self.image)[1].split()
        packages = [package for least, package in needed().values() if re.fullmatch(r"[a-z0-9+-]+", package)]
        self.assertGreaterEqual(len(packages), 8)
        for package in packages:
            self.assertIn(package, installed)

    def test_its_toolkit_is_new_enough(self):
        toolkit = re.search(r"^FROM nvidia/cuda:(\d+)\.(\d+)\.\d+-devel-ubuntu(\d+)\.", self.image, re.M)
        least = next(least for what, (least, _) in needed().items() if "CUDA Toolkit" in what)
        self.assertGreaterEqual((int(toolkit[1]), int(toolkit[2])), tuple(map(int, least.split("."))))
        self.assertGreaterEqual(int(toolkit[3]), 24)  # 22.04 has an older g++ and CMake

    def test_what_it_runs_at_first_exists(self):
        commands = re.findall(r"\./learn (\w+)", self.settings["postCreateCommand"])
        self.assertEqual(commands[0], "doctor")
        script = (PROJECT / "learn").read_text()
        for command in commands:
            self.assertIn(f"\n  {command}) ", script)


if __name__ == "__main__":
    unittest.main()
