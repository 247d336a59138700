#!/usr/bin/env python3
"""common/tools/bench.py with stand-ins for the GPU and a chapter's program: what it runs and writes, and that it
keeps what there was when a kernel is wrong."""
import csv
import os
import shutil
import subprocess
import sys
import unittest

from scratch import Scratch


# Its steps are a … e; each run is a line of the file `ran`.
PROGRAM = """#!/bin/sh
case "$*" in
  *--list) for step in a b c d e; do echo "$step  what is new"; done; echo '  a remark'; exit ;;
esac
echo "$*" >>ran
while [ "$1" != --csv ]; do shift; done
printf 'chapter,step\\n"01","a, b"\\n"01","%s"\\n' "$STEP" >"$2"
exit "$STATUS"
"""
NVIDIA_SMI = """#!/bin/sh
case $1 in *name*) echo 'Some GPU' ;; *) echo 580.1 ;; esac
"""


class Bench(Scratch):
    def setUp(self):
        super().setUp()
        (self.root / "bin").mkdir()
        for chapter in ("01_a", "06_f", "07_g"):
            (self.root / chapter).mkdir()
        for folder in ("06_f/faster", "06_f/any_shape"):
            self.script(f"{folder}/step1_a.cu", "")
        for program in ("01_a/01_a", "06_f/06_f", "06_f/faster/06_f_faster", "06_f/any_shape/06_f_any_shape"):
            self.script(f"build/gpu/{program}", PROGRAM)
        self.written = self.root / "docs/results/Some_GPU/01.csv"

    def script(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def bench(self, *words, status=0, **env):
        # -E -S: whether PyTorch is on the machine must not matter
        path = f"{self.root / 'bin'}:{'/usr/bin:/bin' if 'no_gpu' not in env else ''}"
        done = subprocess.run([sys.executable, "-E", "-S", "common/tools/bench.py", *words], cwd=self.root, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={"PATH": path, "COMMIT": "abc1234", "STEP": "first", "STATUS": "0", **env})
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def test_refusals(self):
        self.assertIn("there is no NVIDIA GPU here", self.bench("01", status=2, no_gpu="1"))
        self.script("bin/nvidia-smi", NVIDIA_SMI)
        self.assertIn("there is no chapter '9'", self.bench("9", status=2))
        self.assertIn("there are no standard sizes for 07_g", self.bench("7", status=2))
        shutil.rmtree(self.root / "build/gpu/01_a")
        self.assertIn("./learn run 01 --gpu --list builds it", self.bench("01", status=2))

    def test_what_is_written(self):
        self.script("bin/nvidia-smi", NVIDIA_SMI)
        self.assertIn("wrote docs/results/Some_GPU/01.csv", self.bench("1"))
        with open(self.written, newline="") as file:
            heads, one, other = csv.reader(file)
        self.assertEqual(heads, "chapter step options driver toolkit date commit".split())
        self.assertEqual(one[1], "a, b")
        self.assertEqual(other[:4], ["01", "first", "--m 4096 --n 4096 --k 4096", "580.1"])
        self.assertRegex(other[5], r"^\d{4}-\d\d-\d\d$")
        self.assertEqual(other[6], "abc1234")

    def test_a_wrong_kernel_replaces_nothing(self):
        self.script("bin/nvidia-smi", NVIDIA_SMI)
        self.bench("01")
        self.assertIn("see above", self.bench("01", status=1, STATUS="1", STEP="second"))
        self.assertIn("first", self.written.read_text())
        self.assertEqual(os.listdir(self.written.parent), ["01.csv"])

    def test_only_the_last_steps_where_the_others_take_too_long(self):
        self.script("bin/nvidia-smi", NVIDIA_SMI)
        self.bench("06_lengths")
        ran = [line.partition(" --csv ")[0] for line in (self.root / "ran").read_text().splitlines()]
        self.assertEqual(ran[0], "--batch 64 --heads 12 --seq 128 --head-dim 64 --kernel e")
        self.assertEqual(ran[-1], "--batch 1 --heads 12 --seq 8192 --head-dim 64 --kernel head_sizes "
                                  "--kernel split_keys --kernel by_shape")

    def test_a_part_has_files_of_its_own(self):
        self.script("bin/nvidia-smi", NVIDIA_SMI)
        self.bench("6/any_shape")
        self.assertEqual(sorted(os.listdir(self.written.parent)),
                         ["06_any_shape.csv", "06_decoding.csv", "06_head_sizes.csv", "06_lengths.csv"])

    def test_what_must_be_built(self):
        self.assertEqual(self.bench("--programs", "6/any_shape"), "06_f_any_shape 06_f_faster\n")
        self.assertEqual(self.bench("--programs", "01"), "01_a\n")


if __name__ == "__main__":
    unittest.main()
