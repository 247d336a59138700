#!/usr/bin/env python3
"""A step as an operator of PyTorch, such as torch.ops.tutorial.q_outer_06; docs/pytorch.md says more.

usage: ./learn torch CHAPTER [STEP]     CHAPTER: 02, or a part of it: 02/hopper. Without STEP its last one

Compiles the step as it stands in its file, compares its result with PyTorch's own, and says how long both take.
"""
import ctypes
import hashlib
import math
import re
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[2] / "common/tools"))
import project  # noqa: E402


def refuse(sentence):
    raise RuntimeError(sentence)


project.die = refuse  # what the tools say, too: it does not end a program that calls load()
import cpp_items  # noqa: E402
import diff_steps  # noqa: E402
import take  # noqa: E402

try:
    import torch
    from torch.nn.functional import scaled_dot_product_attention as sdpa
except ImportError:
    torch = None

# ---- What the ladders compute

# Inputs, and outputs, with their sizes, behind + what a launcher needs besides; sizes as launch.cu has them, s[0] …;
# PyTorch's own, and how far a kernel in fp32 may be off from it. r is the rounding of a narrower type.
Kind = namedtuple("Kind", "inputs outputs sizes torchs bound", defaults=[None] * 2)
U = 2**-24  # fp32 rounds by at most this part of a number


def attention_bound(r, q, k, v, causal):  # softmax_mean() of common/take/take.hpp
    scores = 1.01 * math.sqrt(q.shape[3]) * U * (q.norm(dim=3).max() * k.norm(dim=3).max()).item()
    return (math.expm1(2 * scores) + (4 * k.shape[2] + 100) * U + r) * ATTENTION.torchs(q, k, v.abs(), causal)


heads = lambda qkv: qkv.transpose(1, 3).unbind(2)  # three of (B, NH, T, HS)
PRODUCT = Kind("A(M,K) B(K,N)", "C(M,N)", "M N K", lambda A, B: A @ B, lambda r, A, B: 1.01 * A.shape[1] * U * (A.abs() @ B.abs()))
# softmax's bound is that of common/compare/softmax_error.hpp, as for the two numbers that are furthest apart
SOFTMAX = Kind("x(rows,columns)", "y(rows,columns)", "rows columns", lambda x: torch.softmax(x, 1), lambda r, x: 2**-147 +
               U * (10 + 4 * (x.max() - x.min()) + 6.1 * x.shape[1] + 4 * math.log(x.shape[1])) * torch.softmax(x, 1))
PACKED = Kind("qkv(B,T,3,NH,HS)", "out(B,T,NH,HS)", "B T NH HS causal",
              lambda qkv, causal: ATTENTION.torchs(*heads(qkv), causal).transpose(1, 2),
              lambda r, qkv, causal: attention_bound(r, *heads(qkv), causal).transpose(1, 2))
ATTENTION = Kind("q(B,NH,Tq,HS) k(B,NH_kv,Tk,HS) v(B,NH_kv,Tk,HS)", "out(B,NH,Tq,HS) lse(B,NH,Tq) + scratch(B,NH,Tq)",
                 "B NH NH_kv Tq Tk HS causal", lambda q, k, v, causal: sdpa(
                     q, k, v, is_causal=causal, enable_gqa=q.shape[1] > k.shape[1]), attention_bound)
GRADIENTS = Kind(ATTENTION.inputs + " out(B,NH,Tq,HS) dout(B,NH,Tq,HS) lse(B,NH,Tq)",
                 "dq(B,NH,Tq,HS) dk(B,NH_kv,Tk,HS) dv(B,NH_kv,Tk,HS)", ATTENTION.sizes)
JOINT = Kind("A(m,k) B(k,n) C(n,k)", "y(m,k) + y_tilde(m,n)", "m n k", lambda A, B, C: A @ B @ C,
             lambda r, A, B, C: 1.01 * sum(B.shape) * U * (A.abs() @ B.abs() @ C.abs()))
LADDERS = {ladder: row for ladders, *row in (  # the number: how much less exact than in fp32 the sums are
    ("01 02 02/faster 02/any_shape", PRODUCT, "float32", 1),
    ("02/tf32", PRODUCT, "float32", 32),
    ("02/tensor_cores 02/hopper 02/few_rows", PRODUCT, "bfloat16", 4),
    ("02/fp16", PRODUCT, "float16", 4),
    ("04 04/long_rows", SOFTMAX, "float32", 1),
    ("05 05/strips", PACKED, "float32", 1),
    ("06 06/faster 06/any_shape 06/backward", ATTENTION, "float32", 1),
    ("06/tensor_cores 06/hopper 06/few_queries 06/backward_tensor_cores", ATTENTION, "bfloat16", 1),
    ("06/fp16", ATTENTION, "float16", 1),
    ("06/joint", JOINT, "float32", 1),
) for ladder in ladders.split()}
# By the type: what attention's gradients are computed by, which attention a step for gradients is loaded with, and how
# far off gradients may be, as in bench_torch.py.
Backward = namedtuple("Backward", "step forward bound")
BACKWARD = {"float32": Backward(("06/backward",), ("06", "q_outer"), 1e-3),
            "bfloat16": Backward(("06/backward_tensor_cores", "by_shape"), ("06/tensor_cores", "any_address"), 5e-2)}

# ---- From a step to an operator

def find(chapter, name=None):
    folder = project.find_ladder(chapter)
    folder, at = diff_steps.find(folder, name, "torch") if name else (folder, -1)
    if project.short_name(folder) not in LADDERS:
        refuse(f"{project.label(folder)} has no operator of PyTorch; these have: {', '.join(LADDERS)}")
    return folder, project.steps(folder)[at]


def source_of(folder, step):
    """The step in one file with all that it needs, and launch.cu's lines for its ladder below it."""
    glue, ladder = HERE / "launch.cu", project.short_name(folder)
    sections = re.split(r"  // ---- ([\w/ ]+).*\n", glue.read_text())
    named = zip(["all", *sections[1::2]], sections[::2])
    main = "".join(text for names, text in named if {"all", ladder} & set(names.split()))
    chapter, part = re.search(r"^namespace (tutorial::\w+)([\w:]*) {", step.path.read_text(), re.M).groups()
    words = {"HEADER": f"{folder.name}/" * ("/" in ladder) + f"{folder.name}.hpp", "CHAPTER": chapter,
             "LADDER": chapter + part, "STEP": f"{chapter}{part}::{step.name}"}
    main = re.sub(r"\b(HEADER|CHAPTER|LADDER|STEP)\b", lambda match: words[match[0]], main)
    return take.one_file(step, cpp_items.read(folder / "take.cu", main))  # in its place: a part may have a launch.cu


def built(folder, step):
    """launch() of launch.cu, for this step and this GPU."""
    nvcc = project.tool("nvcc")
    if torch is None or not hasattr(torch.library, "custom_op"):
        refuse(f"{sys.executable} has no PyTorch of version 2.4 or newer: https://pytorch.org says how to install it")
    if not nvcc:
        refuse("there is no nvcc, which compiles the step: docs/setup.md says how to install the CUDA Toolkit")
    if not torch.cuda.is_available():
        refuse("PyTorch finds no GPU: torch.cuda.is_available() is false")
    major, minor = torch.cuda.get_device_capability()
    code = source_of(folder, step)
    flags = f"-O3 -std=c++20 -arch=sm_{major}{minor}{'a' * (major == 9)} -diag-suppress=177 -shared -Xcompiler=-fPIC"
    command = [nvcc, *flags.split()]
    if "cublasCreate" in code:
        command += ["-lcublas", f"-Xlinker=-rpath,{Path(nvcc).resolve().parents[1]}/lib64"]
    digest = hashlib.sha256("\n".join([*command, code]).encode()).hexdigest()
    library = project.ROOT / f"build/torch/{step.name}_{digest[:16]}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        library.with_suffix(".cu").write_text(code)
        command += [str(library.with_suffix(".cu")), "-o", str(library)]
        project.say(f"+ {' '.join(command)}")
        if subprocess.run(command).returncode != 0:
            refuse(f"{step.path.relative_to(project.ROOT)} does not compile: nvcc says above why")
    launch = ctypes.PyDLL(str(library)).launch  # Python's other threads wait during a launch
    launch.restype = ctypes.c_char_p
    return launch


def tensors_of(text):
    return [(letter, sizes.split(",")) for letter, sizes in re.findall(r"(\w+)\(([^)]*)\)", text)]


def register(name, kind, dtype, folder, step):
    """Defines torch.ops.tutorial.<name>, without gradients."""
    inputs, results, more = (tensors_of(side) for side in f"{kind.inputs}+{kind.outputs}+".split("+")[:3])
    parameters = re.search(rf"^void {step.name}\(([^)]*)\)", step.path.read_text(), re.M)
    if not parameters:
        refuse(f"{step.path.relative_to(project.ROOT)} has no launcher, void {step.name}(…)")
    launch, dtype = built(folder, step), getattr(torch, dtype)
    returned = tuple if len(results) > 1 else lambda outputs: outputs[0]

    def sizes_of(args):
        sizes = {"3": 3, "causal": args[-1]}
        for x, (letter, names) in zip(args, inputs):
            wrong = (f"on {x.device}" if x.device.type != "cuda" or x.device != args[0].device else
                     f"of {x.dtype}" if x.dtype != (torch.float32 if letter == "lse" else dtype) else
                     f"of shape {tuple(x.shape)}" if x.dim() != len(names) or
                     any(sizes.setdefault(size, n) != n for size, n in zip(names, x.shape)) else
                     "not contiguous" if not x.is_contiguous() else "")
            if wrong:
                refuse(f"{name} takes {kind.inputs} of {dtype}, contiguous and on one GPU; {letter} is {wrong}")
        return sizes

    def empty(tensors, sizes, like):
        return [like.new_empty([sizes[size] for size in names], dtype=torch.float32 if letter == "lse" else dtype)
                for letter, names in tensors]

    def run(*args):
        sizes, device, lent = sizes_of(args), args[0].device, []
        outputs, scratch = (empty(tensors, sizes, args[0]) for tensors in (results, more))

        @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)
        def allocate(count):
            lent.append(torch.empty(count, dtype=torch.uint8, device=device))
            return lent[-1].data_ptr()

        with torch.cuda.device(device):
            current, default = torch.cuda.current_stream(), torch.cuda.default_stream()
            addresses = [x.data_ptr() for x in (*args[:len(inputs)], *outputs, *scratch)]
            numbers = [*(int(sizes[size]) for size in kind.sizes.split()), device.index]
            if "cudaStream_t" not in parameters[1]:  # a step that runs in the default stream
                default.wait_stream(current)  # by an event
            error = launch((ctypes.c_void_p * len(addresses))(*addresses), (ctypes.c_int64 * len(numbers))(*numbers),
                           device.index, allocate, ctypes.c_void_p(current.cuda_stream))
            if "cudaStream_t" not in parameters[1]:
                current.wait_stream(default)
        if error:
            refuse(f"{name}: {error.decode()}")
        return returned(outputs)

    wants = ", ".join([f"Tensor {letter}" for letter, _ in inputs] + ["bool causal"] * ("causal" in kind.sizes))
    schema = f"({wants}) -> ({', '.join(['Tensor'] * len(results))})"
    op = torch.library.custom_op(f"tutorial::{name}", run, mutates_args=(), schema=schema)
    op.register_fake(lambda *args: returned(empty(results, sizes_of(args), args[0])))  # for torch.compile
    return op


def load(chapter, name=None):
    """torch.ops.tutorial.<step>_<chapter>[_<part>]: of the step as its file is now."""
    folder, step = find(chapter, name)
    kind, dtype, _ = LADDERS[project.short_name(folder)]
    name = f"{step.name}_{project.short_name(folder)}".replace("/", "_")
    has_gradients, is_backward = kind is ATTENTION and dtype in BACKWARD, folder.name.startswith("backward")
    op = register(name, kind, dtype, *(find(*BACKWARD[dtype].forward) if is_backward else (folder, step)))
    if has_gradients:
        of_it = (folder, step) if is_backward else find(*BACKWARD[dtype].step)
        backward = register(f"{name}_gradients", GRADIENTS, dtype, *of_it)

        def keep(ctx, inputs, output):
            *tensors, ctx.causal = inputs
            ctx.save_for_backward(*tensors, *output)
            ctx.mark_non_differentiable(output[1])

        def gradients(ctx, dout, _):
            q, k, v, out, lse = ctx.saved_tensors
            return (*backward(q, k, v, out, dout.contiguous(), lse, ctx.causal), None)

        op.register_autograd(gradients, setup_context=keep)
    return getattr(torch.ops.tutorial, name)


# ---- The command ./learn torch

SIZES = {"M": 4096, "N": 4096, "K": 4096, "rows": 16384, "columns": 4096, "m": 4096, "n": 4096, "k": 64, "3": 3,
         "B": 8, "NH": 12, "NH_kv": 12, "T": 1024, "Tq": 1024, "Tk": 1024, "HS": 64}
FEW = {**SIZES, "M": 8, "B": 64, "NH": 4, "NH_kv": 1, "Tq": 1, "Tk": 4096, "HS": 128}


def random_inputs(kind, dtype, sizes):
    tensors = [torch.randn([sizes[size] for size in names], device="cuda", dtype=getattr(torch, dtype))
               for _, names in tensors_of(kind.inputs)]
    return tensors + [sizes["Tq"] > 1] * ("causal" in kind.sizes)


def compare(what, ours, torchs, want, bounds):
    """Says how far off ours is, and if it is right how long both take. `want` may be the end of a batch."""
    from bench_torch import Timer
    pairs, timer = zip(ours(), want, bounds), Timer(20)
    off = torch.stack([((x[-len(y):].double() - y).abs() / bound).max() for x, y, bound in pairs]).max().item()
    mine, its = (timer(call)[10] if off <= 1 else math.nan for call in (ours, torchs))  # the medians
    print(f"{what} {'right' if off <= 1 else 'WRONG'}, off by {off:.2g} of its bound; {mine:.3f} ms, PyTorch {its:.3f} ms")
    return off <= 1


def gradients_of(function, q, k, v, causal, dout):
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    out = function(*leaves, causal)
    return lambda: torch.autograd.grad(out, leaves, dout, retain_graph=True)


def show(chapter, name):
    op, (folder, step) = load(chapter, name), find(chapter, name)
    kind, dtype, times = LADDERS[project.short_name(folder)]
    torch.manual_seed(1)
    inputs = random_inputs(kind, dtype, FEW if folder.name.startswith("few_") else SIZES)
    exact = [x if isinstance(x, bool) else (x[-1:] if x.dim() > 2 else x).double() for x in inputs]
    want, r = kind.torchs(*exact), {"float32": 0, "float16": 2**-10, "bfloat16": 2**-7}[dtype]
    first = (lambda *args: op(*args)[0]) if kind is ATTENTION else op
    is_right = compare("result", lambda: [first(*inputs)], lambda: kind.torchs(*inputs), [want],
                       [times * kind.bound(r, *exact) + r * want.abs()])
    if is_right and kind is ATTENTION and dtype in BACKWARD:
        dout = torch.randn_like(inputs[0])
        is_right = compare("gradients", gradients_of(first, *inputs, dout), gradients_of(kind.torchs, *inputs, dout),
                           gradients_of(kind.torchs, *exact, dout[-1:].double())(), [BACKWARD[dtype].bound] * 3)
    print(f"In Python, with {HERE} in sys.path: from tutorial_ops import load; load({chapter!r}, {step.name!r})")
    return is_right


if __name__ == "__main__":
    project.program = "learn torch"
    parser = project.arguments(__doc__, prog="./learn torch")
    parser.add_argument("chapter")
    parser.add_argument("step", nargs="?")
    words = parser.parse_args()
    try:
        sys.exit(0 if show(words.chapter, words.step) else 1)
    except RuntimeError as error:
        project.say(f"{project.program}: {error}")
        sys.exit(2)
