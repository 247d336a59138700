#!/usr/bin/env python3
"""./learn docs: what it says where something is missing or wrong. The site itself: docs/site/tests."""
import concurrent.futures
import os
import shutil
import socket
import subprocess
import sys
import unittest

from scratch import Scratch


class Docs(Scratch):
    def setUp(self):
        super().setUp()
        self.tools = self.root / "bin"
        self.tools.mkdir()
        for tool in ("bash", "env", "readlink", "dirname", "nproc", "grep", "sed", "sort"):
            (self.tools / tool).symlink_to(shutil.which(tool))
        (self.tools / "python3").symlink_to(sys.executable)  # itself, not a version manager's script
        self.site = self.root / "docs/site"
        self.site.mkdir(parents=True)
        (self.site / "package-lock.json").write_text("{}")
        self.traces("{}")

    def traces(self, figures):
        (self.root / "common/tools/pages/traces.py").write_text(
            f"from collections import namedtuple\nFigure = namedtuple('Figure', 'part')\nFIGURES = {figures}\n")

    def tool(self, name, script):
        (self.tools / name).write_text(f"#!/bin/bash\n{script}\n")
        (self.tools / name).chmod(0o755)

    def docs(self, *words, status=2):
        done = subprocess.run([self.root / "learn", "docs", *words], capture_output=True, text=True,
                              env={**os.environ, "PATH": str(self.tools), "CHROMIUM": ""})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def with_node(self, npm='[ "$1" = ci ] && mkdir -p node_modules || { mkdir -p "$SITE_OUT"; echo new > "$SITE_OUT/index.html"; }'):
        (self.tools / "mkdir").symlink_to(shutil.which("mkdir"))
        self.tool("node", "echo v18.20.4")
        self.tool("npm", npm)

    def test_says_what_is_missing(self):
        self.assertIn("Node 18 or newer (there is none) and npm: on Debian `apt-get install nodejs npm`", self.docs())
        self.tool("node", "echo v16.3.0")
        self.assertIn("Node 18 or newer (version 16 is here) and npm", self.docs())

    def test_check_needs_chromium(self):
        self.with_node()
        self.assertIn("apt-get install chromium", self.docs("--check"))

    def test_refuses_what_cannot_be_meant(self):
        self.assertIn("there is no port 70000", self.docs("--port", "70000"))
        self.assertIn("'kernels' does not begin with /", self.docs("--build", "--base", "kernels"))
        self.assertIn("use it with --build", self.docs("--base", "/kernels/"))

    def test_a_port_that_is_taken(self):
        self.with_node()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.assertIn(f"cannot serve on port {port}: Address already in use; leave --port out",
                          self.docs("--port", str(port)))

    def test_installs_once_and_builds(self):
        self.with_node()
        said = self.docs("--build", status=0)
        self.assertIn("+ cd docs/site && npm ci", said)
        self.assertEqual((self.root / "build/site/index.html").read_text(), "new\n")
        self.assertNotIn("npm ci", self.docs("--build", status=0))
        (self.site / "package-lock.json").write_text("{ }")  # another one needs another installation
        self.assertIn("npm ci", self.docs("--build", status=0))

    def test_two_at_once_take_turns(self):
        self.with_node()
        npm = self.tools / "npm"
        npm.write_text(f"""#!{sys.executable}
import os, pathlib, sys, time
if sys.argv[1] == "ci":
    pathlib.Path("node_modules").mkdir(exist_ok=True)
else:
    os.mkdir("busy")  # fails where the other one builds
    time.sleep(1)
    os.rmdir("busy")
    out = pathlib.Path(os.environ["SITE_OUT"])
    out.mkdir(parents=True)
    (out / "index.html").write_text("new")
""")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            said = list(pool.map(lambda _: self.docs("--build", status=0), range(2)))
        self.assertEqual(sum("another ./learn docs builds the site: waiting" in each for each in said), 1, said)

    def test_a_failed_build_leaves_the_old_site(self):
        self.with_node()
        self.docs("--build", status=0)
        self.tool("npm", 'mkdir -p "$SITE_OUT"; echo half > "$SITE_OUT/index.html"; exit 1')
        self.assertIn("could not be built", self.docs("--build"))
        self.assertEqual((self.root / "build/site/index.html").read_text(), "new\n")
        self.assertFalse((self.root / "build/site_next").exists())

    def test_a_figure_that_cannot_be_recorded(self):
        self.with_node()
        self.docs("--build", status=0)
        self.traces("{'02': Figure('/hopper')}")
        said = self.docs("--build")
        self.assertIn("there is no chapter '02/hopper'", said)
        self.assertIn("learn docs: there is no figure to step through for 02; the reason stands above", said)
        self.assertTrue((self.root / "build/site/index.html").exists())

    def test_a_failed_installation_is_tried_again(self):
        self.with_node("exit 1")
        self.assertIn("npm could not install", self.docs("--build"))
        self.assertFalse((self.site / "node_modules/.installed").exists())


if __name__ == "__main__":
    unittest.main()
