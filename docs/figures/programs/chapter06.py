"""The figures of chapter 06 and of its part joint. Q is blue, K orange, V and the output green, S and P purple."""
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, RED, SOLID, TEXT, Figure, figure


def box(f, x, y, width, height, color, words="", fill=PALE, size=12, bold=True):
    f.rect(x, y, width, height, color, fill, 1, 3)
    if words:
        f.text(x + width / 2, y + height / 2, words, size, color, "middle", bold=bold, middle=True)


# ---- the idea

@figure("06_idea")
def idea():
    f = Figure(760, 392, "Left: chapter 05's three kernels, with S and P of T by T numbers in global memory between them. "
                         "Right: one kernel, which has a tile of S on the chip and never stores it.")
    for x, title in ((10, "chapter 05: three kernels"), (390, "chapter 06: one kernel")):
        f.heading(x, 20, title)
        f.rect(x, 34, 360, 118, GREY, FAINT, 1, 6)
        f.text(x + 8, 50, "on the chip", 12)
        f.rect(x, 216, 360, 166, GREY, FAINT, 1, 6)
        f.text(x + 8, 372, "global memory, to scale for T = 1024, HS = 64", 12)
    # left
    for x, words in ((36, "Q·Kᵀ"), (150, "softmax"), (264, "P·V")):
        box(f, x, 76, 90, 46, GREY, words, size=14)
    big, small = 104, 6.5
    f.rect(24, 232, small, big, BLUE, HALF, 1)
    f.rect(47, 232, small, big, ORANGE, HALF, 1)
    f.text(30, 350, "Q", 12, BLUE, "middle")
    f.text(50, 350, "K", 12, ORANGE, "middle")
    box(f, 74, 232, big, big, PURPLE, "S", size=18)
    box(f, 196, 232, big, big, PURPLE, "P", size=18)
    f.rect(330, 232, small, big, GREEN, HALF, 1)
    f.rect(346, 232, small, big, GREEN, SOLID, 1)
    f.text(333, 350, "V", 12, GREEN, "middle")
    f.text(350, 350, "O", 12, GREEN, "middle")
    f.text(126, 350, "T × T", 12, PURPLE, "middle")
    f.text(248, 350, "T × T", 12, PURPLE, "middle")
    f.arrow(28, 228, 52, 126, BLUE)
    f.arrow(50, 228, 68, 126, ORANGE)
    f.arrow(92, 126, 104, 228, PURPLE, 3)
    f.arrow(150, 228, 178, 126, PURPLE, 3)
    f.arrow(206, 126, 226, 228, PURPLE, 3)
    f.arrow(276, 228, 296, 126, PURPLE, 3)
    f.arrow(334, 228, 326, 126, GREEN)
    f.arrow(342, 126, 350, 228, GREEN)
    # right
    box(f, 420, 66, 14, 56, BLUE)
    f.text(427, 138, "Q tile", 12, BLUE, "middle")
    box(f, 470, 66, 14, 28, ORANGE)
    box(f, 492, 66, 14, 28, GREEN)
    f.text(488, 138, "K, V tile", 12, TEXT, "middle")
    f.arrow(514, 94, 548, 94)
    box(f, 556, 66, 28, 56, PURPLE)
    f.text(570, 138, "S tile", 12, PURPLE, "middle")
    f.arrow(592, 94, 626, 94)
    box(f, 634, 66, 14, 56, GREEN, fill=SOLID)
    f.text(641, 138, "O tile", 12, GREEN, "middle")
    box(f, 668, 66, 6, 56, GREY)
    box(f, 680, 66, 6, 56, GREY)
    f.text(692, 138, "m, l", 12, TEXT, "middle")
    for x, color, fill, words in ((430, BLUE, HALF, "Q"), (490, ORANGE, HALF, "K"), (550, GREEN, HALF, "V"),
                                  (640, GREEN, SOLID, "O")):
        f.rect(x, 232, small, big, color, fill, 1)
        f.text(x + 3, 350, words, 12, color, "middle")
    f.arrow(433, 228, 428, 146, BLUE)
    f.arrow(493, 228, 480, 146, ORANGE)
    f.arrow(553, 228, 500, 146, GREEN)
    f.arrow(642, 146, 643, 228, GREEN)
    f.lines(664, 272, ["S and P are", "nowhere in", "global", "memory"], 12)
    return f


# ---- the mathematics

@figure("06_online")
def online():
    f = Figure(760, 330, "Four keys in two groups. After the first group the state is m = 2, l = 5/4, o = (1, 4); the second "
                         "group multiplies l and o by one half before it adds, and leaves m = 3, l = 15/8, o = (4.5, 3).")
    for block, (x, words) in enumerate(((150, "first group of keys"), (430, "second group of keys"))):
        f.rect(x - 8, 30, 236, 88, GREY, FAINT, 1, 6)
        f.text(x + 110, 22, words, 13, anchor="middle", bold=True)
        for i in range(2):
            key = 2 * block + i
            left = x + 115 * i
            box(f, left, 40, 105, 30, ORANGE, f"score {(0, 2, 1, 3)[key]}", size=13)
            box(f, left, 78, 105, 30, GREEN, f"v = {('(4, 0)', '(0, 4)', '(8, 0)', '(2, 1)')[key]}", size=13)
    states = ((10, "at the start", "−∞", "0", "(0, 0)"), (276, "after two keys", "2", "5/4", "(1, 4)"),
              (556, "after four keys", "3", "15/8", "(4.5, 3)"))
    for x, words, m, l, o in states:
        f.rect(x, 176, 128, 110, GREY, FAINT, 1, 6)
        f.text(x + 64, 168, words, 13, anchor="middle", bold=True)
        for i, (name, value, color) in enumerate((("m", m, ORANGE), ("l", l, PURPLE), ("o", o, GREEN))):
            f.text(x + 18, 204 + 32 * i, name, 15, color, bold=True)
            f.text(x + 46, 204 + 32 * i, value, 15)
    for x, first, factor, new in ((138, 262, "· 0", "¼·v₁ + 1·v₂"), (411, 542, "· ½", "¼·v₃ + 1·v₄")):
        f.arrow(x + 2, 231, x + 136, 231, GREY, 2)
        f.text(x + 68, 221, f"l and o {factor}", 12.5, PURPLE, "middle", bold=True)
        f.text(x + 68, 251, f"+ {new}", 12.5, GREEN, "middle")
        f.arrow(first - 20, 122, x + 84, 205, GREY, 1.2, "4 3")
    f.text(556 + 64, 312, "O = o / l = (2.4, 1.6)", 14, GREEN, "middle", bold=True)
    f.text(10, 312, "scores in units of ln 2: weights are 2^(score − m)", 12.5)
    return f


# ---- steps 1 and 2

def causal_tiles(f, x, y, cell, n, marked):
    """n × n tiles of S with the causal half, Q on the left, K and V above, O on the right."""
    for i in range(n):
        for j in range(n):
            color, fill = (PURPLE, HALF) if marked(i, j) else (PURPLE, FAINT)
            f.rect(x + j * cell, y + i * cell, cell - 2, cell - 2, *((GREY, 0, 0.6) if j > i else (color, fill, 0.6)))
    f.line(x, y, x + n * cell, y + n * cell, GREY, 1, "4 3")


@figure("06_loops")
def loops():
    f = Figure(760, 392, "Step 1: a block keeps a tile of K and V and walks down the tiles of S. Step 2: a block keeps a tile of "
                         "Q and of O and walks to the right.")
    n, cell, top = 6, 38, 94
    for x, title, below in ((10, "step 1: keys outside", ["one block per head; its tile of K and V stays,", "Q comes, O, m, l come and go: every tile"]),
                            (400, "step 2: queries outside", ["one block per row of tiles; Q, O, m, l stay,", "K and V come: every tile"])):
        left = x + 60
        f.heading(x, 20, title)
        causal_tiles(f, left, top, cell, n, (lambda i, j: j == 1) if x < 100 else (lambda i, j: i == 3))
        for i in range(n):
            here = x > 100 and i == 3
            f.rect(left - 24, top + i * cell, 14, cell - 2, BLUE, SOLID if here else PALE, 0.6)
            f.rect(left + n * cell + 8, top + i * cell, 14, cell - 2, GREEN, SOLID if here else PALE, 0.6)
            there = x < 100 and i == 1
            f.rect(left + i * cell, top - 42, cell - 2, 14, ORANGE, SOLID if there else PALE, 0.6)
            f.rect(left + i * cell, top - 24, cell - 2, 14, GREEN, SOLID if there else PALE, 0.6)
        f.text(left - 17, top + n * cell + 16, "Q", 13, BLUE, "middle", bold=True)
        f.text(left + n * cell + 15, top + n * cell + 16, "O", 13, GREEN, "middle", bold=True)
        f.text(left - 8, top - 35, "K", 13, ORANGE, "end", bold=True, middle=True)
        f.text(left - 8, top - 17, "V", 13, GREEN, "end", bold=True, middle=True)
        f.lines(x, top + n * cell + 42, below, 12.5, step=17)
        for t in range(n):
            mid = left + t * cell + cell / 2 - 1
            if x < 100:
                f.arrow(mid, top + t * cell + 8, mid, top + n * cell - 8, GREY, 2 if t == 1 else 1.2)
            else:
                y = top + t * cell + cell / 2 - 1
                f.arrow(left + 6, y, left + (t + 1) * cell - 8, y, GREY, 2 if t == 3 else 1.2)
    return f


# ---- step 4

@figure("06_shared_rows")
def shared_rows():
    f = Figure(760, 282, "Which scores of a tile a warp's lanes have. In step 3 lane l has key l of one row after the other; in step 4 "
                         "eight lanes share each of four rows, and lane tx of them has the keys tx, tx + 8, tx + 16 and tx + 24.")
    cell, left, top = 8.6, 20, 84
    for x, title in ((left, "step 3: a row at a time, a lane a key"), (left + 380, "step 4: four rows at once, eight lanes a row")):
        f.heading(x - 10, 20, title)
        f.brace(x, top - 8, x + 32 * cell - 2, top - 8, "32 keys", side=-1)
    for r in range(4):
        for c in range(32):
            mine = c == 2
            f.rect(left + c * cell, top + r * 26, cell - 2, 20, PURPLE, SOLID if mine else FAINT, 0 if mine else 0.4)
            mine = r == 1 and c % 8 == 2
            f.rect(left + 380 + c * cell, top + r * 26, cell - 2, 20, PURPLE, SOLID if mine else FAINT, 0 if mine else 0.4)
        f.text(left + 32 * cell + 6, top + r * 26 + 10, ["first", "then", "then", "then"][r], 12, middle=True)
        f.text(left + 380 + 32 * cell + 6, top + r * 26 + 10, f"lanes {8 * r}–{8 * r + 7}", 12, middle=True)
    f.lines(left - 10, top + 130, ["Strong: the scores of lane 2. All 32 lanes share a", "row: its maximum takes five rounds of shuffles,",
                                   "for each of the four rows."], 12.5, step=17)
    f.lines(left + 370, top + 130, ["Strong: the scores of lane 10, which is tx = 2 of row 1.", "What it reads of Q serves all four. A row's maximum",
                                    "takes three rounds, for all four rows at once."], 12.5, step=17)
    return f


# ---- step 6

@figure("06_registers")
def registers():
    f = Figure(760, 372, "What the thread tx = 2, ty = 5 has in step 6: 4 rows of Q, 4 rows of K, so 4 by 4 scores of S, and in the same "
                         "4 rows two quadruples of columns of O.")
    f.heading(10, 20, "step 6, HS = 64: what thread tx = 2, ty = 5 reads and owns")
    top, height, s = 96, 240, 240 / 64  # pixels a row
    widths = {"Q": 140, "S": 70, "O": 140}
    xs = {"Q": 20, "S": 235, "O": 380}
    for name, color, columns in (("Q", BLUE, 64), ("S", PURPLE, 32), ("O", GREEN, 64)):
        f.rect(xs[name], top, widths[name], height, color, FAINT, 1)
        f.text(xs[name] + widths[name] / 2, top + height + 20, f"{name} tile, 64 × {columns}", 13, color, "middle", bold=True)
    f.rect(xs["S"], 48, widths["S"], 22, ORANGE, FAINT, 1)
    f.text(xs["S"] + widths["S"] / 2, 42, "K tile: 32 keys", 12, ORANGE, "middle")
    f.rect(xs["O"], 48, widths["O"], 22, GREEN, FAINT, 1)
    f.text(xs["O"] + widths["O"] / 2, 42, "V tile: 64 columns", 12, GREEN, "middle")
    one = 140 / 64
    for r in range(4):
        y = top + (5 + 16 * r) * s
        f.rect(xs["Q"], y, widths["Q"], 3, BLUE, SOLID, 0)
        for c in range(4):
            f.rect(xs["S"] + (2 + 8 * c) * one - 1, y - 1, 4, 4, PURPLE, SOLID, 0)
        for c in range(2):
            f.rect(xs["O"] + (8 + 32 * c) * one, y, 4 * one, 4, GREEN, SOLID, 0)
    for c in range(4):
        f.rect(xs["S"] + (2 + 8 * c) * one - 0.5, 48, 3, 22, ORANGE, SOLID, 0)
    for c in range(2):
        f.rect(xs["O"] + (8 + 32 * c) * one, 48, 4 * one, 22, GREEN, SOLID, 0)
    f.lines(546, 108, ["rows ty, ty + 16, …: 4 of 64", "", "S: columns tx, tx + 8, …", "4 × 4 scores, 16 registers", "",
                       "O: columns 4·tx … 4·tx + 3,", "and the same 32 further on:", "4 × 8 sums, 32 registers", "",
                       "8 neighbouring lanes share", "a row: its maximum takes", "3 shuffles"], 12.5, step=18)
    return f


# ---- step 10

def bar(f, x, y, width, words, color, height=26):
    f.rect(x, y, width - 2, height, color, PALE, 1, 2)
    f.text(x + width / 2 - 1, y + height / 2, words, 12, color, "middle", middle=True)


@figure("06_buffers")
def buffers():
    f = Figure(760, 262, "Step 9 copies K and V, waits, and computes S and O. In step 10 each copy runs while the "
                         "product before it is computed.")
    f.heading(10, 20, "step 9: one thing at a time")
    x, y = 96, 36
    f.text(10, y + 13, "all threads", 12.5, middle=True)
    for width, words, color in ((76, "copy K₀", ORANGE), (76, "copy V₀", GREEN), (104, "S = Q·K₀ᵀ", PURPLE), (46, "exp", GREY),
                                (104, "O += P·V₀", GREEN), (76, "copy K₁", ORANGE), (76, "copy V₁", GREEN)):
        bar(f, x, y, width, words, color)
        x += width
    f.text(x + 6, y + 13, "…", 14, middle=True)
    f.heading(10, 100, "step 10: two buffers")
    f.lines(10, 130, ["copies into", "K's place"], 12, step=15)
    f.lines(10, 168, ["copies into", "V's place"], 12, step=15)
    f.text(10, 213, "products", 12.5, middle=True)
    begin = 96
    bar(f, begin, 120, 76, "K₀", ORANGE)
    x = begin + 76
    ticks = [x]
    bar(f, x, 158, 76, "V₀", GREEN)
    bar(f, x, 200, 104, "S = Q·K₀ᵀ", PURPLE)
    bar(f, x + 104, 200, 46, "exp", GREY)
    x += 150
    ticks.append(x)
    bar(f, x, 120, 76, "K₁", ORANGE)
    bar(f, x, 200, 104, "O += P·V₀", GREEN)
    x += 104
    ticks.append(x)
    bar(f, x, 158, 76, "V₁", GREEN)
    bar(f, x, 200, 104, "S = Q·K₁ᵀ", PURPLE)
    bar(f, x + 104, 200, 46, "exp", GREY)
    x += 150
    ticks.append(x)
    bar(f, x, 120, 76, "K₂", ORANGE)
    bar(f, x, 200, 104, "O += P·V₁", GREEN)
    f.text(x + 110, 213, "…", 14, middle=True)
    for tick in ticks:
        f.line(tick - 1, 112, tick - 1, 234, GREY, 1.2, "4 3")
    f.text(ticks[0] + 4, 252, "dashed: wait for the copies, then one barrier", 12)
    return f


# ---- part faster, step 2

@figure("06_diagonal")
def diagonal():
    f = Figure(760, 330, "At the diagonal, 128 queries of a block and 128 keys. In step 1 each of the four warps has rows all over "
                         "the block, so all multiply the second piece of keys; in step 2 warps 0 and 1 leave it out.")
    colors = (BLUE, ORANGE, GREEN, PURPLE)
    side, top = 220, 60
    for x, title, owner in ((90, "step 1: a warp's rows are spread", lambda r: r % 4),
                            (440, "step 2: a warp's rows are neighbours", lambda r: r // 8)):
        f.heading(x - 80, 20, title)
        row = side / 32
        for r in range(32):  # 4 queries each
            for half in range(2):
                skipped = x > 400 and half == 1 and r < 16
                f.rect(x + half * side / 2, top + r * row, side / 2 - 2, row - 1, GREY if skipped else colors[owner(r)],
                       0 if skipped else HALF, 0)
        f.line(x, top, x + side, top + side, RED, 2)
        for half in range(2):
            f.brace(x + half * side / 2 + 2, top - 6, x + (half + 1) * side / 2 - 4, top - 6, "64 keys", side=-1)
        f.text(x + side / 2, top + side + 18, "red: the diagonal; a score right of it is masked", 12, anchor="middle")
        if x < 400:
            f.text(x - 8, top + side / 2, "128 queries", 12, anchor="end", middle=True)
            f.text(x + side / 2, top + side + 38, "every warp has rows at the bottom", 12, anchor="middle")
        else:
            for w in range(4):
                f.text(x - 8, top + side * (w + 0.5) / 4, f"warp {w}", 12, colors[w], "end", middle=True, bold=True)
            f.text(x + side * 0.75, top + side * 0.2, "left out", 13, TEXT, "middle", middle=True, bold=True)
            f.text(x + side / 2, top + side + 38, "2 of 8 parts need not be computed", 12, anchor="middle")
    return f


# ---- part faster, step 3

@figure("06_lanes")
def lanes():
    f = Figure(760, 304, "Which rows of K and Q the first 16 lanes want. In step 2 no lane shares its row of K with the neighbour or "
                         "the one after it; in step 3 lanes l and l xor 1 share K's row, and l and l xor 2 share Q's.")
    cell, left = 38, 150
    for y, title, tx, ty, passes in (
            (30, "step 2", lambda l: l % 8, lambda l: l // 8, ("4 passes", "2 passes")),
            (168, "step 3", lambda l: l // 2 % 8, lambda l: l // 16 * 2 + l % 2, ("2 passes", "2 passes"))):
        f.heading(10, y - 8, f"{title}: what a read of 16 bytes asks for, the first half of a warp")
        f.text(left - 10, y + 16, "lane", 12.5, anchor="end", middle=True)
        for l in range(16):
            f.text(left + l * cell + cell / 2 - 2, y + 16, l, 12, anchor="middle", middle=True)
        for k, (name, color, which) in enumerate((("row of K", ORANGE, tx), ("row of Q", BLUE, ty))):
            top = y + 32 + k * 36
            f.text(left - 10, top + 14, f"{name}: {passes[k]}", 12.5, color, "end", middle=True, bold=True)
            for l in range(16):
                f.rect(left + l * cell, top, cell - 4, 28, color, HALF if which(l) % 2 else FAINT, 1, 3)
                f.text(left + l * cell + cell / 2 - 2, top + 14, which(l), 12.5, TEXT, "middle", middle=True)
    f.text(10, 294, "The number in a box is the row that the lane reads; strong color: a row of odd number.", 12.5)
    return f


# ---- part faster, step 4

@figure("06_spread")
def spread():
    f = Figure(760, 190, "In step 3 a warp first begins all copies of the next piece, then multiplies. In step 4 it begins a fourth "
                         "of them before each fourth of the products.")
    for y, title in ((20, "step 3: all copies of the next piece first"), (110, "step 4: a part of the copies before each part of the products")):
        f.heading(10, y, title)
        f.text(10, y + 29, "one warp", 12.5, middle=True)
        x = 86
        f.line(x - 4, y + 8, x - 4, y + 50, GREY, 1.2, "4 3")
        if y < 100:
            bar(f, x, y + 16, 120, "all the copies", ORANGE)
            bar(f, x + 120, y + 16, 520, "products of this piece", PURPLE)
        else:
            for part in range(4):
                bar(f, x, y + 16, 30, "¼", ORANGE)
                bar(f, x + 30, y + 16, 130, "¼ of the products", PURPLE)
                x += 160
    f.text(86, 182, "dashed: the barrier, once per piece", 12)
    return f


# ---- part faster, step 5

@figure("06_outer")
def outer():
    f = Figure(760, 372, "Step 4 reads four columns of a row of Q and of K and adds four products to one score. Step 5 reads four rows of "
                         "one column of each, and adds one product to sixteen scores, each with the same two registers every time.")
    cell = 30
    shade = lambda i: HALF if i % 2 else FAINT
    for x, title in ((10, "step 4: 16 bytes are four columns of a row"), (390, "step 5: 16 bytes are four rows of a column")):
        f.heading(x, 20, title)
    # step 4: rows of Q (left) and rows of K (above, drawn upright), one score each
    x, y = 150, 186
    for r in range(4):
        for c in range(4):
            f.rect(x - 4 * cell - 16 + c * cell, y + r * cell, cell - 2, cell - 2, BLUE, shade(c) if r == 1 else 0, 1 if r == 1 else 0.4)
            f.rect(x + r * cell, y - 4 * cell - 16 + c * cell, cell - 2, cell - 2, ORANGE, shade(c) if r == 2 else 0, 1 if r == 2 else 0.4)
            f.rect(x + c * cell, y + r * cell, cell - 2, cell - 2, PURPLE, SOLID if (r, c) == (1, 2) else 0, 1 if (r, c) == (1, 2) else 0.4)
    f.text(x - 4 * cell - 16, y - 8, "Q", 13, BLUE, bold=True)
    f.text(x + 4 * cell + 6, y - 2.5 * cell, "K", 13, ORANGE, bold=True)
    f.text(x + 4 * cell + 6, y + 2 * cell, "S", 13, PURPLE, bold=True)
    f.lines(10, y + 4 * cell + 30, ["One score meets registers of both banks in turn,", "pale and strong: every second time in its own bank."], 12.5, step=17)
    # step 5: column of Q_t, row of K_t
    x = 480
    for r in range(4):
        f.rect(x - cell - 16, y + r * cell, cell - 2, cell - 2, BLUE, shade(r), 1)
        f.rect(x + r * cell, y - cell - 16, cell - 2, cell - 2, ORANGE, shade(r), 1)
        for c in range(4):
            f.rect(x + c * cell, y + r * cell, cell - 2, cell - 2, PURPLE, HALF, 1)
    f.text(x - cell - 16, y - 8, "Q", 13, BLUE, bold=True)
    f.text(x + 4 * cell + 6, y - cell / 2 - 16, "K", 13, ORANGE, bold=True, middle=True)
    f.text(x + 4 * cell + 6, y + 2 * cell, "S", 13, PURPLE, bold=True)
    f.lines(390, y + 4 * cell + 30, ["A score always meets the same two registers. One is", "kept; the score lies in the bank the other is not in."], 12.5, step=17)
    f.lines(636, 90, ["pale: register", "of even number", "strong: of odd"], 12, step=16)
    return f


# ---- part any_shape, steps 3 to 5

@figure("06_own_keys")
def own_keys():
    f = Figure(760, 250, "A tile of four rows of Q, which all warps have. Four warps take tiles of 16 keys in turn, each into its own "
                         "places for K and V; each has sums of its own, and at the end they are added up.")
    f.heading(10, 20, "few rows")
    for row in range(4):
        f.rect(10, 40 + 18 * row, 60, 16, BLUE, HALF, 1)
    f.text(40, 128, "Q", 13, BLUE, "middle", bold=True)
    f.heading(390, 20, "many keys, 16 to a tile")
    left, tile = 130, 38
    for key in range(16):
        for y, color in ((40, ORANGE), (78, GREEN)):
            f.rect(left + key * tile, y, tile - 3, 34, color, HALF if key % 4 == 1 else FAINT, 1)
        f.text(left + key * tile + tile / 2 - 1, 128, str(key % 4), 12, anchor="middle")
    f.text(left - 8, 57, "K", 13, ORANGE, "end", bold=True, middle=True)
    f.text(left - 8, 95, "V", 13, GREEN, "end", bold=True, middle=True)
    f.text(left - 8, 128, "warp", 12, anchor="end")
    for warp in range(4):
        x = left + warp * 4 * tile
        box(f, x + 4, 150, 4 * tile - 14, 32, PURPLE, f"warp {warp}: o, m, l", size=13)
        f.arrow(x + 2 * tile - 3, 184, 430 + (warp - 1.5) * 60, 206, GREY)
    box(f, 260, 210, 340, 32, PURPLE, "all brought to one maximum, and added", size=13)
    return f


@figure("06_split")
def split():
    f = Figure(760, 300, "The four query heads of a group are the rows of a tile. Two blocks share their keys; the warps of a block take "
                         "tiles of 16 keys in turn. Each block writes its part of O with its maximum and sum, and a second kernel merges the parts.")
    f.heading(10, 20, "rows: the query heads of a group")
    for row in range(4):
        f.rect(10, 40 + 18 * row, 60, 16, BLUE, HALF, 1)
    f.text(40, 128, "Q", 13, BLUE, "middle", bold=True)
    f.heading(390, 20, "their keys and values, read once")
    left, tile = 110, 20
    for key in range(32):
        warp = key % 8
        f.rect(left + key * tile, 40, tile - 2, 34, ORANGE, HALF if warp == 0 else FAINT, 1)
        f.rect(left + key * tile, 78, tile - 2, 34, GREEN, HALF if warp == 0 else FAINT, 1)
    f.text(left - 8, 57, "K", 13, ORANGE, "end", bold=True, middle=True)
    f.text(left - 8, 95, "V", 13, GREEN, "end", bold=True, middle=True)
    f.text(left, 130, "strong: tiles of 16 keys of the block's first warp; the others have those between", 12)
    for part in range(2):
        x = left + part * 16 * tile
        f.line(x, 140, x + 16 * tile - 2, 140, GREY, 1.2)
        f.arrow(x + 160, 142, x + 160, 162, GREY)
        box(f, x + 60, 166, 200, 34, PURPLE, "block %d: o, m, l of its keys" % part, size=13)
        f.arrow(x + 160, 202, 430 + (part - 0.5) * 60, 238, GREY)
    box(f, 260, 242, 340, 34, PURPLE, "merge: o₀·e^(m₀−m) + o₁·e^(m₁−m), over l", size=13)
    f.text(110, 262, "a second kernel", 12.5)
    return f


# ---- part few_queries

@figure("06_packed")
def packed():
    f = Figure(760, 300, "Three queries of each of four heads are rows 0 to 11 of a tile of 16 rows; the last four are zeros. Of the last keys "
                         "row r sees those that query r % 3 may look at, so the mask's edge is the same three steps for each head.")
    f.heading(10, 20, "16 rows")
    f.heading(330, 20, "the last of their keys")
    for row in range(16):
        y = 36 + 16 * row
        head, query = divmod(row, 3)
        real = row < 12
        f.rect(150, y, 90, 14, BLUE if real else GREY, (HALF if head % 2 == 0 else PALE) if real else FAINT, 0)
        for key in range(16):
            seen = real and key < 14 + query
            f.rect(330 + key * 20, y, 18, 14, ORANGE if seen else GREY, HALF if seen else FAINT, 0)
        if real:
            f.text(665, y + 7, f"query {query}", 11, middle=True)
    for head in range(4):
        f.text(140, 36 + 48 * head + 23, f"head {head}", 12.5, BLUE, "end", bold=True, middle=True)
    f.text(140, 36 + 192 + 31, "zeros", 12.5, anchor="end", middle=True)
    f.arrow(250, 130, 318, 130, GREY)
    f.text(284, 120, "r % 3", 12, anchor="middle", code=True)
    return f


# ---- part model

@figure("06_model")
def model():
    f = Figure(760, 300, "From the left: a byte becomes x, a row of 192 numbers. In each of four layers x goes on as it is, and two branches add "
                         "to it: norm, product, attention over the KV cache, product; and norm, product, GELU, product. Then norm and product "
                         "give 256 logits, and the byte of the largest one is read next.")
    line, top = 232, 60
    f.rect(118, 10, 472, 256, GREY, FAINT, 1, 6)
    f.text(128, 28, "a layer, four times", 12.5, bold=True)
    f.arrow(96, line, 604, line, BLUE, 3)
    f.text(352, line + 20, "x, 192 numbers", 12.5, BLUE, "middle", bold=True)
    box(f, 10, line - 20, 84, 40, GREY, "embedding", size=12.5)
    f.text(52, line + 38, "byte + place", 12, anchor="middle")
    stages = (("norm", GREY), ("·Wqkv", ORANGE), ("attention", PURPLE), ("·Wout", ORANGE)), (
        ("norm", GREY), ("·Wup", ORANGE), ("GELU", GREY), ("·Wdown", ORANGE))
    for x, branch in zip((134, 372), stages):
        f.arrow(x + 44, line - 4, x + 44, top + 134, BLUE)
        f.arrow(x + 152, top + 132, x + 152, line - 14, GREEN)
        for i, (words, color) in enumerate(branch):
            left, low = x + (0 if i < 2 else 108), top + (104 if i in (0, 3) else 56)
            box(f, left, low, 88, 28, color, words, size=12.5)
        f.arrow(x + 44, top + 102, x + 44, top + 86)
        f.arrow(x + 90, top + 70, x + 106, top + 70)
        f.arrow(x + 152, top + 86, x + 152, top + 102)
        f.text(x + 152, line + 5, "+", 20, GREEN, "middle", bold=True)
    f.text(232, top + 50, "q", 12, PURPLE, "middle")
    box(f, 242, top - 20, 88, 26, GREEN, "KV cache", size=12.5)
    f.arrow(200, top + 54, 240, top - 2, GREEN)
    f.text(182, top + 22, "new k, v", 12, GREEN, "middle")
    f.arrow(286, top + 8, 286, top + 54, GREEN)
    f.text(296, top + 30, "all k, v", 12, GREEN)
    box(f, 606, line - 20, 52, 40, GREY, "norm", size=12.5)
    f.arrow(660, line, 676, line)
    box(f, 678, line - 20, 72, 40, ORANGE, "·Whead", size=12.5)
    f.arrow(714, line - 24, 714, line - 60)
    f.text(750, line - 100, "256 logits", 12.5, anchor="end", bold=True)
    f.text(750, line - 84, "the best byte", 12, anchor="end")
    f.text(750, line - 68, "is read next", 12, anchor="end")
    return f


# ---- part joint

@figure("06_joint")
def joint():
    f = Figure(760, 372, "Left: two kernels. The first computes all tiles of ỹ, which goes to global memory; the second reads it. Right: one "
                         "kernel. A block keeps a strip of A and of y; a tile of ỹ is on the chip until it is multiplied by a tile of C.")
    s = 38
    for x, title in ((10, "step 1: one product after the other"), (390, "step 2: joint tiling")):
        right = x > 100
        f.heading(x, 20, title)
        left, top = x + 62, 200
        for t in range(4):
            f.rect(left + t * s, top - s - 14, s - 2, s - 2, ORANGE, SOLID if right and t == 2 else PALE, 0.6)
            f.rect(left + 4 * s + 18, top - 4 * s - 14 + t * s - 6, s - 2, s - 2, GREEN, SOLID if right and t == 2 else PALE, 0.6)
        for r in range(3):
            f.rect(left - s - 12, top + r * s, s - 2, s - 2, BLUE, SOLID if right and r == 1 else PALE, 0.6)
            f.rect(left + 4 * s + 18, top + r * s, s - 2, s - 2, GREEN, SOLID if right and r == 1 else HALF, 0.6)
            for t in range(4):
                if not right:
                    f.rect(left + t * s, top + r * s, s - 2, s - 2, PURPLE, HALF, 0.6)
        f.text(left - s / 2 - 13, top - 8, "A", 14, BLUE, "middle", bold=True)
        f.text(left - 8, top - s / 2 - 15, "B", 14, ORANGE, "end", bold=True, middle=True)
        f.text(left + 5 * s + 22, top - 2 * s - 20, "C", 14, GREEN, bold=True, middle=True)
        f.text(left + 5 * s + 22, top + 1.5 * s, "y", 14, GREEN, bold=True, middle=True)
        if not right:
            f.text(left + 2 * s, top + 1.5 * s, "ỹ, all of it stored", 14, TEXT, "middle", bold=True, middle=True)
            f.lines(x, 338, ["Kernel 1 writes m·n numbers, kernel 2 reads", "them: once for each column of tiles of y."], 12.5, step=17)
        else:
            f.rect(left, top, 4 * s - 2, 3 * s - 2, PURPLE, 0, 0.8, 0, "3 3")
            f.rect(left + 2 * s, top + s, s - 2, s - 2, PURPLE, SOLID, 0)
            f.arrow(left + 4, top - s - 24, left + 4 * s - 6, top - s - 24, ORANGE)
            f.arrow(left + 4 * s + 10, top - 4 * s - 18, left + 4 * s + 10, top - 24, GREEN)
            f.text(left + 2 * s, top + 2.5 * s, "one tile of ỹ at a time", 12, PURPLE, "middle", middle=True)
            f.lines(x, 338, ["A block keeps b rows of A and of y. B and C", "come tile by tile, to every block again."], 12.5, step=17)
    return f
