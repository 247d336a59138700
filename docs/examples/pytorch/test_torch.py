#!/usr/bin/env python3
"""The operators on a GPU, beside PyTorch's own: docs/examples/pytorch/test_torch.py [LADDER …], or `all` for all."""
import sys
import unittest

import torch
from tutorial_ops import ATTENTION, BACKWARD, LADDERS, load, random_inputs
from bench_torch import attention  # in float64; the last query sees all keys

SIZES = {"M": 33, "N": 40, "K": 24, "rows": 5, "columns": 700, "m": 20, "n": 34, "k": 16, "3": 3,
         "B": 2, "NH": 4, "NH_kv": 2, "T": 35, "Tq": 37, "Tk": 53, "HS": 16}
CLOSE = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 2e-2}
tested = ["02", "04", "05", "06", "06/backward", "06/any_shape", "06/fp16"]


def exactly(kind, inputs):
    exact = [x if x is True else x.double() for x in inputs]
    return exact_attention(*exact) if kind is ATTENTION else kind.torchs(*exact)


def exact_attention(q, k, v, causal):
    return attention(q, *(x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v)), causal)


class Operators(unittest.TestCase):
    def close(self, got, want, most):
        torch.testing.assert_close(got.double(), want.double(), rtol=most, atol=most)

    def test_each_ladder(self):
        for ladder in tested:
            with self.subTest(ladder):
                torch.compiler.reset()  # one function is compiled a few times at most
                (kind, dtype, _), most, op = LADDERS[ladder], CLOSE[LADDERS[ladder][1]], load(ladder)
                inputs = random_inputs(kind, dtype, SIZES)
                first = (lambda *args: op(*args)[0]) if kind is ATTENTION else op
                self.close(first(*inputs), exactly(kind, inputs), most)
                torch.library.opcheck(op.default, inputs)
                compiled = torch.compile(lambda *args: 2 * first(*args), fullgraph=True, dynamic=True)
                self.close(compiled(*inputs), 2 * exactly(kind, inputs), 2 * most)
                self.stream(first, inputs, 3 * exactly(kind, inputs), 3 * most)
                if kind is ATTENTION and dtype in BACKWARD:
                    self.gradients(op, first, inputs[:3], max(most, 1e-4))

    def stream(self, op, inputs, want, most):
        """All of it is queued long before the inputs are there: what does not wait in its stream reads zeros."""
        late, total = [x if x is True else torch.zeros_like(x) for x in inputs], torch.zeros_like(want)
        side = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(200_000_000)
            for x, y in zip(late, inputs):
                _ = x is True or x.copy_(y)
            for _ in range(3):
                total += op(*late)
        side.synchronize()
        self.close(total, want, most)

    def gradients(self, op, first, tensors, most):
        weights = torch.randn_like(tensors[0])  # not of the result: it is rounded, and so is what comes of it
        for causal in (True, False):
            for function in (first, torch.compile(first, fullgraph=True)):
                ours, exact = ([x.to(dtype, copy=True).requires_grad_() for x in tensors]
                               for dtype in (weights.dtype, torch.float64))
                got, want = (torch.autograd.grad((of(*x, causal) * weights).sum(), x)
                             for of, x in ((function, ours), (exact_attention, exact)))
                for one, other in zip(got, want):
                    self.close(one, other, most)
            torch.library.opcheck(op.default, (*ours, causal))

    def test_refusals(self):
        op, A, B = load("02"), torch.ones(5, 7, device="cuda"), torch.ones(7, 3, device="cuda")
        for inputs, said in (((A.cpu(), B), "A is on cpu"), ((A.double(), B), "A is of torch.float64"),
                             ((A, A), r"B is of shape \(5, 7\)"), ((A[0], B), r"A is of shape \(7,\)"),
                             ((A, B.T.contiguous().T), "B is not contiguous")):
            with self.assertRaisesRegex(RuntimeError, f"takes A.M,K. B.K,N. of torch.float32, contiguous.*{said}$"):
                op(*inputs)
        x = torch.ones(1, 1, 4, 4096, device="cuda")
        with self.assertRaisesRegex(RuntimeError, "head size 4096 needs .* bytes of shared memory"):
            load("06", "q_outer")(x, x, x, True)


if __name__ == "__main__":
    if not torch.cuda.is_available():
        sys.exit("test_torch.py needs a GPU that PyTorch can use")
    major = torch.cuda.get_device_capability()[0]
    more = ["06/backward_tensor_cores"] * (major >= 8) + ["02/hopper", "06/hopper"] * (major == 9)
    tested = list(LADDERS) if sys.argv[1:] == ["all"] else sys.argv[1:] or tested + more
    unittest.main(argv=sys.argv[:1])
