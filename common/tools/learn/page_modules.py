#!/usr/bin/env python3
"""Builds what runs kernels in a page, into build/browser/site: the simulator and the tests as WebAssembly, headers,
and a precompiled header. `./learn docs` does.

usage: common/tools/learn/page_modules.py
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
from project import ROOT, say

HERE = ROOT / "common/browser"
OUT = ROOT / "build/browser"
COMMANDS = {"clang++-22": "clang-22", "wasm-ld-22": "lld-22", "cmake": "cmake", "ninja": "ninja-build", "node": "nodejs"}
EIGEN = [Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3")]


def missing_packages():
    """Debian's names of what is not here."""
    packages = [package for command, package in COMMANDS.items() if not shutil.which(command)]
    if not any(folder.is_dir() for folder in EIGEN):
        packages.append("libeigen3-dev")
    # The sources come out of Debian's archive.
    if not (OUT / "sources/emscripten").is_dir() and not shutil.which("apt-get"):
        packages.append("a Debian to fetch the sources with (common/browser/fetch_sources.sh)")
    return packages


def run(*words):
    return subprocess.run([str(word) for word in words], cwd=ROOT, stdout=sys.stderr,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}).returncode == 0


def build():
    """Is all of it there, as the sources are now? docs/site/node_modules must be."""
    return (run(HERE / "fetch_sources.sh", OUT / "sources")
            and run("cmake", "-S", HERE, "-B", OUT, "-G", "Ninja", "--log-level=WARNING")
            and run(ROOT / "common/tools/learn/progress.py", "cmake", "--build", OUT)
            and run("node", ROOT / "docs/site/build/kernels.js")
            and run(ROOT / "common/tools/measure/page_estimates.py", OUT / "site/estimates.json"))


if __name__ == "__main__":
    if packages := missing_packages():
        project.die(f"it needs {', '.join(packages)}")
    say("what runs kernels in a page is in build/browser/site" if build() else "it could not be built; the reason stands above")
