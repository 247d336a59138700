"""The figures of chapter 06's part tensor_cores. Q is blue, K and V orange, S and P purple, O green."""
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, RED, SOLID, TEXT, Figure, figure


@figure("06_tc_fragments")
def fragments():
    f = Figure(760, 400, "Who holds what, for lane 6, which has g = 1 and t = 2. Of A, 16 by 16, it has columns 4 and 5 and 12 and 13 "
                         "of rows 1 and 9, in four registers. Of B, 16 by 8, rows 4 and 5 and 12 and 13 of column 1, in two registers. "
                         "Of C, 16 by 8, columns 4 and 5 of rows 1 and 9, in four.")
    cell = 17

    def tile(x, y, rows, cols, name, color, mine):
        f.text(x + cols * cell / 2, y - 24, name, 13, color, "middle", bold=True)
        for c in range(0, cols, 2 if cols == 16 else 1):
            f.text(x + (c + 0.5) * cell, y - 6, c, 11, GREY, "middle")
        for r in range(rows):
            f.text(x - 6, y + (r + 0.5) * cell, r, 11, GREY, "end", middle=True)
        f.grid(x, y, rows, cols, cell, color, look=lambda r, c: (color, SOLID, "") if (r, c) in mine else (color, FAINT))
        if cols == 16:
            f.line(x + 8 * cell - 0.5, y, x + 8 * cell - 0.5, y + rows * cell, color, 1)
        f.line(x, y + 8 * cell - 0.5, x + cols * cell, y + 8 * cell - 0.5, color, 1)

    a = {(r, c) for r in (1, 9) for c in (4, 5, 12, 13)}
    tile(40, 60, 16, 16, "A (16 × 16): Q, or P", BLUE, a)
    for row, col, name in ((1, 6, "a[0]"), (9, 6, "a[1]"), (1, 14, "a[2]"), (9, 14, "a[3]")):
        f.text(40 + col * cell - 17, 60 + (row + 1.75) * cell, name, 11, TEXT, "middle", code=True)
    b = {(r, 1) for r in (4, 5, 12, 13)}
    tile(390, 60, 16, 8, "B (16 × 8): Kᵀ, or V", ORANGE, b)
    for row, name in ((5, "b0"), (13, "b1")):
        f.text(390 + 2 * cell + 6, 60 + row * cell, name, 11, TEXT, code=True, middle=True)
    c = {(r, col) for r in (1, 9) for col in (4, 5)}
    tile(590, 60, 16, 8, "C (16 × 8): S, or O", PURPLE, c)
    for row, name in ((1, "c[0] c[1]"), (9, "c[2] c[3]")):
        f.text(590 + 5 * cell, 60 + (row + 1.75) * cell, name, 11, TEXT, "middle", code=True)
    f.lines(40, 358, ["Lane l = 4·g + t. Here l = 6: g = l / 4 = 1 is a row of A and C and a column of B,",
                      "t = l % 4 = 2 is a pair of columns of A and C (4 and 5), and a pair of rows of B."], 12.5, step=18)
    return f


@figure("06_tc_p")
def p_as_fragment():
    f = Figure(760, 262, "The sums of two groups of 8 keys, as the first product leaves them in lane 6, are the four registers of the left "
                         "fragment of the second product: rounded to bf16 and packed in pairs, in the same lane.")
    cell, top = 15, 56
    f.text(145, 22, "sums of S, fp32", 14, PURPLE, "middle", bold=True)
    for x, name in ((30, "S[n]: 8 keys"), (170, "S[n+1]: the next 8")):
        f.text(x + 4 * cell, top - 8, name, 11, GREY, "middle")
        f.grid(x, top, 16, 8, cell - 5, PURPLE, look=lambda r, c: (PURPLE, SOLID, "") if r in (1, 9) and c in (4, 5) else (PURPLE, FAINT))
    pairs = [("S[n][0], S[n][1]", "a[0]", "row g, keys 2t, 2t+1"), ("S[n][2], S[n][3]", "a[1]", "row g+8"),
             ("S[n+1][0], S[n+1][1]", "a[2]", "row g, keys 2t+8, 2t+9"), ("S[n+1][2], S[n+1][3]", "a[3]", "row g+8")]
    f.text(380, 22, "two sums of a lane …", 14, PURPLE, "middle", bold=True)
    f.text(640, 22, "… are a register of P, bf16", 14, BLUE, "middle", bold=True)
    for i, (sums, register, where) in enumerate(pairs):
        y = top + i * 42
        f.rect(300, y, 160, 30, PURPLE, PALE)
        f.text(380, y + 15, sums, 11.5, TEXT, "middle", code=True, middle=True)
        f.arrow(464, y + 15, 528, y + 15, TEXT)
        f.text(496, y + 9, "pack", 11, GREY, "middle", code=True)
        f.rect(532, y, 54, 30, BLUE, HALF)
        f.text(559, y + 15, register, 12, TEXT, "middle", code=True, middle=True)
        f.text(594, y + 15, where, 11.5, GREY, middle=True)
    f.text(30, 248, "No lane needs a number of another one, and nothing goes through shared memory.", 12.5)
    return f


@figure("06_tc_swizzle")
def swizzle():
    f = Figure(760, 300, "Eight rows of a tile, 8 chunks of 16 bytes each. Plain: chunk 2 of every row lies in the same banks, so 8 rows "
                         "take 8 rounds. Swizzled: chunk 2 of row r stands at place 2 xor r, and the 8 chunks lie in 32 different banks.")
    cell, top = 38, 66
    for x, title, place in ((48, "plain: place c", lambda r, c: c), (432, "swizzled: place c xor r", lambda r, c: c ^ r)):
        f.heading(x, 20, title)
        for p in range(8):
            f.text(x + (p + 0.5) * cell, top - 22, f"place {p}" if p == 0 else p, 11, GREY, "middle")
            f.text(x + (p + 0.5) * cell, top - 7, f"{4 * p}–{4 * p + 3}", 11, GREY, "middle")
        f.text(x - 8, top - 7, "banks" if x < 100 else "", 11, GREY, "end")
        for r in range(8):
            f.text(x - 8, top + (r + 0.5) * 24, r, 11, GREY, "end", middle=True)
            for c in range(8):
                p = place(r, c)
                f.rect(x + p * cell, top + r * 24, cell - 2, 22, ORANGE, HALF if c == 2 else FAINT, 0)
                f.text(x + p * cell + cell / 2 - 1, top + r * 24 + 11, f"c{c}", 11, TEXT, "middle", middle=True)
    f.text(48, 282, "chunk 2 of 8 rows: 4 banks, 8 rounds, 7 of them conflicts", 12.5)
    f.text(432, 282, "all 32 banks, 1 round", 12.5)
    return f


@figure("06_tc_waits")
def waits():
    f = Figure(760, 424, "Time lines of a tile. Step 3: V of tile j may come during the product for S and the softmax, K of tile j + 1 from "
                         "the softmax on until the next tile; the block waits for K, then for V, and has four barriers a tile. Step 8: both "
                         "of tile j + 1 are copied into the other stage during all of tile j, with one wait and one barrier.")
    left, width = 120, 610

    def row(y, name):
        f.text(left - 12, y + 13, name, 12, TEXT, "end", middle=True)

    def box(y, a, b, color, words, fill=PALE):
        f.rect(left + a * width, y, (b - a) * width - 2, 26, color, fill)
        f.text(left + (a + b) / 2 * width - 1, y + 13, words, 11, TEXT, "middle", middle=True)

    def barrier(x, top, bottom, words=""):
        f.line(left + x * width - 1, top, left + x * width - 1, bottom, RED, 1.5, "4 3")
        if words:
            place, anchor = (left + x * width - 1, "middle") if x < 0.9 else (754, "end")
            f.text(place, bottom + 14, words, 11, RED, anchor)

    f.heading(20, 20, "step 3: one place for K, one for V (red: barriers)")
    y = 40
    row(y, "copy of V")
    box(y, 0.00, 0.655, ORANGE, "V(j)")
    row(y + 32, "copy of K")
    start, end = left + 0.38 * width, left + 1.02 * width  # open at the right: it may go on in the next tile
    f.rect(start, y + 32, end - start, 26, ORANGE, PALE, 0)
    f.path(f"M{end:g} {y + 32}H{start:g}V{y + 58}H{end:g}", ORANGE, 1)
    f.text(left + 0.81 * width, y + 45, "K(j+1), on to the next wait K", 11, TEXT, "middle", middle=True)
    row(y + 68, "warps")
    box(y + 68, 0.04, 0.36, BLUE, "S = Q·K(j)ᵀ", HALF)
    box(y + 68, 0.38, 0.64, PURPLE, "softmax", HALF)
    box(y + 68, 0.68, 0.96, GREEN, "O += P·V(j)", HALF)
    for x, words in ((0.03, "wait K(j)"), (0.37, "all have read K(j)"), (0.66, "wait V(j)"), (0.97, "all have read V(j)")):
        barrier(x, y - 6, y + 104, words)
    f.text(left, y + 144, "K(j+1) may begin when nobody reads K(j) any more: right after the first product.", 12)

    f.heading(20, 228, "step 8: two stages of both")
    y = 248
    row(y, "copies")
    box(y, 0.03, 0.98, ORANGE, "K(j+1) and V(j+1), into the other stage")
    for w in range(2):
        row(y + 36 + 32 * w, f"warp {w}")
        shift = 0.10 * w
        box(y + 36 + 32 * w, 0.03 + shift, 0.33 + shift, BLUE, "S", HALF)
        box(y + 36 + 32 * w, 0.33 + shift, 0.57 + shift, PURPLE, "softmax", HALF)
        box(y + 36 + 32 * w, 0.57 + shift, 0.88 + shift, GREEN, "O", HALF)
    for x, words in ((0.015, "wait for j"), (0.99, "wait for j+1")):
        barrier(x, y - 6, y + 104, words)
    f.text(20, y + 144, "Within a tile no warp waits for another: one that was late stays late, and multiplies during the other's softmax.", 12)
    return f


@figure("06_tc_diagonal")
def diagonal():
    f = Figure(760, 330, "A block of 128 queries and six tiles of 64 keys, with as many keys as queries. Its four warps have 32 rows each. "
                         "Tiles left of the diagonal are whole for all warps; where the diagonal crosses, a warp asks the mask; the last "
                         "tile is skipped by the two upper warps.")
    x, y, tile, row = 90, 50, 76, 54
    f.text(x + 3 * tile, 20, "keys, in tiles of 64", 13, ORANGE, "middle")
    f.text(32, y + 2 * row, "queries 256 – 383", 13, BLUE, "middle", middle=True, turn=-90)
    for j in range(6):
        f.text(x + (j + 0.5) * tile, y - 8, f"{64 * j} – {64 * j + 63}", 11, GREY, "middle")
    for w in range(4):
        f.text(x - 8, y + (w + 0.5) * row, f"warp {w}", 11, TEXT, "end", middle=True)
        first = 256 + 32 * w  # its first query
        whole, seen = (first + 1) // 64, -(-(first + 32) // 64)
        for j in range(6):
            color, fill, words = (GREEN, PALE, "whole") if j < whole else (PURPLE, HALF, "mask") if j < seen else (GREY, 0, "skipped")
            f.rect(x + j * tile, y + w * row, tile - 2, row - 2, color, fill, 0.8)
            beside = (0.68 if w % 2 == 0 else 0.31) if words == "mask" else 0.5  # the diagonal
            f.text(x + (j + beside) * tile, y + (w + 0.5) * row, words, 11, TEXT, "middle", middle=True)
    f.line(x + 4 * tile, y, x + 6 * tile, y + 4 * row, RED, 2)
    f.text(x + 6 * tile + 10, y + 4 * row - 4, "the diagonal:", 12, RED)
    f.text(x + 6 * tile + 10, y + 4 * row + 12, "key = query", 12, RED)
    f.lines(x, y + 4 * row + 34, ["whole = ⌊keys that the warp's first row sees / 64⌋ tiles need no mask;",
                                  "seen = ⌈keys that its last row sees / 64⌉ tiles are computed."], 12.5, step=18)
    return f
