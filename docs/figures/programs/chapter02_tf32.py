"""The figures of chapter 02's part tf32: what TF32 holds, how a float becomes two of it, and what cutting does to a sum."""
from math import sqrt

from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, RED, TEXT, Figure, figure


def bits(fig, x, y, cell, parts, height=26):
    """Boxes of one bit each. parts: (how many, color, fill, what stands in the middle of them)."""
    for count, color, fill, words in parts:
        free = len(words) * 3.4  # no lines between bits where the words stand
        for i in range(count):
            crossed = abs((i + 1 - count / 2) * cell) < free and i + 1 < count
            fig.rect(x + i * cell, y, cell if crossed else cell - 1, height, color, fill, 0)
        if words:
            fig.text(x + count * cell / 2, y + height / 2, words, 12, anchor="middle", middle=True)
        x += count * cell


@figure("02_tf32_bits")
def tf32_bits():
    fig = Figure(760, 250, "The bits of four types. fp32 has a sign, 8 bits of exponent and 23 of fraction; TF32 the same exponent "
                           "and 10 bits of fraction; bf16 the same exponent and 7; fp16 5 bits of exponent and 10 of fraction")
    left, cell = 70, 17
    rows = (("fp32", 8, 23), ("TF32", 8, 10), ("bf16", 8, 7), ("fp16", 5, 10))
    for i, (name, exponent, fraction) in enumerate(rows):
        y = 40 + i * 44
        fig.text(10, y + 13, name, 14, bold=True, middle=True)
        bits(fig, left, y, cell, ((1, RED, HALF, ""), (exponent, ORANGE, HALF, f"exponent, {exponent}"),
                                  (fraction, BLUE, HALF, f"fraction, {fraction}")))
        if name == "TF32":
            x = left + cell * 19
            fig.rect(x, y, 13 * cell - 2, 25, GREY, 0, 0.7, dash="2 2")
            fig.text(x + 13 * cell / 2, y + 13, "not looked at, 13", 12, anchor="middle", middle=True)
    fig.text(left, 26, "sign", 12, RED)
    fig.text(10, 236, "A TF32 number lies in a register of 32 bits, as a float32 of which the tensor core reads the first 19.", 12.5)
    return fig


@figure("02_tf32_split")
def tf32_split():
    fig = Figure(760, 330, "The fraction of a float32 has 24 bits with the leading one. The high part is the number rounded to 11 of "
                           "them. What is left has a sign and 12 bits, of which TF32 takes 11. Of the four products of two such pairs "
                           "the one of both low parts is left out")
    left, cell = 110, 20
    fig.text(10, 33, "x", 14, bold=True, middle=True)
    bits(fig, left, 20, cell, ((1, BLUE, PALE, "1"), (10, BLUE, HALF, "10 bits"), (13, PURPLE, HALF, "13 bits")))
    fig.text(10, 83, "high", 14, bold=True, middle=True)
    bits(fig, left, 70, cell, ((1, BLUE, PALE, "1"), (10, BLUE, HALF, "rounded to nearest")))
    fig.text(left + 11 * cell + 8, 83, "x rounded to TF32", 12.5, middle=True)
    fig.text(10, 133, "low = x − high", 14, bold=True, middle=True)
    bits(fig, left + 12 * cell, 120, cell, ((11, PURPLE, HALF, "11 bits"), (1, RED, HALF, "")))
    fig.text(left + 12 * cell - 8, 133, "its sign may be minus", 12.5, anchor="end", middle=True)
    fig.text(left + 24 * cell + 6, 133, "1 is cut", 12.5, RED, middle=True)
    y = 204
    fig.heading(10, 184, "a·b = (a_high + a_low)·(b_high + b_low)")
    for row, (a, color) in enumerate((("a_high", BLUE), ("a_low", PURPLE))):
        for col, b in enumerate(("b_high", "b_low")):
            x, top = left + col * 220, y + row * 54
            dropped = row == col == 1
            size = ("1", "2⁻¹¹", "2⁻²²")[row + col]
            fig.rect(x, top, 210, 46, RED if dropped else GREEN, FAINT if dropped else (HALF if row == col else PALE), 1,
                     dash="4 3" if dropped else "")
            turn = (("third", "second"), ("first", "left out"))[row][col]
            fig.text(x + 105, top + 15, f"{a}·{b}: {turn}", 12.5, anchor="middle", middle=True)
            fig.text(x + 105, top + 33, f"about {size} of a·b", 12, anchor="middle", middle=True)
    return fig


@figure("02_tf32_sums")
def tf32_sums():
    fig = Figure(760, 290, "How the error of a sum grows when each addition rounds, and when each one cuts: with rounding like the "
                           "square root of the number of additions, with cutting in proportion to it")
    x0, y0, width, height, most = 70, 240, 420, 200, 512
    fig.line(x0, y0, x0 + width, y0, GREY, 1)
    fig.line(x0, y0, x0, y0 - height, GREY, 1)
    fig.text(x0 + width, y0 + 18, "additions: 512", 12, anchor="end")
    fig.text(x0, y0 + 18, "0", 12, anchor="middle")
    fig.text(x0 - 8, y0 - height, "256", 12, anchor="end", middle=True)
    fig.text(x0 - 8, y0, "0", 12, anchor="end", middle=True)
    fig.text(16, 24, "error, in units of the sum's last bit", 12.5)

    def at(n, error):
        return x0 + n / most * width, y0 - error / 256 * height

    def curve(error, color):
        points = [at(n, error(n)) for n in range(0, most + 1, 8)]
        fig.path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), color, 2)

    curve(lambda n: n / 2, RED)
    curve(lambda n: sqrt(n / 12), GREEN)
    fig.text(x0 + width + 10, y0 - height, "each one cuts: half a unit is lost,", 12.5, RED, middle=True)
    fig.text(x0 + width + 10, y0 - height + 17, "always on the same side", 12.5, RED, middle=True)
    fig.text(x0 + width + 10, y0 - 22, "each one rounds: up or down by", 12.5, GREEN, middle=True)
    fig.text(x0 + width + 10, y0 - 5, "chance, and most of it cancels", 12.5, GREEN, middle=True)
    for n in range(0, most, 64):
        (x, y), (x2, y2) = at(n, 0), at(n + 64, 32)
        fig.path(f"M{x:.1f} {y:.1f}L{x2:.1f} {y2:.1f}", PURPLE, 1.2)
    fig.lines(x0 + width + 10, y0 - 92, ("step 3: short sums, each cut from 0", "on; their last bits are smaller", "(not to scale)"), 12.5, 17,
              color=PURPLE)
    fig.text(10, 280, "A sum whose last bit stays the same. Cut: n/2. Rounded: √(n/12), the spread of n errors of half a unit.",
             12.5, TEXT)
    return fig
