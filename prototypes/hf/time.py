import ctypes, torch, sys, time
from torch.nn.attention import SDPBackend, sdpa_kernel
import torch.nn.functional as F
lib = ctypes.CDLL("./lib.so")
names = sys.argv[1].split(",")
flush = torch.zeros(256 * 2**20 // 4, device="cuda")
def ours(name, shape, q, k, v, out, lse):
    B, NH, NHkv, Tq, Tk, HS, causal = shape
    a = [ctypes.c_long(x) for x in shape[:6]] + [ctypes.c_int(causal)]
    return lib.run(name.encode(), *a, *[ctypes.c_void_p(t.data_ptr()) for t in (q, k, v, out, lse)])
def measure(calls, n=20):
    times = [[] for _ in calls]
    for f in calls: f(); f()
    for _ in range(n):
        for c, f in enumerate(calls):
            flush.sum()
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            a.record(); f(); b.record(); torch.cuda.synchronize()
            times[c].append(a.elapsed_time(b))
    return [sorted(t)[len(t) // 2] for t in times]
for shape in eval(sys.argv[2]):
    B, NH, NHkv, Tq, Tk, HS, causal = shape
    q = torch.randn(B, NH, Tq, HS, device="cuda").bfloat16(); k = torch.randn(B, NHkv, Tk, HS, device="cuda").bfloat16(); v = torch.randn_like(k)
    out = torch.empty_like(q); lse = torch.empty(B * NH * Tq, device="cuda")
    flop = 4 * B * NH * HS * (sum(min(Tk, i + 1 + Tk - Tq) for i in range(Tq)) if causal else Tq * Tk)
    def fa(backend):
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal), enable_gqa=NHkv < NH)
    calls, labels = [], []
    for l, b in (("FA2", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION)):
        try: ref = fa(b)
        except RuntimeError: continue
        calls.append(lambda b=b: fa(b)); labels.append(l)
    for n in names:
        out.zero_()
        if ours(n, shape, q, k, v, out, lse): continue
        torch.cuda.synchronize()
        d = (out.float() - ref.float()).abs().max().item() if Tq == Tk or not causal else 0
        if d > 0.05: print("DIFFERS", n, d)
        calls.append(lambda n=n: ours(n, shape, q, k, v, out, lse)); labels.append(n)
    t = measure(calls)
    print(shape, " ".join(f"{l} {flop / x / 1e9:.0f}" for l, x in zip(labels, t)), flush=True)
