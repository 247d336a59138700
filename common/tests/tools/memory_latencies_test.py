#!/usr/bin/env python3
"""common/tools/measure/memory_latencies.py with stand-ins for the GPU and nvcc."""
import csv
import subprocess
import sys
import unittest

from scratch import Scratch

NVIDIA_SMI = """#!/bin/sh
case $1 in *name*) echo 'Some GPU' ;; *) echo 580.1 ;; esac
"""
# Its program prints two lines; it fails if the source is not there.
NVCC = """#!/bin/sh
[ "$1" = --version ] && echo 'release 13.0,' && exit
while [ "$1" != -o ]; do shift; done
[ -f "$3" ] || exit 1
printf '#!/bin/sh\\nprintf "memory,bytes,cycles\\\\nL1,64,38.5\\\\nL2,128,261\\\\n"; exit %s\\n' "${STATUS:-0}" >"$2"
chmod +x "$2"
"""


class MemoryLatencies(Scratch):
    def setUp(self):
        super().setUp()
        (self.root / "bin").mkdir()
        self.written = self.root / "docs/results/Some_GPU/latencies.csv"

    def script(self, name, text):
        path = self.root / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def run_tool(self, *words, status=0, path=":/usr/bin:/bin", **env):
        done = subprocess.run([sys.executable, "-E", "common/tools/measure/memory_latencies.py", *words], cwd=self.root,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={"PATH": f"{self.root / 'bin'}{path}", "COMMIT": "abc1234", **env})
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def test_refusals(self):
        self.assertIn("usage:", self.run_tool("all", status=2))
        self.assertIn("there is no nvidia-smi here", self.run_tool(status=2, path=""))
        self.script("nvidia-smi", NVIDIA_SMI)
        self.script("nvcc", NVCC)
        self.run_tool(status=1, STATUS="3")
        self.assertFalse(self.written.exists())

    def test_what_is_written(self):
        self.script("nvidia-smi", NVIDIA_SMI)
        self.script("nvcc", NVCC)
        self.assertIn("L2,128,261", self.run_tool())
        with open(self.written, newline="") as file:
            heads, one, other = csv.reader(file)
        self.assertEqual(heads, "memory bytes cycles driver toolkit date commit".split())
        self.assertEqual(one[:5], ["L1", "64", "38.5", "580.1", "13.0"])
        self.assertEqual([other[0], other[-1]], ["L2", "abc1234"])
        # The other program's, which is the same here.
        self.assertEqual(self.written.with_name("rates.csv").read_text(), self.written.read_text())


if __name__ == "__main__":
    unittest.main()
