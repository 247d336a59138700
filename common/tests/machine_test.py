#!/usr/bin/env python3
"""common/tools/machine.sh with stand-ins for nvidia-smi and nvcc: which GPUs it sees, and which it takes."""
import subprocess
import unittest

from scratch import Scratch

NVIDIA_SMI = """#!/bin/sh
case "$*" in
  *compute_cap*) printf '{0}'; exit {1} ;;
  -L) printf '{2}' ;;
esac
"""
LISTED = r"GPU 0: Tesla T4 (UUID: GPU-1)\n"


class Machine(Scratch):
    def ask(self, function, queried="", status=0, listed="", toolkit="13.0"):
        for name, text in (("nvidia-smi", NVIDIA_SMI.format(queried, status, listed)),
                           ("nvcc", f"#!/bin/sh\necho 'release {toolkit}, V{toolkit}.88'\n")):
            path = self.root / name
            path.write_text(text)
            path.chmod(0o755)
        script = f"set -euo pipefail; PATH=$PWD:$PATH; nvcc=nvcc; . common/tools/machine.sh; {function} | cat"
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


if __name__ == "__main__":
    unittest.main()
