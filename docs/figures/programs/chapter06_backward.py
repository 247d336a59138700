"""The figures of chapter 06's part backward. Queries are blue, keys orange, sums green, pairs purple."""
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PURPLE, SOLID, TEXT, Figure, figure

N, S = 6, 30  # tiles of queries and of keys; pixels of one


def pairs(f, left, top, chosen):
    """The tiles of pairs that a causal mask leaves; chosen(i, j) are those of one block."""
    for i in range(N):
        for j in range(i + 1):
            f.rect(left + j * S, top + i * S, S - 2, S - 2, PURPLE, HALF if chosen(i, j) else FAINT, 0.6)
    f.text(left + N * S / 2, top - 12, "keys", 12, ORANGE, "middle")
    f.text(left - 12, top + N * S / 2, "queries", 12, BLUE, "middle", middle=True, turn=-90)


@figure("06_backward")
def who_sums_what():
    f = Figure(760, 352, "Two kernels over the pairs of queries and keys. Left: a block keeps a tile of keys, walks down over the "
                         "queries that see them, and sums dk and dv. Right: a block keeps a tile of queries, walks along their "
                         "keys, and sums dq.")
    top = 64
    for x, title in ((60, "keys outside: dk and dv"), (440, "queries outside: dq")):
        f.heading(x - 40, 20, title)
        keys = x < 200
        pairs(f, x, top, (lambda i, j: j == 2) if keys else (lambda i, j: i == 4))
        if keys:
            f.rect(x + 2 * S, top - 4 - 4, S - 2, 5, ORANGE, SOLID, 0)
            f.arrow(x + 2.5 * S - 1, top + 2.2 * S, x + 2.5 * S - 1, top + N * S - 6, TEXT)
            f.rect(x + 2 * S, top + N * S + 6, S - 2, 16, GREEN, HALF, 0.8)
            f.text(x + 3 * S + 4, top + N * S + 15, "dk, dv of these keys", 12, GREEN, middle=True)
        else:
            f.rect(x - 8, top + 4 * S, 5, S - 2, BLUE, SOLID, 0)
            f.arrow(x + 4, top + 4.5 * S - 1, x + 5 * S - 8, top + 4.5 * S - 1, TEXT)
            f.rect(x + N * S + 6, top + 4 * S, 16, S - 2, GREEN, HALF, 0.8)
            f.text(x + N * S + 28, top + 4.5 * S, "dq", 12, GREEN, middle=True)
    f.lines(20, 304, ["K and V stay; Q, dO, lse and D pass by.", "Four products for each tile of pairs:", "S, dP, dv += Pᵀ·dO, dk += dSᵀ·Q"], 12.5, step=17)
    f.lines(400, 304, ["Q, dO, lse and D stay; K and V pass by.", "Three products for each tile of pairs:", "S and dP again, dq += dS·K"], 12.5, step=17)
    return f


@figure("06_backward_parts")
def parts():
    f = Figure(760, 292, "Step 6: the block of a tile of keys also multiplies dS with K, and stores the product for each tile of queries "
                         "as a part of dq. A second kernel adds up the parts of a query in the order of the keys.")
    x, top = 60, 64
    f.heading(20, 20, "a block's five products")
    pairs(f, x, top, lambda i, j: j == 2)
    f.rect(x + 2 * S, top - 8, S - 2, 5, ORANGE, SOLID, 0)
    f.arrow(x + 2.5 * S - 1, top + 2.2 * S, x + 2.5 * S - 1, top + N * S - 6, TEXT)
    f.rect(x + 2 * S, top + N * S + 6, S - 2, 16, GREEN, HALF, 0.8)
    f.text(x + 3 * S + 4, top + N * S + 15, "dk, dv", 12, GREEN, middle=True)
    left = 330
    f.heading(left - 20, 20, "parts of dq")
    for i in range(N):
        for j in range(i + 1):
            f.rect(left + j * 34, top + i * S, 28, S - 2, GREEN, HALF if j == 2 else FAINT, 0.8)
            if j:
                f.text(left + j * 34 - 3, top + i * S + S / 2 - 1, "+", 12, GREY, "middle", middle=True)
        f.arrow(left + (i + 1) * 34, top + (i + 0.5) * S - 1, left + N * 34 + 22, top + (i + 0.5) * S - 1, GREY)
        f.rect(left + N * 34 + 28, top + i * S, 28, S - 2, GREEN, SOLID, 0)
    f.text(left + 2 * 34 + 14, top - 12, "its parts", 12, GREEN, "middle")
    f.text(left + N * 34 + 42, top - 12, "dq", 12, GREEN, "middle")
    f.arrow(x + 3 * S + 26, top + 3.5 * S, left - 10, top + 3.5 * S, PURPLE, dash="4 3")
    f.text(left - 14, top + 3.5 * S - 10, "dS·K", 12, PURPLE, "end")
    f.text(left, top + N * S + 15, "added from left to right, on every run", 12.5, middle=True)
    return f


@figure("06_turns")
def turns():
    f = Figure(760, 262, "Blocks of keys and tiles of queries as a staircase in time: of each tile block 0 stores its part of dq, then "
                         "block 1 adds to it, then 2, then 3.")
    left, top, wide, high = 92, 62, 84, 34
    f.heading(20, 24, "whose turn it is to add to a tile's dq")
    for block in range(4):
        y = top + block * high
        f.text(left - 12, y + high / 2 - 2, f"block {block}", 12.5, ORANGE, "end", middle=True)
        for n in range(4):
            x, shown = left + (n + block) * wide, n == 0
            f.rect(x, y, wide - 4, high - 4, GREEN, HALF if shown else FAINT, 0.8)
            how = "tile 3: store" if block == 0 and shown else "tile 3: add" if shown else f"tile {3 - n}"
            f.text(x + (wide - 4) / 2, y + (high - 4) / 2, how, 12, middle=True, anchor="middle")
        if block:
            x = left + block * wide
            f.path(f"M{x - wide + (wide - 4) / 2} {y - 4}V{y + high / 2 - 2}H{x - 4}", GREEN, 1.5, arrow=True)
    y = top + 4 * high + 14
    f.arrow(left, y, left + 7 * wide - 6, y, GREY)
    f.text(left + 7 * wide + 2, y, "time", 12, GREY, middle=True)
    f.lines(left, y + 22, ["Each block begins with the last tile of queries, and is one tile behind the block before it:",
                           "from then on nobody waits."], 12.5, step=17)
    return f


@figure("06_more_sums")
def more_sums():
    f = Figure(760, 244, "Step 6, four heads of queries that share their keys. Left: one block walks over all four and stores dk and dv. "
                         "Right: two blocks have the same keys, each walks over two heads and stores its sums, which are added.")
    wide, high, top = 66, 28, 66
    for left, title, blocks in ((20, "step 5: one block", 1), (400, "step 6: two blocks with the same keys", 2)):
        f.heading(left, 24, title)
        each = 4 // blocks
        for block in range(blocks):
            for n in range(each):
                x, y = left + n * wide, top + block * 52
                f.rect(x, y, wide - 4, high, BLUE, HALF, 0.8)
                f.text(x + (wide - 4) / 2, y + high / 2, f"head {block * each + n}", 12, middle=True, anchor="middle")
            x, y = left + each * wide + 6, top + block * 52
            f.arrow(x - 6, y + high / 2, x + 14, y + high / 2, GREY)
            f.rect(x + 18, y, 58, high, GREEN, HALF, 0.8)
            f.text(x + 47, y + high / 2, "dk, dv", 12, middle=True, anchor="middle")
        if blocks == 2:
            x = left + each * wide + 88
            for block in range(2):
                f.arrow(x - 4, top + block * 52 + high / 2, x + 40, top + 26 + high / 2 + (block * 2 - 1) * 5, GREY)
            f.rect(x + 44, top + 26, 58, high, GREEN, HALF, 0.8)
            f.text(x + 73, top + 26 + high / 2, "added", 12, middle=True, anchor="middle")
    y = top + 2 * 52 + 8
    f.arrow(20, y, 284, y, GREY)
    f.arrow(400, y, 530, y, GREY)
    f.text(292, y, "time", 12, GREY, middle=True)
    f.text(538, y, "time", 12, GREY, middle=True)
    f.lines(20, y + 26, ["Where texts are short, one block for each 128 keys leaves most multiprocessors without work."], 12.5, step=17)
    return f
