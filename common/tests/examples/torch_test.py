#!/usr/bin/env python3
"""docs/examples/pytorch without PyTorch and without a GPU: what is refused, and the file that nvcc would compile.
Beside it, test_torch.py has what needs both."""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import types
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from scratch import PROJECT, Scratch  # noqa: E402

EXAMPLE = PROJECT / "docs/examples/pytorch"
sys.path[:0] = map(str, (EXAMPLE, *(PROJECT / "common/tools").glob("**/")))
import project  # noqa: E402
import tutorial_ops  # noqa: E402

NO_TORCH = "raise ImportError('no torch here')\n"
NO_GPU = """\
import sys, types
library, cuda, functional = types.SimpleNamespace(custom_op=0), types.SimpleNamespace(is_available=lambda: False), types.ModuleType("f")
functional.scaled_dot_product_attention = 0
sys.modules |= {"torch.nn": functional, "torch.nn.functional": functional}
"""


def step_namespace(folder):
    """02_tiled_matmul/few_rows -> tiled_matmul::few_rows"""
    return project.label(folder)[3:].replace("/", "::")


class Refusals(Scratch):
    def test_each_is_one_sentence(self):
        for torch, nvcc, words, said in (
                (NO_TORCH, "true", (), "torch which chapter? For example: ./learn torch 06"),
                (NO_TORCH, "true", ("7",), "there is no chapter '7'; choose from 01_naive_matmul"),
                (NO_TORCH, "true", ("02/hoper",), "has no part 'hoper'; did you mean 'hopper'?"),
                (NO_TORCH, "true", ("06", "q_otuer"), "there is no step 'q_otuer' in 06_flash_attention; did you mean 'q_outer'?"),
                (NO_TORCH, "true", ("06", "by_shape"), "say ./learn torch 06/any_shape by_shape"),
                (NO_TORCH, "true", ("03",), "03_masked_bmm has no operator of PyTorch; these have: 01, 02, 02/faster,"),
                (NO_TORCH, "true", ("06", "q_outer"), "has no PyTorch of version 2.4 or newer: https://pytorch.org"),
                (NO_TORCH, "true", ("06/model",), "has no PyTorch: https://pytorch.org says how to install it"),
                ("", "true", ("06", "q_outer"), "has no PyTorch of version 2.4 or newer"),
                (NO_GPU, "/no/nvcc", ("06", "q_outer"), "there is no nvcc, which compiles the step: docs/setup.md"),
                (NO_GPU, "true", ("06", "q_outer"), "PyTorch finds no GPU: torch.cuda.is_available() is false")):
            with self.subTest(said):
                (self.root / "torch").mkdir(exist_ok=True)
                (self.root / "torch/__init__.py").write_text(torch or NO_GPU.replace("custom_op=0", ""))
                ran = subprocess.run([PROJECT / "learn", "torch", *words], capture_output=True, text=True,
                                     env={**os.environ, "PYTHONPATH": str(self.root), "CUDACXX": nvcc})
                self.assertEqual((ran.returncode, ran.stdout, ran.stderr.count("\n")), (2, "", 1), ran.stderr)
                self.assertIn(said, ran.stderr)
                self.assertTrue(ran.stderr.startswith("learn"), ran.stderr)


class Sources(Scratch):
    def test_each_ladder_has_one_call(self):
        glue = (EXAMPLE / "launch.cu").read_text()
        named = re.findall(r"^  // ---- ([\w/ ]+)", glue, re.M)
        self.assertEqual(sorted(" ".join(named).split()), sorted([*tutorial_ops.LADDERS, "all"]))
        self.assertLessEqual({*tutorial_ops.LADDERS}, {project.short_name(folder) for folder in project.ladders()})

    def test_the_file_of_a_step(self):
        for ladder in ("02", "02/few_rows", "05/strips", "06", "06/any_shape", "06/backward", "06/backward_tensor_cores"):
            folder, step = tutorial_ops.find(ladder)
            text, rule, main = tutorial_ops.source_of(folder, step).partition("\n// ---- main ---")
            with self.subTest(ladder):
                self.assertEqual(main.count(f"  tutorial::{step_namespace(folder)}::{step.name}("), 1)
                self.assertFalse(re.findall(r"\b(?:STEP|LADDER|CHAPTER|HEADER)\b|  // ---- ", main))
                self.assertFalse(re.findall('#include "', text))
                self.assertIn('\nextern "C" const char* launch(', main)
        self.assertIn("void require_supported(const Attention& shape, const char* step, const Tensors& at) {", text)  # launch.cu's

    @unittest.skipUnless(shutil.which("nvcc") or Path("/usr/local/cuda/bin/nvcc").exists(), "there is no nvcc")
    def test_what_nvcc_makes_of_it_can_be_called(self):
        cuda = types.SimpleNamespace(is_available=lambda: True, get_device_capability=lambda: (8, 0))
        self.addCleanup(setattr, tutorial_ops, "torch", tutorial_ops.torch)
        tutorial_ops.torch = types.SimpleNamespace(library=types.SimpleNamespace(custom_op=0), cuda=cuda)
        launch = tutorial_ops.built(*tutorial_ops.find("06", "q_outer"))
        no_memory = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(lambda count: None)
        said = launch((ctypes.c_void_p * 6)(), (ctypes.c_int64 * 8)(), 0, no_memory, None)  # of empty tensors
        self.assertRegex((said or b"cudaSetDevice(device): there is a GPU").decode(), r"cudaSetDevice\(device\): .")

    def test_a_step_of_ones_own(self):
        shutil.copytree(EXAMPLE, self.root / "docs/examples/pytorch")
        for path in ("02_tiled_matmul/02_tiled_matmul.hpp", "common/kernel/check.hpp", "common/kernel/step.hpp"):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / path, self.root / path)
        own = (PROJECT / "02_tiled_matmul/step1_shared_tile.cu").read_text().replace("shared_tile", "mine")
        (self.root / "02_tiled_matmul/step6_mine.cu").write_text(own)
        ask = "import tutorial_ops as ops; print(ops.source_of(*ops.find('02', 'mine')))"
        text = subprocess.run([sys.executable, "-c", ask], cwd=self.root / "docs/examples/pytorch", check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        self.assertIn("  tutorial::tiled_matmul::mine(t[0], t[1], t[2], s[0], s[1], s[2]);", text)
        self.assertIn("\nvoid mine(const float* A", text)


if __name__ == "__main__":
    unittest.main()
