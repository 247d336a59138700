#!/usr/bin/env python3
"""The model of chapter 06 learns by our attention what it learns by PyTorch's own: 100 steps of training with each, from
the same start on the same text, with a loss at each step. Needs a GPU, nvcc and PyTorch 2.4 or newer."""
import sys
import unittest
from pathlib import Path

import torch
from torch.nn import functional

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "06_flash_attention/model/weights")]
import train  # noqa: E402
import tutorial_ops  # noqa: E402

STEPS = 100


def losses(attend, text):
    torch.manual_seed(1)
    model = train.Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    found = []
    for _ in range(STEPS):
        starts = torch.randint(len(text) - train.CONTEXT - 1, (16,))
        rows = torch.stack([text[start: start + train.CONTEXT + 1] for start in starts]).cuda()
        loss = functional.cross_entropy(model(rows[:, :-1], attend).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


class Training(unittest.TestCase):
    def test_the_losses_are_those_of_pytorch(self):
        text, _ = train.learnt_and_held_out(sorted((ROOT / "docs").glob("0*.md")))
        ours = tutorial_ops.load("06", "q_outer")

        def attend(q, k, v):
            out, _ = ours(q.contiguous(), k.contiguous(), v.contiguous(), causal=True)
            return out

        own, with_ours = losses(train.attention, text), losses(attend, text)
        # Rounding differs, and each step carries it on; a wrong gradient shows in the first few steps.
        for step, (one, other) in enumerate(zip(own, with_ours)):
            self.assertLess(abs(one - other), 1e-4 if step < 10 else 0.02, f"at step {step}")
        self.assertLess(with_ours[-1], 0.6 * with_ours[0])  # it did learn


if __name__ == "__main__":
    unittest.main()
