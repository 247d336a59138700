"""Figures of chapter 05 and its part strips. Blue: queries; orange: keys; green: values and output; purple: scores and
weights, the T×T matrices."""
import math

from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, RED, SOLID, Figure, figure

# The worked example of the page: three tokens, head size 2.
Q, K, V = [[1, 0], [1, 1], [0, 2]], [[1, 1], [1, 0], [0, 1]], [[3, 0], [0, 3], [3, 3]]


def scores():
    return [[sum(q * k for q, k in zip(query, key)) for key in K] for query in Q]


def weights():
    rows = []
    for query, row in enumerate(scores()):
        terms = [math.exp(s / math.sqrt(2)) if key <= query else 0.0 for key, s in enumerate(row)]
        rows.append([term / sum(terms) for term in terms])
    return rows


def output():
    return [[sum(w * v[i] for w, v in zip(row, V)) for i in range(2)] for row in weights()]


def short(x):
    return f"{x:.2f}".rstrip("0").rstrip(".") if x else "0"


def cells(f, x, y, rows, color, width=34, height=26, fill=PALE, size=12, look=None):
    """A matrix with its numbers; look(row, col) may give (color, fill)."""
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            c, strength = (look and look(i, j)) or (color, fill)
            f.rect(x + j * width, y + i * height, width - 2, height - 2, c, strength, 0, 2)
            f.text(x + j * width + width / 2 - 1, y + i * height + height / 2 - 1, value, size, anchor="middle",
                   middle=True)


@figure("05_attention")
def attention():
    row_weights, out = weights()[2], output()[2]
    f = Figure(740, 248, "One query meets three keys: each key gives a score, the softmax turns the scores into weights"
               " that add up to 1, and the output is the values' mean with these weights")
    tokens, y0, step = ["the", "cat", "sat"], 62, 54
    for x, words in ((62, "query"), (196, "keys"), (283, "scores"), (412, "weights"), (558, "values"), (688, "output")):
        f.text(x, 28, words, 13, anchor="middle", bold=True)
    f.text(370, 238, "scores divided by √2, then softmax: the three weights (rounded here) add up to 1", 12, anchor="middle")
    middle = y0 + step + 13
    cells(f, 28, middle - 13, [Q[2]], BLUE, fill=HALF)
    f.text(62, middle + 30, "of “sat”", 12, anchor="middle")
    for i, token in enumerate(tokens):
        y = y0 + i * step
        f.arrow(98, middle, 158, y + 12, BLUE)
        cells(f, 163, y, [K[i]], ORANGE)
        f.text(196, y + 40, f"of “{token}”", 11.5, anchor="middle")
        f.arrow(232, y + 12, 262, y + 12)
        f.text(283, y + 12, short(scores()[2][i]), 14, PURPLE, "middle", bold=True, middle=True)
        f.arrow(304, y + 12, 362, y + 12)
        f.rect(370, y, 90 * row_weights[i] / 0.5, 24, PURPLE, HALF, 0, 2)
        f.text(370 + 90 * row_weights[i] / 0.5 + 5, y + 12, f"{row_weights[i]:.2f}", 12.5, PURPLE, middle=True)
        cells(f, 524, y, [V[i]], GREEN)
        f.text(558, y + 40, f"of “{token}”", 11.5, anchor="middle")
        f.text(508, y + 12, "×", 14, anchor="middle", middle=True)
        f.arrow(596, y + 12, 640, middle, GREEN)
    cells(f, 648, middle - 13, [[f"{x:.2f}" for x in out]], GREEN, 42, fill=HALF)
    f.text(688, middle + 30, "their mean", 12, anchor="middle")
    return f


@figure("05_example")
def example():
    f = Figure(760, 236, "The worked example: Q times K transposed gives the scores, the scores over the square root of 2"
               " with the mask give the weights, and the weights times V give the output")
    y, cell = 62, 34

    def head(x, columns, name, shape, width=cell):
        f.text(x + columns * width / 2, 24, name, 14, anchor="middle", bold=True)
        f.text(x + columns * width / 2, 42, shape, 11.5, anchor="middle")

    def sign(x, words, size=16):
        f.text(x, y + 38, words, size, anchor="middle", middle=True)

    head(8, 2, "Q", "3 × 2")
    cells(f, 8, y, Q, BLUE)
    sign(86, "·")
    head(96, 3, "Kᵀ", "2 × 3")
    cells(f, 96, y + 13, [list(column) for column in zip(*K)], ORANGE)
    sign(212, "=")
    head(226, 3, "S", "3 × 3")
    cells(f, 226, y, scores(), PURPLE)
    sign(352, "→")
    f.text(352, y + 68, "÷ √2", 12, anchor="middle")
    f.text(352, y + 84, "mask", 12, RED, "middle")
    f.text(352, y + 100, "softmax", 12, PURPLE, "middle")
    head(382, 3, "P", "3 × 3", 40)
    hidden = lambda i, j: (RED, FAINT) if j > i else (PURPLE, HALF if weights()[i][j] > 0.5 else PALE)
    cells(f, 382, y, [[f"{w:.2f}" if j <= i else "0" for j, w in enumerate(row)] for i, row in enumerate(weights())],
          PURPLE, 40, look=hidden)
    sign(516, "·")
    head(530, 2, "V", "3 × 2")
    cells(f, 530, y, V, GREEN)
    sign(612, "=")
    head(628, 2, "O", "3 × 2", 46)
    cells(f, 628, y, [[f"{x:.2f}" for x in row] for row in output()], GREEN, 46, fill=HALF)
    f.text(400, y + 98, "each row adds up to 1", 12)
    f.text(8, y + 134, "Row i belongs to query i, column j of S and P to key j. Red: key j comes after query i, so its score"
           " counts as", 12.5)
    f.text(8, y + 152, "−∞ and its weight is 0. The first query sees only itself: its output is the first value.", 12.5)
    return f


def normal_quantiles(n):
    """n numbers that stand for n draws of a normal distribution of variance 1."""
    from statistics import NormalDist
    return [NormalDist().inv_cdf((i + 0.5) / n) for i in range(n)][::-1]


@figure("05_scale")
def scale():
    f = Figure(740, 276, "The softmax of eight typical scores, drawn from a standard deviation of 8: the largest gets nearly all of the weight;"
               " divided by the square root of 64 first, the weights are spread over the keys")
    base = 208
    for x, factor, words in ((30, 8.0, "q·k as it is"), (400, 1.0, "q·k / √64")):
        f.text(x, 22, words, 14, bold=True)
        f.lines(x, 40, ["eight typical scores,", f"drawn from a standard deviation of {factor:g}"], 12, step=16)
        drawn = [factor * z for z in normal_quantiles(8)]
        total = sum(math.exp(s) for s in drawn)
        f.line(x, base, x + 310, base, width=1)
        for i, s in enumerate(drawn):
            weight = math.exp(s) / total
            f.rect(x + i * 39 + 3, base - 130 * weight, 30, max(130 * weight, 0.6), PURPLE, HALF, 0)
            f.text(x + i * 39 + 18, base - 130 * weight - 5, f"{weight:.2f}" if weight >= 0.005 else "0", 11,
                   PURPLE, "middle")
            f.text(x + i * 39 + 18, base + 17, f"{s:.1f}".replace("-", "−"), 11, anchor="middle")
        f.text(x + 155, base + 38, "score", 12, anchor="middle")
        f.text(x + 155, base + 56, "one key takes it all" if factor > 1 else "each key has a say", 12.5, anchor="middle",
               bold=True)
    return f


MEGABYTES = {"qkv": 75.5, "q": 25.2, "preatt": 402.7, "out": 25.2}


@figure("05_stages")
def stages():
    f = Figure(760, 268, "Six stages from qkv to out; the areas are the tensors' bytes, and preatt and att, with 403 MB"
               " each, dwarf all others")
    side = lambda name: 5.4 * math.sqrt(MEGABYTES[name])
    middle = 118

    def tensor(x, name, color, label, shape, size, y=middle):
        f.rect(x, y - size / 2, size, size, color, PALE, 1.2, 2)
        f.text(x + size / 2, 196, label, 12.5, anchor="middle", bold=True)
        f.text(x + size / 2, 213, shape, 11, anchor="middle")

    def stage(x1, x2, number, name, color=GREY, y=middle):
        f.arrow(x1, y, x2, y, color)
        f.text((x1 + x2) / 2, y - 23, number, 12, anchor="middle", bold=True)
        f.text((x1 + x2) / 2, y - 8, name, 11.5, anchor="middle")

    big, small, pack = side("preatt"), side("q"), side("qkv")
    tensor(12, "qkv", GREY, "qkv", "(B, T, 3, C)", pack)
    stage(64, 126, "1", "permute")
    for i, (name, color) in enumerate((("q", BLUE), ("k", ORANGE), ("v", GREEN))):
        y = middle + (i - 1) * 36
        f.rect(132, y - small / 2, small, small, color, PALE, 1.2, 2)
        f.text(132 + small / 2, y, name, 12, anchor="middle", middle=True)
    f.text(132 + small / 2, 196, "q, k, v", 12.5, anchor="middle", bold=True)
    f.text(132 + small / 2, 213, "(B, NH, T, HS)", 11, anchor="middle")
    stage(166, 224, "2", "scores", y=middle - 18)
    tensor(230, "preatt", PURPLE, "preatt", "(B, NH, T, T)", big)
    f.path(f"M{230 + 36} {middle - big / 2}c-6 -30 42 -30 36 -2", GREY, 1.5, arrow=True)
    f.text(230 + big / 2, middle - big / 2 - 30, "3 scale_mask, in place", 11.5, anchor="middle")
    stage(344, 404, "4", "softmax")
    tensor(410, "preatt", PURPLE, "att", "(B, NH, T, T)", big)
    stage(524, 582, "5", "values")
    f.path(f"M{132 + small} {middle + 36}H196V{middle + 62}H552V{middle + 8}", GREEN, 1.5, "4 3", True)
    tensor(588, "out", GREEN, "vaccum", "(B, NH, T, HS)", small)
    stage(622, 690, "6", "unpermute")
    tensor(696, "out", GREEN, "out", "(B, T, C)", small)
    f.text(12, 252, "Area: bytes at B 8, T 1024, C 768, NH 12. qkv 75 MB; q, k, v, vaccum and out 25 MB each; preatt and att"
           " 403 MB each.", 12)
    return f


@figure("05_permute")
def permute():
    f = Figure(740, 412, "How permute moves the elements of qkv, packed token by token, to q, k and v, head by head")
    colors, left, cell, height = [BLUE, ORANGE, GREEN], 96, 50, 28
    f.text(8, 22, "qkv (B, T, 3, NH, HS) with B = 1, T = 3, NH = 2, HS = 2, so C = 4", 14, bold=True)
    for part, name in enumerate("qkv"):
        x = left + part * 4 * cell
        f.text(x + 2 * cell, 46, name, 13.5, colors[part], "middle", bold=True)
        for head in range(2):
            f.text(x + (2 * head + 1) * cell, 62, f"head {head}", 11.5, anchor="middle")
    strength = lambda head: HALF if head else PALE
    for t in range(3):
        f.text(left - 10, 70 + t * height + height / 2, f"token {t}", 12, anchor="end", middle=True)
        for j in range(12):
            c, head = colors[j // 4], j % 4 // 2
            f.rect(left + j * cell, 70 + t * height, cell - 2, height - 2, c, strength(head), 0, 2)
            f.text(left + j * cell + cell / 2 - 1, 70 + t * height + height / 2 - 1, 12 * t + j, 12, anchor="middle",
                   middle=True)
    f.rect(left + 2 * cell - 1, 70 + 2 * height - 1, cell, height, RED, 0, 2)
    f.text(8, 196, "q, k and v (B, NH, T, HS) in memory", 14, bold=True)
    f.text(left - 10, 216, "place i", 11.5, anchor="end")
    for i in range(12):
        f.text(left + i * cell + cell / 2 - 1, 216, i, 11, anchor="middle")
        head, t, hs = i // 6, i % 6 // 2, i % 2
        for part in range(3):
            y = 224 + part * 34
            f.rect(left + i * cell, y, cell - 2, height - 2, colors[part], strength(head), 0, 2)
            f.text(left + i * cell + cell / 2 - 1, y + height / 2 - 1, ((t * 3 + part) * 2 + head) * 2 + hs, 12,
                   anchor="middle", middle=True)
    for part, name in enumerate("qkv"):
        f.text(left - 10, 224 + part * 34 + height / 2 - 1, name, 13.5, colors[part], "end", bold=True, middle=True)
    f.rect(left + 10 * cell - 1, 223, cell, height, RED, 0, 2)
    f.brace(left, 324, left + 6 * cell - 4, 324, "head 0: its T×HS matrix in one piece")
    f.brace(left + 6 * cell, 324, left + 12 * cell - 2, 324, "head 1")
    f.text(8, 374, "Red: place i = 10 of q is b = 0, nh = 1, t = 2, hs = 0:  ((0 · NH + 1) · T + 2) · HS + 0 = 10.", 12.5)
    f.text(8, 396, "It comes from place ((0 · T + 2) · 3 · NH + 1) · HS + 0 = 26 of qkv.", 12.5)
    return f


@figure("05_columns")
def columns():
    f = Figure(700, 176, "The same six numbers in memory are a 3 by 2 matrix when they are read by rows, and its transpose,"
               " 2 by 3, when they are read by columns")
    f.text(10, 22, "in memory", 13, bold=True)
    cells(f, 10, 34, [range(6)], ORANGE)
    f.text(10, 82, "k of one head, T = 3, HS = 2", 12)
    f.arrow(222, 46, 290, 46)
    f.text(300, 22, "we read rows: K, 3 × 2", 13, bold=True)
    cells(f, 300, 34, [[0, 1], [2, 3], [4, 5]], ORANGE)
    f.path("M120 92V140H500", GREY, 1.5, arrow=True)
    f.text(130, 132, "cuBLAS reads columns of length 2", 12)
    f.text(512, 102, "Kᵀ, 2 × 3", 13, bold=True)
    cells(f, 512, 114, [[0, 2, 4], [1, 3, 5]], ORANGE)
    return f


def read_and_written(B=8, T=1024, C=768, NH=12):
    """(stage, bytes read, bytes written), in MB."""
    token, s = 4 * B * T * C / 1e6, 4 * B * NH * T * T / 1e6
    seen = s * (T + 1) / (2 * T)
    return [("1 permute", 3 * token, 3 * token), ("2 scores", 2 * token, s), ("3 scale_mask", seen, s), ("4 softmax", s, s),
            ("5 values", s + token, token), ("6 unpermute", token, token), ("3 + 4 fused", seen, s)]


@figure("05_traffic")
def traffic():
    found = read_and_written()
    f = Figure(740, 372, "Bytes that each stage must read and write, and the totals of the four steps: nearly all of it is"
               " preatt and att")
    left, width, row = 130, 420 / 810, 26
    f.text(10, 22, "What each stage must move at least, MB", 14, bold=True)
    f.rect(left + 230, 34, 14, 12, PURPLE, PALE, 0)
    f.text(left + 249, 44, "read", 12)
    f.rect(left + 292, 34, 14, 12, PURPLE, HALF, 0)
    f.text(left + 311, 44, "written", 12)
    f.rect(left + 380, 34, 14, 12, GREY, HALF, 0)
    f.text(left + 399, 44, "grey: neither preatt nor att", 12)
    for i, (name, read, written) in enumerate(found):
        y = 56 + i * row + (10 if i == 6 else 0)
        color = GREY if name[0] in "16" else PURPLE
        f.text(left - 8, y + 9, name, 12.5, anchor="end", middle=True)
        f.rect(left, y, read * width, 18, color, PALE, 0)
        f.rect(left + read * width, y, written * width, 18, color, HALF, 0)
        f.text(left + (read + written) * width + 8, y + 9, f"{read:.1f} + {written:.1f} = {read + written:.0f}", 12, middle=True)
    y = 56 + 7 * row + 34
    f.text(10, y, "In all, GB", 14, bold=True)
    both = [read + written for _, read, written in found]
    step1 = sum(both[:6])
    step2 = step1 - both[2] - both[3] + both[6]
    step3 = step2 - both[0] - both[5]
    for i, (name, total) in enumerate((("step 1", step1), ("step 2", step2), ("steps 3 and 4", step3),
                                       ("qkv and out", 4 * read_and_written()[5][1] ))):
        top = y + 10 + i * 20
        f.text(left - 8, top + 7, name, 12.5, anchor="end", middle=True)
        f.rect(left, top, total * 420 / 2600, 14, GREY if i == 3 else PURPLE, HALF, 0)
        f.text(left + total * 420 / 2600 + 8, top + 7, f"{total / 1000:.1f}", 12, middle=True)
    return f


@figure("05_bridge")
def bridge():
    """Step 4's traffic, and what is left of it where S and P are never written."""
    stages = {name: (read, written) for name, read, written in read_and_written()}
    token = stages["6 unpermute"][0]
    (seen, whole), qkv = stages["3 + 4 fused"], 3 * token
    parts = [("qkv", qkv, GREY), ("S written", whole, PURPLE), ("S read", seen, PURPLE), ("P written", whole, PURPLE),
             ("P read", whole, PURPLE), ("out", token, GREY)]
    total = sum(size for _, size, _ in parts)
    f = Figure(740, 196, f"What passes between the chip and its memory: in step 4 {total / 1000:.1f} GB, of which S and P are nearly all;"
               f" in chapter 06, where S and P are never written, {(qkv + token) / 1000:.1f} GB")
    f.text(10, 22, "What passes between the chip and its memory", 14, bold=True)
    left, scale, height = 110, 560 / total, 34
    for row, label in enumerate(("step 4", "chapter 06")):
        y = 58 + row * 74
        f.text(left - 10, y + height / 2, label, 12.5, anchor="end", middle=True)
        x = left
        for words, size, color in parts:
            gone = row == 1 and color == PURPLE
            f.rect(x, y, size * scale - 2, height, color, 0 if gone else PALE, 1, 2, "4 3" if gone else "")
            if color == PURPLE:
                f.text(x + size * scale / 2 - 1, y + height / 2, "gone" if gone else words, 12, anchor="middle", middle=True)
            else:
                f.text(x + size * scale / 2 - 1, y - 7, words, 12, anchor="middle")
            x += size * scale
        moved = total if row == 0 else qkv + token
        f.text(x + 8, y + height / 2, f"{moved / 1000:.1f} GB", 12.5, bold=True, middle=True)
    f.text(left, 186, "Chapter 06 reads K and V several times, but a head's are small enough for the L2 cache.", 12)
    return f


@figure("05_passes")
def passes():
    f = Figure(740, 342, "How often one row of scores is read and written: seven passes in step 1, four in step 2, and two"
               " in step 4, where the row stays in registers between them")
    left, cell, seen, keys, y = 190, 26, 6, 8, 8
    # (what the kernel does, are masked scores among it); a query that sees 6 of 8 keys.
    for step, kernels in (
            ("step 1", (("3 scale_mask", (("reads", False), ("writes", True))),
                        ("4 softmax", (("reads: the maximum", True), ("reads: exp", True), ("writes exp", True),
                                       ("reads exp", True), ("writes exp / sum", True))))),
            ("step 2", (("in one kernel", (("reads: the maximum", False), ("reads: the sum of exp", False),
                                           ("reads: exp / sum", False), ("writes exp / sum", True))),)),
            ("step 4", (("in registers", (("reads, 16 bytes a lane", False), ("writes, over the scores", True))),))):
        f.text(10, y + 12, step, 13.5, bold=True)
        for kernel, rows in kernels:
            f.text(80, y + 12, kernel, 12)
            for words, masked in rows:
                for key in range(keys if masked else seen):
                    f.rect(left + key * cell, y, cell - 2, 15, PURPLE if key < seen else RED,
                           HALF if words.startswith("writes") else PALE, 0, 1)
                f.text(left + keys * cell + 14, y + 12, words, 12)
                y += 21
        y += 12
    f.lines(584, 20, ["a row of 8 scores,", "its query sees 6"], 12)
    f.text(584, 54, "red: masked", 12, RED)
    f.lines(584, 80, ["pale: read", "strong: written"], 12)
    f.height = y - 4
    return f


@figure("05_strides")
def strides():
    f = Figure(740, 304, "Two sequences of qkv in memory: the rows of one head's queries are 3 C apart, the next head is HS"
               " further on, the next sequence T times 3 C")
    colors, left, cell, height = [BLUE, ORANGE, GREEN], 136, 38, 24
    for part, name in enumerate("qkv"):
        f.text(left + (part * 4 + 2) * cell, 20, name, 13.5, colors[part], "middle", bold=True)
    for b in range(2):
        top = 30 + b * 112
        f.text(10, top + 40, f"sequence {b}", 12.5, bold=True)
        for t in range(3):
            f.text(left - 8, top + t * height + 11, f"t = {t}", 11.5, anchor="end", middle=True)
            for j in range(12):
                part, head = j // 4, j % 4 // 2
                f.rect(left + j * cell, top + t * height, cell - 2, height - 2, colors[part],
                       SOLID * 0.8 if part == 0 and head == 0 else PALE, 0, 2)
    # Row to row, head to head, sequence to sequence.
    x = left + 12 * cell + 12
    f.path(f"M{x} {30 + 15}h14v{height - 4}h-14", BLUE, 1.5, arrow=True)
    f.text(x + 20, 30 + 30, "next row: 3·C", 12.5, BLUE)
    f.arrow(left + 4, 30 + 3 * height + 8, left + 2 * cell, 30 + 3 * height + 8, PURPLE)
    f.text(left + 2 * cell + 6, 30 + 3 * height + 12, "next head: HS", 12.5, PURPLE)
    f.path(f"M{x} {30 + 6}h118v{112 + 5}h-118", RED, 1.5, arrow=True)
    f.text(x + 112, 30 + 84, "next sequence:", 12.5, RED, "end")
    f.text(x + 112, 30 + 100, "T·3·C", 12.5, RED, "end")
    f.text(10, 252, "Strong blue: the queries of head 0, a 3×2 matrix in each sequence. Its rows are 3·C = 12 floats apart.",
           12.5)
    f.text(10, 272, "From matrix to matrix it is HS = 2 to the next head, and T·3·C = 36 to the same head of the next"
           " sequence.", 12.5)
    f.text(10, 292, "One stride cannot say both. A list of pointers can.", 12.5)
    return f


@figure("05_registers")
def registers():
    f = Figure(740, 304, "A warp reads a row of 1024 scores in eight loads of 16 bytes a lane; lane 5 holds keys 20 to 23, 148"
               " to 151 and so on, 32 scores in all")
    left, top, cell, row = 118, 62, 17, 20
    f.text(10, 22, "1024 scores of a row, 128 to a line; a box is one lane's float4", 14, bold=True)
    for lane in (0, 5, 31):
        f.text(left + lane * cell + 8, 50, lane, 11, BLUE if lane == 5 else GREY, "middle")
    f.text(left - 10, 50, "lane", 11.5, anchor="end")
    for load in range(8):
        f.text(left - 10, top + load * row + 8, f"keys {128 * load}…", 11.5, anchor="end", middle=True)
        for lane in range(32):
            key = 128 * load + 4 * lane
            if key <= 600:
                color, fill = (BLUE, SOLID) if lane == 5 else (PURPLE, PALE)
            else:
                color, fill = (BLUE, PALE) if lane == 5 else (RED, FAINT)
            f.rect(left + lane * cell, top + load * row, cell - 2, row - 4, color, fill, 0, 1)
    f.text(left + 32 * cell + 8, top + 8, "one load:", 11.5, middle=True)
    f.text(left + 32 * cell + 8, top + 24, "512 bytes", 11.5, middle=True)
    y = top + 8 * row + 26
    f.text(10, y, "Blue: lane 5 holds keys 20–23, 148–151, …, 916–919: 32 floats in 32 registers.", 12.5)
    f.text(10, y + 20, "Red: this is the row of query 600. What comes later it does not see: nothing is loaded, the registers"
           " hold −∞.", 12.5)
    f.text(10, y + 40, "The maximum and the sum: 32 numbers in each lane, then five shuffles. No barrier, no shared memory.",
           12.5)
    return f


def triangle(f, x, y, side, strips, words):
    f.path(f"M{x} {y}V{y + side}H{x + side}Z", PURPLE, 0, fill=HALF)
    step = side / strips
    for i in range(strips):
        f.rect(x, y + i * step, (i + 1) * step, step, PURPLE, FAINT, 1.2)
    f.text(x + side / 2, y + side + 20, words, 12.5, anchor="middle")


@figure("05_strips")
def strips():
    f = Figure(740, 268, "The scores that are computed and those that are needed: all of S in row_in_registers, 62.5 % in"
               " four strips, 56 % in eight")
    f.text(10, 22, "What is computed of one head's S", 14, bold=True)
    f.text(36, 46, "keys →", 12)
    f.text(28, 62, "queries ↓", 12, anchor="end", turn=-90)
    triangle(f, 36, 54, 160, 1, "row_in_registers: 100 %")
    triangle(f, 272, 54, 160, 4, "step 1, four strips: 62.5 %")
    triangle(f, 508, 54, 160, 8, "step 2, eight strips: 56 %")
    f.text(36, 258, "Strong: the query sees the key. Pale: computed and masked. A strip stops at its last query's key.", 12.5)
    return f


@figure("05_streams")
def streams():
    """Both halves in one scale: a box's length is its work over its share of the GPU."""
    f = Figure(740, 336, "On one stream a strip's three kernels wait for each other; on four streams one strip's softmax runs"
               " beside another strip's product, and all are done a little earlier")
    colors = {"s": BLUE, "m": PURPLE, "v": GREEN}
    left, unit = 100, 13  # pixels for 128 queries times 128 keys with all of the GPU

    def chain(x, y, work, share):
        for kind, part in (("s", 0.45), ("m", 0.2), ("v", 0.35)):
            length = part * work * unit / share
            f.rect(x, y, length - 2, 20, colors[kind], HALF, 0, 2)
            x += length
        return x

    f.text(10, 22, "Step 1: one stream, four strips of 256 queries", 14, bold=True)
    x = left
    for i in range(4):
        end = chain(x, 34, 4 * (i + 1), 1)
        f.text((x + end) / 2 - 1, 70, f"strip {i}", 11.5, anchor="middle")
        x = end
    f.text(left - 10, 44, "all of the GPU", 11.5, anchor="end", middle=True)
    f.text(10, 108, "Step 2: four streams, eight strips of 128 queries, a quarter of the GPU each", 14, bold=True)
    for stream, pair in enumerate([(0, 7), (1, 6), (2, 5), (3, 4)]):
        y = 120 + stream * 34
        f.text(left - 10, y + 10, f"stream {stream}", 12, anchor="end", middle=True)
        x = left
        for strip in pair:
            x = chain(x, y, strip + 1, 0.25)
        f.text(x + 12, y + 10, f"strips {pair[0]} and {pair[1]}", 12, middle=True)
    f.lines(10, 284, ["Blue: Q·Kᵀ of a strip. Purple: its softmax. Green: the product with V. Length: work over share of the GPU.",
                      "Strip s has s + 1 parts of the keys. Dealt 0 1 2 3 3 2 1 0, every stream of step 2 gets nine parts.",
                      "Not shown: between two kernels of step 1 the GPU runs empty and fills again."], 12.5, step=20)
    return f
