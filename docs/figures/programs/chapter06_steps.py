"""The figures of steps 3, 5, 7, 8 and 9 of chapter 06. Colours as in chapter06.py."""
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, SOLID, Figure, figure


# ---- step 3

@figure("06_reads")
def reads():
    f = Figure(760, 262, "For four multiply-adds of a score step 2 reads four single floats of Q and of K, in four passes of "
                         "shared memory each. Step 3 reads four floats at a time: two passes for Q, four for K.")
    cell, wide, high = 26, 8, 5
    for x, title, vector, passes in ((20, "step 2: four floats, one by one", False, (4, 4)),
                                     (400, "step 3: four floats in one read", True, (2, 4))):
        f.heading(x - 10, 20, title)
        left = x + 36
        for top, name, color, rows, mine in ((44, "Q", BLUE, 1, 0), (92, "K", ORANGE, high, 2)):
            f.text(left - 12, top + rows * cell / 2, name, 14, color, "end", bold=True, middle=True)
            for r in range(rows):
                for c in range(4 if r == mine else 0, wide):
                    f.rect(left + c * cell, top + r * cell, cell - 3, cell - 3, color, FAINT, 0.5)
            width = 4 * cell - 3 if vector else cell - 3
            for c in range(1 if vector else 4):
                f.rect(left + c * cell, top + mine * cell, width, cell - 3, color, SOLID, 0, 3)
        f.text(left + wide * cell + 6, 44 + cell / 2, "row r, all lanes", 12, middle=True)
        f.text(left + wide * cell + 6, 92 + 2.5 * cell, "row of this lane", 12, middle=True)
        f.text(left, 248, f"passes: Q {passes[0]}, K {passes[1]}", 14, bold=True)
    return f


# ---- step 5

@figure("06_output_patch")
def output_patch():
    f = Figure(760, 278, "In step 4 a thread computes a column of O after the other and reads all weights of its row for each. "
                         "In step 5 it has eight columns at once: a weight that was read serves all eight.")
    cell, keys = 11, 12
    mine = [*range(4, 8), *range(12, 16)]  # of 16 columns that are drawn
    for x, title, columns in ((20, "step 4: a column at a time", [4]), (400, "step 5: eight columns at once", mine)):
        f.heading(x - 10, 20, title)
        left, top = x + 164, 48
        f.text(x, top + 10, "V", 14, GREEN, bold=True, middle=True)
        f.text(x + 18, top + 10, "a row a key", 12, middle=True)
        here = range(keys) if len(columns) == 1 else range(4)
        for r in range(keys):
            for c in range(16):
                read = r in here and c in columns
                f.rect(left + c * cell, top + r * cell, cell - 2, cell - 2, GREEN, SOLID if read else FAINT, 0 if read else 0.4)
        below = top + keys * cell + 20
        f.text(x, below + 5, "P", 14, PURPLE, bold=True, middle=True)
        for c in range(keys):
            f.rect(x + 14 + c * cell, below, cell - 2, cell - 2, PURPLE, SOLID if c in here else FAINT, 0 if c in here else 0.4)
        for c in range(16):
            read = c in columns
            f.rect(left + c * cell, below, cell - 2, cell - 2, GREEN, SOLID if read else FAINT, 0 if read else 0.4)
        f.text(left + 16 * cell + 6, below + 5, "O", 14, GREEN, bold=True, middle=True)
        words = (["All weights of the row for one column,", "and all again for the next one."] if len(columns) == 1 else
                 ["Four weights, for four rows of V and", "eight columns: 32 multiply-adds."])
        f.lines(x, below + 44, words, 13, step=18)
    return f


# ---- step 7

@figure("06_head_sizes")
def head_sizes():
    f = Figure(760, 356, "The tile of O of a block is 128 by 32, 64 by 64 or 32 by 128, always 4096 sums. A thread has 8 columns of "
                         "four rows, so 4, 8 or 16 lanes share a row.")
    f.heading(10, 20, "a block's tile of O: 128 threads, 4 × 8 sums each")
    one, top = 1.8, 54
    for x, columns in ((40, 32), (200, 64), (430, 128)):
        lanes, rows = columns // 8, 4096 // columns
        groups = rows // 4
        f.rect(x, top, columns * one, rows * one, GREEN, FAINT, 1)
        f.text(x + columns * one / 2, top - 10, f"head size {columns}", 13, GREEN, "middle", bold=True)
        for r in range(4):
            for half in range(2):
                f.rect(x + (4 * 2 + half * columns // 2) * one, top + (groups // 2 + groups * r) * one, 4 * one, 3, GREEN, SOLID, 0)
        f.lines(x, top + rows * one + 22, [f"{rows} queries", f"{lanes} lanes a row", f"scores: 4 × {32 // lanes}"], 13, step=18)
    f.text(430, 212, "Strong: the sums of thread tx = 2.", 13)
    return f


# ---- step 8

PLACES, LENGTHS, HEADS = 4, (2, 4, 6, 8), 3


def dealt(blocks):
    """Each block (head, length) goes to the place that is free first: (place, begin, head, length) of each."""
    free, begun = [0] * PLACES, []
    for head, length in blocks:
        place = free.index(min(free))
        begun.append((place, free[place], head, length))
        free[place] += length
    return begun, max(free)


@figure("06_longest_first")
def longest_first():
    by_head = [(head, length) for head in range(HEADS) for length in LENGTHS]
    by_length = [(head, length) for length in reversed(LENGTHS) for head in range(HEADS)]
    (_, before), (_, after) = dealt(by_head), dealt(by_length)
    f = Figure(760, 300, f"Twelve blocks of three heads, with 2, 4, 6 and 8 tiles of keys, on four places. Head by head the last one "
                         f"ends after {before} tiles, with the longest first after {after}.")
    unit, row = 34, 24
    for y, title, blocks in ((20, "step 7: head by head, the longest block of each last", by_head),
                             (160, "step 8: the longest blocks of all heads first", by_length)):
        f.heading(10, y, title)
        begun, end = dealt(blocks)
        for place, begin, head, length in begun:
            color = (BLUE, ORANGE, PURPLE)[head]
            left, top = 80 + begin * unit, y + 14 + place * row
            f.rect(left, top, length * unit - 2, row - 3, color, PALE, 1, 2)
            f.text(left + length * unit / 2 - 1, top + row / 2 - 1, length, 12, color, "middle", middle=True)
        for place in range(PLACES):
            f.text(10, y + 14 + place * row + row / 2, f"place {place + 1}", 12, middle=True)
        f.line(80 + end * unit, y + 8, 80 + end * unit, y + 18 + PLACES * row, GREY, 1.2, "4 3")
        f.text(80 + end * unit + 5, y + 14 + PLACES * row / 2, end, 14, bold=True, middle=True)
    f.text(10, 294, "A colour is a head, a number how many tiles of keys the block has.", 12.5)
    return f


# ---- step 9

@figure("06_masked_tiles")
def masked_tiles():
    f = Figure(760, 236, "Tiles of S of 64 queries and 32 keys. Two of each block lie on the diagonal, where the mask is asked; those "
                         "to the left are seen as a whole, those to the right are not computed.")
    wide, high, left, top = 34, 46, 90, 42
    for i in range(4):
        for j in range(8):
            if j > 2 * i + 1:
                f.rect(left + j * wide, top + i * high, wide - 2, high - 2, GREY, 0, 0.5)
            else:
                edge = j >= 2 * i
                f.rect(left + j * wide, top + i * high, wide - 2, high - 2, PURPLE, HALF if edge else FAINT, 0.6)
        f.text(left - 10, top + i * high + high / 2, f"block {i}", 12.5, anchor="end", middle=True)
    f.line(left, top, left + 8 * wide, top + 4 * high, GREY, 1.2, "4 3")
    f.text(left + 4 * wide, 30, "keys, 32 a tile", 12.5, anchor="middle")
    for y, fill, color, words in ((74, FAINT, PURPLE, "seen as a whole: no test"), (114, HALF, PURPLE, "on the diagonal: each score is tested"),
                                  (154, 0, GREY, "never computed, from step 2 on")):
        f.rect(420, y - 12, 24, 24, color, fill, 0.6)
        f.text(454, y, words, 13, middle=True)
    return f
