#!/usr/bin/env python3
"""PyTorch's rows of a chapter's table: the same problem, timed in the same way.

usage: common/tools/measure/bench_torch.py NN[/part] [the chapter's size options] [--csv FILE]

Prints a line for each routine, and writes columns of the programs' --csv. A result is compared with
PyTorch's own in float64 on a part of the batch, and only what is right is timed: median of --repeats runs
after 3 that do not count, each with a cold L2 (a buffer of 256 MiB or four times the L2 is read before it).
docs/measuring.md says why. TF32 is off unless --tf32 asks for it.
"""
import argparse
import csv
import math
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right

HEADS = ("chapter,device,problem,step,kind,check,message,max_error,bound,flop,bytes,median_ms,low_ms,high_ms,"
         "repeats").split(",")


def options(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("chapter", choices=list(ROUTINES))
    parser.add_argument("--neighbours", type=int, default=1)
    parser.add_argument("--product", action="store_true")
    for name in "m n k d batch rows cols seq seq_kv channels heads kv_heads head_dim".split():
        parser.add_argument("--" + name.replace("_", "-"), type=int)
    parser.add_argument("--mask", default="causal")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--tf32", action="store_true")
    for out in ("--bf16-out", "--fp16-out"):
        parser.add_argument(out, action="store_true", help="torch.mm gives what A and B are in any case")
    parser.add_argument("--layout", default="nn")
    parser.add_argument("--epilogue", default="none")
    parser.add_argument("--kernel", action="append", help="which of our steps the program runs: nothing to do with this")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--csv")
    return parser.parse_args(words)


def normal(*shape):
    return torch.randn(*shape, device="cuda")


def narrow(o):
    """The type of 16 bits that the chapter's tensors have."""
    return torch.float16 if o.chapter.endswith("/fp16") else torch.bfloat16


class Timer:
    def __init__(self, repeats):
        l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        self.flush = torch.ones(max(256 << 20, 4 * l2_bytes) // 4, device="cuda")
        self.repeats = repeats

    def __call__(self, launch):
        """Milliseconds, sorted."""
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        times = []
        for run in range(3 + self.repeats):
            for _ in range(8):  # so that the device is busy until all of a launch, autograd's too, is queued
                self.flush.amax()
            start.record()
            launch()
            stop.record()
            stop.synchronize()
            if run >= 3:
                times.append(start.elapsed_time(stop))
        return sorted(times)


def seen_by(mask, M, N):
    """True where a mask of chapter 03 keeps, or None where it keeps all."""
    row = torch.arange(M, device="cuda")[:, None] + N - M  # the last row sees the last column
    col = torch.arange(N, device="cuda")[None, :]
    if mask == "none":
        return None
    if mask == "causal":
        return col <= row
    if mask.startswith("window:"):
        return (col <= row) & (col > row - int(mask[len("window:"):]))
    sys.exit(f"bench_torch.py knows the masks none, causal and window:W, and not {mask}")


def attention(q, k, v, causal):
    """In float64, without PyTorch's own attention."""
    scores = q.double() @ k.double().transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        Tq, Tk = scores.shape[-2:]
        later = torch.ones(Tq, Tk, dtype=torch.bool, device="cuda").triu(1 + Tk - Tq)  # the last query sees all
        scores = scores.masked_fill(later, -math.inf)
    return torch.softmax(scores, -1) @ v.double()


# ---- the chapters: what to call and what it must give. Each yields
#      (name, function, rows of the result to compare, those rows in float64, error allowed, FLOP, bytes), and
#      a message where there is more to say


def matmul(o):
    A, B = normal(o.m, o.k), normal(o.k, o.n)
    want = A[:64].double() @ B.double()
    flop, size = 2 * o.m * o.n * o.k, 4 * (o.m * o.k + o.k * o.n + o.m * o.n)
    yield "torch.mm", lambda: torch.mm(A, B), lambda C: C[:64], want, 1e-5 * o.k, flop, size


def matmul_of_16_bits(o):
    P, to = o.batch or 1, narrow(o)
    shape = (P, o.n, o.k) if o.layout == "nt" else (P, o.k, o.n)  # as B lies
    A, lies = normal(P, o.m, o.k).to(to), normal(*shape).to(to)
    B, bias = lies.mT if o.layout == "nt" else lies, normal(o.n).to(to)
    want = A[-1, :64].double() @ B[-1].double()
    flop, size = 2 * P * o.m * o.n * o.k, 2 * P * (o.m * o.k + o.k * o.n + o.m * o.n)
    allowed = 1e-5 * o.k + 2**-8 * want.abs().max().item()
    if o.epilogue == "bias_gelu":
        want = F.gelu(want + bias.double(), approximate="tanh")
        call = lambda: F.gelu(F.linear(A[0], lies[0], bias), approximate="tanh")
        yield "F.linear, F.gelu", call, lambda C: C[:64], want, 2 * allowed, flop, size
    elif P > 1:
        yield "torch.bmm", lambda: torch.bmm(A, B), lambda C: C[-1, :64], want, allowed, flop, size
    else:
        yield "torch.mm", lambda: torch.mm(A[0], B[0]), lambda C: C[:64], want, allowed, flop, size


def matmul_of_8_bits(o):
    """cuBLASLt's, which PyTorch takes for numbers of 8 bits: sums as the tensor cores have them, and taken out to fp32 now and
    then; a scale for each matrix, or for rows."""
    A, B = normal(o.m, o.k).to(torch.float8_e4m3fn), normal(o.n, o.k).to(torch.float8_e4m3fn)
    want = A[:64].double() @ B.double().mT
    flop, size = 2 * o.m * o.n * o.k, o.m * o.k + o.k * o.n + 2 * o.m * o.n
    one, rows, columns = (torch.ones(shape, device="cuda") for shape in ((), (o.m, 1), (1, o.n)))
    allowed = 2**-6 * want.abs().max().item()
    if o.k % 16 or o.n % 16:
        return
    for name, a, b, fast in (("fast sums", one, one, True), ("", one, one, False), ("rows, fast sums", rows, columns, True),
                             ("rows", rows, columns, False)):
        call = lambda a=a, b=b, fast=fast: torch._scaled_mm(A, B.mT, scale_a=a, scale_b=b, out_dtype=torch.bfloat16,
                                                            use_fast_accum=fast)
        yield f"torch._scaled_mm{', ' * bool(name)}{name}", call, lambda C: C[:64], want, allowed, flop, size
    A16, B16 = A.bfloat16(), B.bfloat16()
    yield "torch.mm, bf16", lambda: torch.mm(A16, B16.mT), lambda C: C[:64], want, allowed, flop, 2 * size


def masked_bmm(o):
    A, B = normal(o.batch, o.m, o.k), normal(o.batch, o.k, o.n)
    keep = seen_by(o.mask, o.m, o.n)
    product = A[-1].double() @ B[-1].double()
    flop = 2 * o.batch * o.m * o.n * o.k
    size = 4 * o.batch * (o.m * o.k + o.k * o.n + o.m * o.n)
    yield "torch.bmm", lambda: torch.bmm(A, B), lambda C: C[-1], product, 1e-5 * o.k, flop, size
    if keep is not None:
        drop = ~keep
        masked = product.masked_fill(drop, -math.inf)
        flop = flop * int(keep.sum()) // keep.numel()
        for name, fill in (("masked_fill", torch.Tensor.masked_fill), ("masked_fill_", torch.Tensor.masked_fill_)):
            call = lambda fill=fill: fill(torch.bmm(A, B), drop, -math.inf)
            yield "torch.bmm + " + name, call, lambda C: C[-1], masked, 1e-5 * o.k, flop, size
    C = torch.empty(o.batch, o.m, o.n, device="cuda")
    ones = torch.ones(o.m, o.n, device="cuda", dtype=torch.float64)
    yield "torch fill_ (write only)", lambda: C.fill_(1.0), lambda C: C[-1], ones, 0, 0, 4 * C.numel()


def nearest(o):
    A, B, k = normal(o.m, o.d), normal(o.n, o.d), o.neighbours
    some = A[:64].double()
    exact = some @ B.double().T if o.product else torch.cdist(some, B.double(), compute_mode="donot_use_mm_for_euclid_dist")
    want = exact.sort(1).values[:, :k]
    flop, size = 2 * o.m * o.n * o.d, 4 * (o.m * o.d + o.n * o.d + o.m * k)
    # What counts is how far the points are that were found: of two as near, either may come first.
    part = lambda found: exact.gather(1, found[:64].view(-1, k))
    if o.product and k == 1:
        yield "torch.mm + argmin", lambda: torch.mm(A, B.T).argmin(1), part, want, 1e-5 * o.d, flop, size
    if o.product:
        call = lambda: torch.mm(A, B.T).topk(k, largest=False).indices
        yield "torch.mm + topk", call, part, want, 1e-5 * o.d, flop, size
        return
    call = lambda: torch.cdist(A, B).topk(k, largest=False).indices
    yield "torch.cdist + topk", call, part, want, 1e-4, flop, size
    call = lambda: torch.addmm(B.square().sum(1), A, B.T, alpha=-2).topk(k, largest=False).indices
    yield "torch.addmm + topk", call, part, want, 1e-4, flop, size


def softmax(o):
    x = normal(o.rows, o.cols)
    want = torch.softmax(x[:8].double(), -1)
    yield "torch.softmax", lambda: torch.softmax(x, -1), lambda y: y[:8], want, 1e-5, 5 * x.numel(), 8 * x.numel()


def unfused_attention(o):
    B, T, C, NH = o.batch, o.seq, o.channels, o.heads
    causal = not o.full
    qkv = normal(B, T, 3, NH, C // NH)
    q, k, v = (x.transpose(1, 2) for x in qkv.unbind(2))
    want = attention(q[-1], k[-1], v[-1], causal)
    flop, size = 4 * B * T * (T + 1) // 2 * C if causal else 4 * B * T * T * C, 16 * B * T * C
    for name, backend in (("math", SDPBackend.MATH), ("memory-efficient", SDPBackend.EFFICIENT_ATTENTION)):

        def call(backend=backend):
            with sdpa_kernel(backend):
                out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return out.transpose(1, 2).reshape(B, T, C)

        part = lambda out: out.view(B, T, NH, C // NH)[-1].transpose(0, 1)
        allowed = 2e-2 if o.tf32 else 1e-4
        yield f"torch sdpa, {name}", call, part, want, allowed, flop, size


def flash_attention(o):
    Tq, Tk, heads, kv_heads = o.seq, o.seq_kv or o.seq, o.heads, o.kv_heads or o.heads
    causal = not o.full
    q = normal(o.batch, heads, Tq, o.head_dim)
    k, v = (normal(o.batch, kv_heads, Tk, o.head_dim) for _ in range(2))
    want = attention(q[-1, -1], k[-1, -1], v[-1, -1], causal)
    visible = sum(max(0, min(Tk, i + 1 + Tk - Tq)) for i in range(Tq)) if causal else Tq * Tk
    size = 8 * (q.numel() + k.numel())
    # The kernel takes as many heads of k and v as of q: copies of them, which are made before the clock starts.
    name = "torch sdpa, memory-efficient"
    if kv_heads < heads:
        name += ", heads expanded"
        k, v = (x.repeat_interleave(heads // kv_heads, 1) for x in (k, v))
    # is_causal lets query 0 see one key, whatever Tk is.
    mask = causal_lower_right(Tq, Tk) if causal and 1 < Tq != Tk else None

    def call():
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal and Tq == Tk)

    part = lambda out: out[-1, -1]
    yield name, call, part, want, 1e-4, 4 * o.batch * heads * visible * o.head_dim, size


def flash_attention_of_16_bits(o):
    Tq, Tk, heads, kv_heads = o.seq, o.seq_kv or o.seq, o.heads, o.kv_heads or o.heads
    causal = not o.full
    q = normal(o.batch, heads, Tq, o.head_dim).to(narrow(o))
    k, v = (normal(o.batch, kv_heads, Tk, o.head_dim).to(narrow(o)) for _ in range(2))
    want = attention(q[-1, -1], k[-1, -1], v[-1, -1], causal)
    visible = sum(max(0, min(Tk, i + 1 + Tk - Tq)) for i in range(Tq)) if causal else Tq * Tk
    flop, size = 4 * o.batch * heads * visible * o.head_dim, 4 * (q.numel() + k.numel())
    # is_causal lets query 0 see one key, whatever Tk is; with a mask the same backends see all that ours does.
    mask = causal_lower_right(Tq, Tk) if causal and 1 < Tq != Tk else None
    for name, backend in (("FlashAttention 2", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION)):

        def call(backend=backend):
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal and Tq == Tk,
                                                      enable_gqa=kv_heads < heads)

        try:
            call()
        except RuntimeError:  # this backend does not take these sizes
            continue
        yield f"torch sdpa, {name}", call, lambda out: out[-1, -1], want, 2e-2, flop, size


def attention_backward(o):
    """Backward passes alone. The message: what the forward pass keeps for one beside out, and what it needs itself."""
    causal = not o.full
    q, k, v, dout = (normal(o.batch, o.heads, o.seq, o.head_dim) for _ in range(4))
    of_last = [x[-1, -1].double().requires_grad_() for x in (q, k, v)]
    want = torch.stack(torch.autograd.grad(attention(*of_last, causal), of_last, dout[-1, -1].double()))
    pairs = o.batch * o.heads * (o.seq * (o.seq + 1) // 2 if causal else o.seq * o.seq)
    inputs = [x.requires_grad_() for x in (q, k, v)]
    torch.utils.deterministic.fill_uninitialized_memory = False  # else "same bits" would fill its results first
    for name, backend, same_bits in (("math", SDPBackend.MATH, False),
                                     ("memory-efficient", SDPBackend.EFFICIENT_ATTENTION, False),
                                     ("memory-efficient, same bits", SDPBackend.EFFICIENT_ATTENTION, True)):
        before = torch.cuda.memory_allocated()
        with sdpa_kernel(backend):
            out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        kept = torch.cuda.memory_allocated() - before - out.nbytes

        def call(out=out):
            return torch.autograd.grad(out, inputs, dout, retain_graph=True)

        torch.use_deterministic_algorithms(same_bits)
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        call()
        most = torch.cuda.max_memory_allocated() - before - 3 * q.nbytes
        message = f"{kept / 1e6:.1f} MB kept for it; {most / 1e6:.1f} MB more while it runs"
        part = lambda gradients: torch.stack([x[-1, -1] for x in gradients])
        size = 4 * (8 * q.numel() + q.numel() // o.head_dim)
        yield f"torch, {name}", call, part, want, 1e-3, 10 * pairs * o.head_dim, size, message
        torch.use_deterministic_algorithms(False)


def attention_backward_of_16_bits(o):
    """Backward passes alone, in bf16."""
    Tq, Tk, heads, kv_heads = o.seq, o.seq_kv or o.seq, o.heads, o.kv_heads or o.heads
    causal, group = not o.full, heads // kv_heads
    q, dout = (normal(o.batch, heads, Tq, o.head_dim).bfloat16() for _ in range(2))
    k, v = (normal(o.batch, kv_heads, Tk, o.head_dim).bfloat16() for _ in range(2))
    of_heads = []  # of those that share the last head of k and v; one at a time, for their scores take much memory
    for head in range(heads - group, heads):
        leaves = [x.double().requires_grad_() for x in (q[-1, head], k[-1, -1], v[-1, -1])]
        of_heads.append(torch.autograd.grad(attention(*leaves, causal), leaves, dout[-1, head].double()))
    dq, dk, dv = zip(*of_heads)
    want = torch.cat([*dq, sum(dk), sum(dv)])
    part = lambda gradients: torch.cat([*gradients[0][-1, -group:], gradients[1][-1, -1], gradients[2][-1, -1]])
    allowed = max(5e-2, 2**-7 * want.abs().max().item())  # bf16 rounds by 2**-9 of a number at most
    visible = sum(max(0, min(Tk, i + 1 + Tk - Tq)) for i in range(Tq)) if causal else Tq * Tk
    flop = 10 * o.batch * heads * visible * o.head_dim
    size = 8 * (q.numel() + k.numel()) + 4 * q.numel() // o.head_dim
    mask = causal_lower_right(Tq, Tk) if causal and 1 < Tq != Tk else None
    inputs = [x.requires_grad_() for x in (q, k, v)]
    for name, backend in (("FlashAttention 2", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION)):
        try:
            with sdpa_kernel(backend):
                out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal and Tq == Tk,
                                                     enable_gqa=kv_heads < heads)
            call = lambda out=out: torch.autograd.grad(out, inputs, dout, retain_graph=True)
            call()
        except RuntimeError:  # this backend does not take these sizes
            continue
        yield f"torch, {name}", call, part, want, allowed, flop, size


ROUTINES = {  # by the chapter or part whose table they stand beside
    **dict.fromkeys(["01", "02", "02/faster", "02/any_shape"], matmul),
    **dict.fromkeys(["02/tensor_cores", "02/hopper", "02/few_rows", "02/fp16"], matmul_of_16_bits),
    "02/fp8": matmul_of_8_bits,
    **dict.fromkeys(["03", "03/block_lists"], masked_bmm),
    "03/nearest": nearest,
    **dict.fromkeys(["04", "04/long_rows"], softmax),
    "05": unfused_attention,
    **dict.fromkeys(["06", "06/faster", "06/any_shape"], flash_attention),
    **dict.fromkeys(["06/tensor_cores", "06/hopper", "06/few_queries", "06/fp16", "06/fp8"], flash_attention_of_16_bits),
    "06/backward": attention_backward,
    "06/backward_tensor_cores": attention_backward_of_16_bits,
}


def largest_error(got, want):
    """NaN where one is wanted or got and not the other; infinities must match exactly."""
    finite = torch.isfinite(want)
    if not torch.equal(got.double()[~finite], want[~finite]):
        return math.nan
    return (got.double() - want)[finite].abs().max().item()


NEEDED = {  # by the chapter, and where a part takes other sizes, by the part
    "01": ["m", "n", "k"], "02": ["m", "n", "k"], "03": ["batch", "m", "n", "k"], "03/nearest": ["m", "n", "d"],
    "04": ["rows", "cols"], "05": ["batch", "seq", "channels", "heads"], "06": ["batch", "heads", "seq", "head_dim"],
}


def measure(words):
    """The rows of one problem, as the program's --csv has them, and whether all are right. Prints them, too."""
    o = options(words)
    missing = [name for name in NEEDED.get(o.chapter, NEEDED[o.chapter[:2]]) if getattr(o, name) is None]
    if missing:
        sys.exit("bench_torch.py needs the sizes that are missing: --" + ", --".join(missing).replace("_", "-"))
    if not torch.cuda.is_available():
        sys.exit("bench_torch.py needs a GPU that PyTorch can use; torch.cuda.is_available() is false")
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = o.tf32
    timer = Timer(o.repeats)
    problem = " ".join(word for word in words[1:] if word != "--csv" and word != o.csv)
    device = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}"
    lines, all_right = [], True
    for name, call, part, want, allowed, flop, size, *message in ROUTINES[o.chapter](o):
        error = largest_error(part(call()), want)
        right = error <= allowed
        all_right &= right
        line = dict.fromkeys(HEADS, "")
        line |= {"chapter": o.chapter, "device": device, "problem": problem, "step": name, "kind": "pytorch",
                 "check": "ok" if right else "WRONG", "message": "".join(message), "max_error": f"{error:.3g}",
                 "bound": f"{allowed:.3g}",
                 "flop": f"{flop:.9g}", "bytes": f"{size:.9g}"}
        text = "WRONG"
        if right:
            times = timer(call)
            median, low, high = (times[round(q * (len(times) - 1))] for q in (0.5, 0.25, 0.75))
            line |= {"median_ms": f"{median:.9g}", "low_ms": f"{low:.9g}", "high_ms": f"{high:.9g}",
                     "repeats": o.repeats}
            text = f"{median:8.4f} ms  {flop / median / 1e9:6.1f} TFLOP/s  {size / median / 1e6:6.0f} GB/s"
        print(f"  {name:34s} {text}", *message, flush=True)
        lines.append(line)
    return lines, all_right


def main():
    lines, all_right = measure(sys.argv[1:])
    csv_file = options(sys.argv[1:]).csv
    if csv_file:
        with open(csv_file, "w", newline="") as file:
            writer = csv.DictWriter(file, HEADS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
