#!/usr/bin/env python3
"""common/tools/learn/machine.sh with stand-ins for nvidia-smi, nvcc and python3: which GPUs it sees, and what it takes."""
import os
import re
import subprocess
import unittest

from scratch import PROJECT, Scratch

NVIDIA_SMI = """#!/bin/sh
case "$*" in
  *compute_cap*) printf '{0}'; exit {1} ;;
  -L) printf '{2}' ;;
esac
"""
LISTED = r"GPU 0: Tesla T4 (UUID: GPU-1)\n"


class Machine(Scratch):
    def stand_in(self, name, text):
        path = self.root / name
        path.write_text(text)
        path.chmod(0o755)

    def ask(self, function, queried="", status=0, listed="", toolkit="13.0"):
        self.stand_in("nvidia-smi", NVIDIA_SMI.format(queried, status, listed))
        self.stand_in("nvcc", f"#!/bin/sh\necho 'release {toolkit}, V{toolkit}.88'\n")
        script = f"set -euo pipefail; PATH=$PWD:$PATH; nvcc=nvcc; . common/tools/learn/machine.sh; {function} | cat"
        done = subprocess.run(["bash", "-c", script], cwd=self.root, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.strip()

    def test_each_gpu_has_its_compute_capability(self):
        self.assertEqual(self.ask("gpus", r"7.5, Tesla T4\n9.0, NVIDIA H100 80GB HBM3\n"),
                         "7.5 Tesla T4\n9.0 NVIDIA H100 80GB HBM3")

    def test_an_old_driver_does_not_tell_it(self):
        self.assertEqual(self.ask("gpus", 'Field "compute_cap" is not valid', 2, LISTED), "? Tesla T4")
        self.assertEqual(self.ask("gpu_problem", 'Field "compute_cap" is not valid', 2, LISTED), "")

    def test_what_is_taken(self):
        for queried, problem in ((r"7.5, Tesla T4\n", ""), (r"10.0, NVIDIA B200\n", ""),
                                 (r"6.0, Tesla P100\n", "no NVIDIA GPU of compute capability 7.5 or newer"),
                                 (r"No devices were found\n", "no NVIDIA GPU")):
            self.assertEqual(self.ask("gpu_problem", queried), problem, queried)

    def test_a_new_gpu_needs_a_new_toolkit(self):
        blackwell = r"12.0, NVIDIA GeForce RTX 5090\n"
        self.assertEqual(self.ask("gpu_problem", blackwell, toolkit="12.6"),
                         "no CUDA Toolkit of version 12.8 or newer, which a GPU of compute capability 12.0 needs,")
        self.assertEqual(self.ask("gpu_problem", blackwell, toolkit="12.8"), "")
        self.assertEqual(self.ask("gpu_problem", r"7.5, Tesla T4\n" + blackwell, toolkit="12.4")[:50],
                         "no CUDA Toolkit of version 12.8 or newer, which a ")
        self.assertEqual(self.ask("gpu_problem", r"9.0, NVIDIA H100\n", toolkit="12.4"), "")
        self.assertEqual(self.ask("gpu_problem", r"9.0, NVIDIA H100\n", toolkit="12.3"),
                         "no CUDA Toolkit of version 12.4 or newer")
        self.assertEqual(self.ask("least_toolkit", "?", 2, LISTED), "12.4")

    def test_an_older_python_is_refused_in_one_sentence(self):
        least = re.search(r"^least_python=(.*)$", (PROJECT / "common/tools/learn/machine.sh").read_text(), re.M)[1]
        self.assertIn(f"find_package(Python3 {least} ", (PROJECT / "common/cmake/Dependencies.cmake").read_text())
        self.assertIn(f"| Python | {least} |", (PROJECT / "docs/setup.md").read_text())
        self.stand_in("python3", "#!/bin/sh\necho Python 3.8.18\n")
        done = subprocess.run([self.root / "learn", "diff", "02"], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{self.root}:{os.environ['PATH']}"})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"learn: Python {least} or newer is needed, and python3 is 3.8.18; "
                                      "docs/setup.md says how to install it\n")


if __name__ == "__main__":
    unittest.main()
