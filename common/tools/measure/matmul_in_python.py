#!/usr/bin/env python3
"""What a product of two matrices takes in Python, on the processor: three loops, tiles, and NumPy.

usage: common/tools/measure/matmul_in_python.py        (needs NumPy)

Writes docs/results/<device>/matmul_in_python.csv (RESULTS overrides the folder). Three loops would take hours at 4096,
so each way is timed at a size of its own: nanoseconds per multiply-add carry over, as claims.md does. In float32, the
median of five runs; `threads` is how many processors NumPy may use.
"""
import os
import statistics
import sys
import time

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
import results


def three_loops(a, b, c):
    rows, depth = a.shape
    for i in range(rows):
        for j in range(b.shape[1]):
            for k in range(depth):
                c[i, j] += a[i, k] * b[k, j]


def tiles(a, b, c, side=64):
    for i in range(0, a.shape[0], side):
        for j in range(0, b.shape[1], side):
            for k in range(0, a.shape[1], side):
                c[i:i + side, j:j + side] += a[i:i + side, k:k + side] @ b[k:k + side, j:j + side]


def whole(a, b, c):
    c += a @ b


def main():
    project.arguments(__doc__).parse_args()
    import numpy
    random = numpy.random.default_rng(1)
    threads, origin, rows = len(os.sched_getaffinity(0)), project.origin(), []
    for way, n in ((three_loops, 64), (tiles, 2048), (whole, 4096)):
        a, b = (random.standard_normal((n, n), dtype=numpy.float32) for _ in range(2))
        times = []
        for _ in range(5):
            c = numpy.zeros((n, n), dtype=numpy.float32)
            began = time.perf_counter()
            way(a, b, c)
            times.append(time.perf_counter() - began)
        if not numpy.allclose(c, a.astype(float) @ b.astype(float), atol=1e-3 * n**0.5):
            project.die(f"{way.__name__} is wrong: nothing is written")
        seconds = statistics.median(times)
        rows.append({"way": way.__name__, "n": n, "seconds": f"{seconds:.4g}",
                     "ns_per_multiply_add": f"{1e9 * seconds / n**3:.4g}", "threads": threads} | origin)
        print(", ".join(f"{name} {value}" for name, value in rows[-1].items()))
    results.keep_table("matmul_in_python", rows)
    results.quote()


if __name__ == "__main__":
    main()
