"""Chapter 06's plots: time and memory of attention against the sequence length, and the accesses of joint tiling."""
from plots import Axis, Plot, plain, rows
from results import milliseconds
from sizes import TOKENS
from style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, Figure, figure


def word_of(option, options):
    words = options.split()
    return int(words[words.index(option) + 1])


def of_step(name):
    """(sequence length, milliseconds) of a row at every length."""
    found = {}
    for row in rows("06_lengths", step=name):  # two programs have chapter 05's rows: the first one's
        found.setdefault(word_of("--seq", row["options"]), milliseconds(row))
    return list(found.items())


def bytes_text(value):
    return plain(value) + "B"


@figure("06_time")
def time():
    f = Figure(760, 372, "Time of attention against the sequence length, both logarithmic. From the slowest to the fastest: chapter 05 not "
                         "fused, chapter 05's strips, PyTorch's memory-efficient kernel, part faster's last step.")
    f.text(10, 20, "8192 tokens, 12 heads, head size 64, causal, fp32, H200", 13, bold=True)
    plot = Plot(f, 70, 62, 470, 250, Axis(128, 8192, True), Axis(0.06, 16, True))
    plot.y_axis("milliseconds", [0.1, 0.2, 0.5, 1, 2, 5, 10], lambda ms: f"{ms:g}")
    plot.x_axis("tokens of a sequence", [128, 256, 512, 1024, 2048, 4096, 8192], str)
    for name, color, label, dy in (("05, not fused", RED, "05, not fused", 0), ("chapter 05", ORANGE, "chapter 05's strips", 0),
                                   ("torch sdpa, memory-efficient", GREY, "PyTorch, memory-efficient", 4),
                                   ("outer_products", GREEN, "outer_products", 6)):
        plot.curve(of_step(name), color, label, dy=dy)
    return f


@figure("06_memory")
def memory():
    f = Figure(760, 372, "Memory beside Q, K, V and O against the sequence length, both logarithmic: S and P grow from 101 MB to 6.4 GB, the "
                         "log-sum-exp of the fused kernel is 393 kB at every length.")
    f.text(10, 20, "8192 tokens, 12 heads, head size 64: bytes beside Q, K, V and O, from the shapes", 13, bold=True)
    plot = Plot(f, 70, 62, 470, 250, Axis(128, 8192, True), Axis(1e5, 1e10, True))
    plot.y_axis("bytes", [1e5, 1e6, 1e7, 1e8, 1e9, 1e10], bytes_text)
    plot.x_axis("tokens of a sequence", [128, 256, 512, 1024, 2048, 4096, 8192], str)
    at = {}
    for row in rows("06_lengths", step="outer_products"):
        batch, heads, seq = (word_of(option, row["options"]) for option in ("--batch", "--heads", "--seq"))
        assert batch * seq == TOKENS
        at[seq] = (2 * 4 * batch * heads * seq * seq, 4 * batch * heads * seq, 4 * 4 * batch * heads * seq * 64)
    plot.curve([(seq, values[0]) for seq, values in at.items()], PURPLE, "S and P, all of them")
    plot.curve([(seq, values[2]) for seq, values in at.items()], BLUE, "(Q, K, V and O)", dash="6 4", dots=False)
    plot.curve([(seq, values[1]) for seq, values in at.items()], GREEN, "log-sum-exp")
    return f


@figure("06_joint_accesses")
def joint_accesses():
    f = Figure(760, 352, "Accesses for each element of ỹ against k/b, where m and n are much larger than k. Two products: 4c + 1. Joint, counted: "
                         "c squared + c, which is more from c = 4 on. Joint, by the article: 2c.")
    f.text(10, 20, "accesses of global memory for each element of ỹ, where m and n are much larger than k", 13, bold=True)
    plot = Plot(f, 70, 62, 430, 230, Axis(1, 6), Axis(0, 42))
    plot.y_axis("accesses", [0, 10, 20, 30, 40], str)
    plot.x_axis("c = k / b, columns of tiles of y", [1, 2, 3, 4, 5, 6], str)
    cs = range(1, 7)
    plot.curve([(c, c * c + c) for c in cs], PURPLE, "joint, counted: c² + c", at=-1)
    plot.curve([(c, 4 * c + 1) for c in cs], BLUE, "two products: 4c + 1")
    plot.curve([(c, 2 * c) for c in cs], GREY, "joint, by the article: 2c", dash="4 3")
    return f
