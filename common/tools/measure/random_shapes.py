"""Shapes that nobody tuned for: drawn log-uniformly, from a seed. Used by bench.py.

What counts is how fast a ladder's last step, or its step for any shape, is beside the library: the geometric mean over
all shapes, and the 10th percentile, which nine in ten reach. A fixed size is tuned for, knowingly or not; another seed
is not.
"""
import math
import random

import project

MOST = 8192  # rows and columns of a product; queries and keys of a head
MOST_ELEMENTS = 2**28  # of a tensor of attention
MOST_FLOP = 2e12  # of an attention: more only takes long


def log_uniform(draw, low, high):
    """An integer from low to high; as many below 2·low as between high/2 and high."""
    return min(high, int(math.exp(draw.uniform(math.log(low), math.log(high + 1)))))


def up_to_eight(size):
    return -(-size // 8) * 8


def fp32_product(draw):
    m, n, k = (log_uniform(draw, 1, MOST) for _ in range(3))
    return f"--m {m} --n {n} --k {k}"


def bf16_product(draw):
    """Rows that begin at multiples of 16 bytes, as all of a model have."""
    m, n, k = (log_uniform(draw, 1, MOST) for _ in range(3))
    return f"--m {m} --n {up_to_eight(n)} --k {up_to_eight(k)} --bf16-out"


def attention(draw, head_sizes):
    """Grouped heads or not, one length or two, with a causal mask or without."""
    while True:
        batch, kv_heads = log_uniform(draw, 1, 32), log_uniform(draw, 1, 16)
        heads = kv_heads * draw.choice((1, 1, 4, 8))
        keys = log_uniform(draw, 1, MOST)
        queries = draw.choice((keys, log_uniform(draw, 1, keys)))
        head_size = draw.choice((64, 128, draw.choice(head_sizes)))
        options = [f"--batch {batch} --heads {heads} --kv-heads {kv_heads} --seq {queries} --seq-kv {keys}",
                   f"--head-dim {head_size}", *draw.choice(([], ["--full"]))]
        if (batch * heads * max(queries, keys) * head_size <= MOST_ELEMENTS
                and 4 * batch * heads * queries * keys * head_size <= MOST_FLOP):
            return " ".join(options)


SHAPES = {  # by ladder; the other ladders have none
    **dict.fromkeys(["02", "02/faster", "02/any_shape", "02/tf32"], fp32_product),
    **dict.fromkeys(["02/tensor_cores", "02/hopper", "02/few_rows"], bf16_product),
    **dict.fromkeys(["06/faster", "06/any_shape"], lambda draw: attention(draw, range(4, 129, 4))),
    **dict.fromkeys(["06/tensor_cores", "06/hopper", "06/few_queries", "06/backward_tensor_cores"],
                    lambda draw: attention(draw, range(8, 257, 8))),
}


STEPS = {  # by ladder, where it is not the last: the one for any shape
    "02/tensor_cores": "by_shape", "02/hopper": "by_shape", "06/any_shape": "by_shape", "06/tensor_cores": "any_address",
    "06/hopper": "head_sizes", "06/backward_tensor_cores": "by_shape"}


def drawn(ladder, count, seed):
    """The options of `count` problems: the same ones for the same seed."""
    if ladder not in SHAPES:
        project.die(f"there are no random shapes for {ladder}; there are for {', '.join(SHAPES)}")
    draw = random.Random(seed)
    return [SHAPES[ladder](draw) for _ in range(count)]


def library_kind(ladder):
    """Of which kind the library's rows are: the program calls cuBLAS itself; attention is PyTorch's."""
    return "vendor" if ladder.startswith("02") else "pytorch"


# ---- what came out of it: rows with options, median_ms, library and library_ms


def ratio(row):
    """Our speed beside the library's: 1 is as fast."""
    return float(row["library_ms"]) / float(row["median_ms"])


def mean(rows):
    """Geometric: twice as fast at one shape and half as fast at another are 1 together."""
    return math.exp(sum(math.log(ratio(row)) for row in rows) / len(rows))


def tenth_percentile(rows):
    """Nine shapes in ten are at least as fast."""
    return sorted(map(ratio, rows))[len(rows) // 10]


def over(rows, microseconds):
    """Those for which the library takes longer."""
    return [row for row in rows if 1000 * float(row["library_ms"]) > microseconds]


def summary(rows):
    """The lines that `./learn bench NN --random` ends with."""
    yield "shapes                            how many   mean   10th percentile    (the library's time, divided by ours)"
    for label, some in (("all", rows), ("the library takes over 20 µs", over(rows, 20)),
                        ("the library takes over 100 µs", over(rows, 100))):
        yield f"{label:33} {len(some):8}" + (f"{mean(some):7.2f} {tenth_percentile(some):12.2f}" if some else "")
    yield "the slowest beside the library:"
    for row in sorted(rows, key=ratio)[:10]:
        ours, library = (1000 * float(row[column]) for column in ("median_ms", "library_ms"))
        yield f"  {ratio(row):.2f}   {ours:8.1f} µs, {row['library']} {library:.1f} µs   {row['options']}"
