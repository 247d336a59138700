"""Figures of chapter 03: the masked product of a batch of matrices."""
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, RED, SOLID, Figure, figure

ALL, SOME, NONE = (GREEN, HALF), (PURPLE, HALF), (GREY, PALE)  # what a mask keeps of a block or a patch


def legend(f, x, y, entries, step):
    """Small squares with words, side by side: ((color, fill), words)."""
    for (color, fill), words in entries:
        f.rect(x, y - 10, 12, 12, color, fill, 0.7)
        f.text(x + 18, y, words, 12)
        x += step


def state(first_row, last_row, first_col, last_col):
    """What the causal mask, column <= row, keeps of these rows and columns."""
    if first_col > last_row:
        return NONE
    return ALL if last_col <= first_row else SOME


def causal(side):
    """look() for a grid of squares with so many elements a side."""
    return lambda row, col: state(row * side, row * side + side - 1, col * side, col * side + side - 1)


@figure("03_scores")
def scores():
    words = ("the", "cat", "sat", "down")
    a, b = ((2, 0), (1, 1), (0, 2), (1, 0)), ((1, 1), (2, 0), (0, 1), (1, 2))  # a row, a column for each word
    f = Figure(760, 240, "A has a row for each of the words the, cat, sat, down, and B a column. Their product C has a score"
                         " for each pair. Where the column's word comes later than the row's stands minus infinity")

    def cell(x, y, width, words, color, fill, bold=False):
        f.rect(x, y, width - 2, 28, color, fill, 0)
        f.text(x + width / 2 - 1, y + 14, words, 13, anchor="middle", bold=bold, middle=True)

    top = 112
    f.heading(10, 20, "A: a row for each word")
    for i, word in enumerate(words):
        f.text(52, top + i * 30 + 14, word, 13, anchor="end", middle=True)
        for k in range(2):
            cell(62 + k * 34, top + i * 30, 34, a[i][k], BLUE, HALF if i == 1 else PALE)
    f.heading(240, 20, "B: a column for each word")
    for j, word in enumerate(words):
        for k in range(2):
            cell(240 + j * 52, 36 + k * 30, 52, b[j][k], ORANGE, HALF if j == 2 else PALE)
        f.text(265 + j * 52, top - 4, word, 12, anchor="middle")
    f.arrow(140, top + 59, 230, top + 59)
    for i in range(4):
        for j in range(4):
            score = a[i][0] * b[j][0] + a[i][1] * b[j][1]
            cell(240 + j * 52, top + i * 30, 52, score if j <= i else "−∞", *((GREEN, HALF) if j <= i else (GREY, PALE)))
    f.rect(240 + 2 * 52 - 1, top + 29, 52, 30, RED, 0, 2)
    f.heading(474, top + 6, "C: a score for each pair")
    f.lines(474, top + 32, ("green: the column's word has been read", "grey: it comes later, nobody may look"), 12, 18)
    f.lines(474, top + 80, ("framed: may cat look at sat?", "1·0 + 1·1 = 1, but sat comes later: −∞"), 12, 18)
    return f


@figure("03_mask_levels")
def mask_levels():
    f = Figure(760, 346, "A causal mask over a 256×256 result, three times: as 2×2 blocks of 128×128, one of which keeps"
                         " nothing; as 32×32 patches of 8×8; and the single elements of a patch on the diagonal")
    side, top, lefts = 208, 62, (10, 276, 542)
    f.heading(lefts[0], 20, "block mask")
    f.text(lefts[0], 40, "2×2 blocks of 128×128 elements", 12)
    f.grid(lefts[0], top, 2, 2, side / 2, look=causal(128), gap=2)
    f.heading(lefts[1], 20, "thread mask")
    f.text(lefts[1], 40, "32×32 patches of 8×8 elements", 12)
    f.grid(lefts[1], top, 32, 32, side / 32, look=causal(8), gap=0.8)
    f.heading(lefts[2], 20, "element mask")
    f.text(lefts[2], 40, "one patch of the diagonal", 12)
    f.grid(lefts[2], top, 8, 8, side / 8, look=lambda row, col: ALL if col <= row else NONE, gap=2)
    x, y = lefts[1] + 20 * side / 32, top + 20 * side / 32  # the patch that is shown in full
    f.line(x + side / 32, y, lefts[2] - 3, top, GREY, 1, "3 3")
    f.line(x + side / 32, y + side / 32, lefts[2] - 3, top + side, GREY, 1, "3 3")
    for left, words in zip(lefts, (("nothing kept: the block stores", "the fill value and leaves"),
                                   ("nothing kept: the thread", "leaves out its products"),
                                   ("each result: the sum", "or the fill value"))):
        f.lines(left, top + side + 18, words, 12, 16)
    legend(f, 10, 336, ((ALL, "all kept"), (SOME, "some kept"), (NONE, "nothing kept")), 110)
    return f


@figure("03_pencil")
def pencil():
    f = Figure(760, 244, "An 8×8 causal result four times. Multiplied without a mask: 64 elements. Where blocks of 4×4 are"
                         " skipped: 48. Where patches of 2×2 are skipped too: 40. Wanted are 36")
    cell, top = 20, 34
    for panel, (words, side) in enumerate((("no mask", 8), ("skip 4×4 blocks", 4), ("skip 2×2 patches too", 2),
                                           ("wanted", 1))):
        left = 10 + panel * 194

        def look(row, col, side=side):
            if col <= row:
                return ALL
            return (RED, PALE) if col // side <= row // side else NONE

        f.text(left, 20, words, 13, bold=True)
        f.grid(left, top, 8, 8, cell, look=look)
        for line in range(0, 9, 4) if side in (4, 2) else ():
            f.line(left - 0.5, top + line * cell - 0.5, left + 8 * cell - 0.5, top + line * cell - 0.5, GREY, 1)
            f.line(left + line * cell - 0.5, top - 0.5, left + line * cell - 0.5, top + 8 * cell - 0.5, GREY, 1)
        count = sum(col // side <= row // side for row in range(8) for col in range(8))
        f.text(left + 4 * cell, top + 8 * cell + 20, f"{count} sums", 13, anchor="middle")
    legend(f, 10, 238, ((ALL, "kept"), ((RED, PALE), "multiplied for nothing"), (NONE, "skipped")), 180)
    return f


@figure("03_two_passes")
def two_passes():
    f = Figure(760, 258, "Step 1 writes all of C with the products, and a second kernel reads the mask and writes the"
                         " masked half again. Step 2 writes each element of C once")
    def operands(y):
        f.rect(10, y, 34, 60, BLUE, PALE, 1)
        f.text(27, y + 30, "A", 13, anchor="middle", middle=True, bold=True)
        f.rect(52, y + 13, 60, 34, ORANGE, PALE, 1)
        f.text(82, y + 30, "B", 13, anchor="middle", middle=True, bold=True)

    def kernel(x, y, words):
        f.rect(x, y + 12, 122, 36, GREY, FAINT, 1.2, 4)
        f.text(x + 61, y + 30, words, 12, anchor="middle", middle=True, code=True)

    def result(x, y, masked):
        f.rect(x, y - 4, 68, 68, GREEN, PALE, 1)
        if masked:
            f.path(f"M{x} {y - 4}h68v68z", PURPLE, 0, fill=HALF)
        f.text(x + 20, y + 48, "C", 13, anchor="middle", middle=True, bold=True)

    f.heading(10, 20, "step 1: two kernels")
    operands(36)
    f.arrow(120, 66, 146, 66)
    kernel(150, 36, "batched_product")
    f.arrow(276, 66, 302, 66)
    result(308, 36, False)
    f.arrow(384, 66, 410, 66)
    kernel(414, 36, "fill_masked")
    f.arrow(540, 66, 566, 66)
    result(572, 36, True)
    f.text(652, 60, "half of C is", 12)
    f.text(652, 76, "written twice", 12)
    f.heading(10, 140, "step 2: one kernel that knows the mask")
    operands(156)
    f.arrow(120, 186, 146, 186)
    kernel(150, 156, "masked_product")
    f.arrow(276, 186, 302, 186)
    result(308, 156, True)
    f.text(390, 180, "each element of C is written once: a product or the fill value;", 12)
    f.text(390, 196, "products of whole blocks that nobody would see are left out", 12)
    legend(f, 10, 248, (((GREEN, PALE), "a product"), ((PURPLE, HALF), "the fill value")), 100)
    return f


@figure("03_warp_shapes")
def warp_shapes():
    f = Figure(760, 366, "A 128×128 block on the diagonal of a causal mask, cut into warps in two ways. Of eight strips of"
                         " 16×128 elements each keeps something. Of eight parts of 32×64 two keep nothing: these warps"
                         " skip")
    side, top = 256, 46
    for left, words, rows, cols in ((10, "steps 1 and 2: a warp owns 16×128", 16, 128),
                                    (400, "steps 3 to 5: a warp owns 32×64", 32, 64)):
        f.heading(left, 20, words)
        scale = side / 128
        idle = 0
        for row in range(0, 128, rows):
            for col in range(0, 128, cols):
                works = state(row, row + rows - 1, col, col + cols - 1) != NONE
                idle += not works
                f.rect(left + col * scale + 1, top + row * scale + 1, cols * scale - 2, rows * scale - 2,
                       GREEN if works else GREY, PALE if works else FAINT, 1.2)
                words_x, anchor = left + (col + cols) * scale - 8, "end"
                if cols == 128:  # beside the strip: the stairs go through all of it
                    words_x, anchor = left + side + 8, "start"
                elif row // 32 % 2 == 1 and works:
                    words_x, anchor = left + col * scale + 8, "start"
                f.text(words_x, top + row * scale + 19, "works" if works else "skips", 12, anchor=anchor,
                       bold=not works)
        f.path("M" + " ".join(f"{left + step * 8 * scale:.0f} {top + step * 8 * scale:.0f}"
                              f"h{8 * scale:.0f}v{8 * scale:.0f}" if step == 0 else f"h{8 * scale:.0f}v{8 * scale:.0f}"
                              for step in range(16)), PURPLE, 2)
        f.text(left, top + side + 22, f"{idle} of 8 warps have nothing to do", 13)
    f.lines(10, 352, ["The stairs are the diagonal in patches of 8×8: to the right of them a thread has nothing to do."],
            12)
    return f


@figure("03_words")
def words():
    f = Figure(760, 330, "A warp votes on 32 elements of a row of the mask. The vote's 32 bits are four bytes, and each"
                         " becomes one byte of the 64-bit word of its 8×8 patch")
    cell, left, top, row = 11, 10, 60, 3
    f.heading(left, 20, "four patches of the mask")
    f.text(left, 40, "8 rows of 32 elements; lane l looks at column l", 12)

    def keeps(i, j):
        return j <= i + 10

    for i in range(8):
        for j in range(32):
            x = left + j * cell + j // 8 * 4
            f.rect(x, top + i * cell, cell - 1, cell - 1, GREEN if keeps(i, j) else GREY,
                   HALF if keeps(i, j) else PALE, 0)
    width = 32 * cell + 12
    f.rect(left - 3, top + row * cell - 3, width + 4, cell + 4, PURPLE, 0, 2)
    f.text(left + width + 12, top + row * cell + 5, "row i = 3 of the patches", 12, middle=True)
    f.arrow(left + width / 2, top + 8 * cell + 6, left + width / 2, top + 8 * cell + 34)
    f.text(left + width / 2 + 12, top + 8 * cell + 26, "__ballot_sync: every lane gets all 32 answers", 12)
    y = top + 8 * cell + 42
    for j in range(32):
        x = left + j * cell + j // 8 * 4
        f.text(x + cell / 2, y + 12, "1" if keeps(row, j) else "0", 12, anchor="middle", code=True)
    for patch in range(4):
        x = left + patch * (8 * cell + 4)
        f.brace(x, y + 18, x + 8 * cell - 2, y + 18, color=PURPLE)
    f.text(left + width + 12, y + 12, "bit l is lane l's answer", 12)
    wy = y + 62
    f.text(left, wy - 12, "byte 3 of four words", 12)
    for patch in range(4):
        x = left + patch * (8 * cell + 4)
        for byte in range(8):
            f.rect(x + byte * cell, wy, cell - 1, 26, PURPLE if byte == row else GREY, HALF if byte == row else PALE, 0)
        f.text(x + 4 * cell, wy + 44, f"word {patch}", 12, anchor="middle")
    x = left + width + 12
    f.text(x, wy + 2, "a word is a patch: byte i is row i,", 12)
    f.text(x, wy + 18, "bit 8·i + j is element (i, j);", 12)
    f.text(x, wy + 34, "0 is a patch with nothing to do", 12)
    return f


@figure("03_list")
def block_list():
    f = Figure(760, 246, "The 16 blocks of a 4×4 causal block mask, ten with work and six to fill, in two orders: row by row"
                         " the fills come in clusters, in the list they stand evenly between the others")
    cell, left, top = 38, 10, 46
    works = [col <= row for row in range(4) for col in range(4)]
    f.heading(left, 20, "16 blocks of C")

    for b in range(16):
        x, y = left + b % 4 * cell, top + b // 4 * cell
        f.rect(x, y, cell - 2, cell - 2, *((GREEN, PALE) if works[b] else (GREY, FAINT)), 1)
        f.text(x + cell / 2 - 1, y + cell / 2 - 1, b, 12, anchor="middle", middle=True)
    lives = [b for b in range(16) if works[b]]
    others = [b for b in range(16) if not works[b]]
    places = [q * 16 // len(lives) for q in range(len(lives))]
    listed = [lives[places.index(p)] if p in places else None for p in range(16)]
    rest = iter(others)
    listed = [next(rest) if b is None else b for b in listed]

    def strip(y, words, order):
        f.text(210, y, words, 13, bold=True)
        for place, b in enumerate(order):
            x = 210 + place * 34
            f.rect(x, y + 10, 31, 32, *((GREEN, PALE) if works[b] else (GREY, FAINT)), 1)
            f.text(x + 16, y + 26, b, 12, anchor="middle", middle=True)

    strip(56, "row by row", range(16))
    strip(128, "in the list", listed)
    f.text(210, 190, "live block number q of 10 goes to place q · 16 / 10, rounded down", 12)
    legend(f, 210, 222, (((GREEN, PALE), "multiplies"), ((GREY, FAINT), "only stores the fill value")), 110)
    f.lines(10, 218, ["blocks right of", "the diagonal: fill"], 12, 15)
    return f


@figure("03_tile")
def tile():
    f = Figure(760, 342, "A tile of 64×128 elements of C. Each of four warps owns 32×64 of it. Each lane owns eight rows"
                         " of four columns, and the same eight rows of four columns 32 further right. Lanes 0, 2, 4 … 14"
                         " lie side by side and store 128 bytes of one row")
    scale, left, top = 4, 10, 50
    f.heading(left, 20, "a tile of C: 64×128 elements, 128 threads")
    for warp in range(4):
        x, y = left + warp % 2 * 64 * scale, top + warp // 2 * 32 * scale
        f.rect(x + 1, y + 1, 64 * scale - 2, 32 * scale - 2, GREEN, FAINT, 1.2)
        if warp > 0:
            f.text(x + 64 * scale - 8, y + 32 * scale - 10, f"warp {warp}: 32×64", 12, anchor="end")
    f.text(left, top - 10, "warp 0: each lane has 8 rows of 4 columns, twice", 12)
    for half in range(2):
        for lane in range(0, 16, 2):
            x = left + (lane * 2 + 32 * half) * scale
            f.rect(x + 1, top + 2, 4 * scale - 2, 8 * scale - 3, PURPLE, PALE, 2 if lane == 0 else 0.7)
            f.text(x + 2 * scale, top + 4.5 * scale, lane, 11, PURPLE, "middle", lane == 0, middle=True)
        for strip, words in enumerate(("1, 3, … 15", "16, 18, … 30", "17, 19, … 31"), 1):
            x, y = left + 32 * half * scale, top + 8 * strip * scale
            f.rect(x + 1, y + 1, 32 * scale - 2, 8 * scale - 2, BLUE if strip == 1 else GREY, FAINT, 0.7)
            f.text(x + 16 * scale, y + 4 * scale, words, 12, BLUE if strip == 1 else GREY, "middle", middle=True)
    f.rect(left, top - 1, 32 * scale, scale, GREEN, SOLID, 0)
    f.brace(left, top + 64 * scale + 4, left + 128 * scale, top + 64 * scale + 4, "128 columns")
    f.brace(left + 128 * scale + 4, top, left + 128 * scale + 4, top + 64 * scale, "64 rows")
    x = left + 128 * scale + 72
    f.lines(x, top + 10, ["lanes 0, 2, … 14", "store 128 bytes", "of one row: green"], 12, 18, color=GREEN)
    f.lines(x, top + 196, ["on a multiprocessor:", "4 blocks of 4 warps"], 12, 18)
    return f


@figure("03_stores")
def stores():
    f = Figure(760, 338, "What one store instruction of a warp touches. Steps 1 and 2: 32 sectors, of each 4 of the 32"
                         " bytes. Steps 3 to 5: 16 sectors, every byte of them")
    left = 10
    f.heading(left, 20, "steps 1 and 2: a lane stores 4 bytes, its neighbour 32 bytes further on")
    sector = 46
    for row in range(2):
        y = 54 + row * 48
        f.text(left, y - 6, f"row {8 * row} of C: 16 lanes, 16 sectors", 11)
        for s in range(16):
            x = left + s * sector
            f.rect(x, y, sector - 3, 20, RED, FAINT, 0.8)
            f.rect(x, y, (sector - 3) / 8, 20, RED, SOLID, 0)
    f.text(left, 144, "32 sectors for 128 bytes: an eighth of each is written", 12)
    f.heading(left, 186, "steps 3 to 5: a lane stores 16 bytes, half a sector")
    for row in range(4):
        y = 202 + row * 26
        for s in range(4):
            x = left + s * sector
            f.rect(x, y, (sector - 3) / 2, 20, GREEN, HALF, 0)
            f.rect(x + (sector - 3) / 2, y, (sector - 3) / 2, 20, GREEN, SOLID, 0)
        f.text(left + 4 * sector + 8, y + 10, f"row {8 * row} of C: 8 lanes, 4 sectors", 11, middle=True)
    f.text(left, 326, "16 sectors for 512 bytes: all of each is written", 12)
    return f


@figure("03_copies")
def copies():
    f = Figure(760, 316, "Step 3 brings a float from global memory through a register to shared memory; step 4 copies 16 bytes"
                         " past the register. Without padding the rows 0, 8, 16 and 24 of A begin in the same bank; with 4"
                         " floats of padding after every 8 rows, a warp's four reads of 16 bytes lie in 16 different banks")

    def box(x, y, width, words, color=GREY):
        f.rect(x, y, width, 30, color, PALE, 1.2, 4)
        f.text(x + width / 2, y + 15, words, 12, anchor="middle", middle=True)

    f.heading(10, 20, "step 3: a load, then a store")
    box(10, 50, 110, "global memory")
    box(164, 50, 72, "register", RED)
    box(280, 50, 110, "shared memory", GREEN)
    f.arrow(122, 65, 162, 65)
    f.arrow(238, 65, 278, 65)
    f.text(142, 44, "4 bytes", 12, anchor="middle")
    f.text(258, 44, "4 bytes", 12, anchor="middle")
    f.text(10, 104, "8 steps of K at a time, 16 barriers for K = 64", 12)
    f.heading(416, 20, "step 4: a copy")
    box(416, 50, 110, "global memory")
    box(634, 50, 110, "shared memory", GREEN)
    f.arrow(528, 65, 632, 65)
    f.text(580, 44, "16 bytes", 12, anchor="middle")
    f.text(416, 104, "32 steps of K at a time, 4 barriers for K = 64", 12)

    cell, left = 19, 10
    for y, words, shift in ((140, "without padding: four reads of the same four banks", 0),
                            (238, "4 floats of padding after every 8 rows: 16 different banks", 4)):
        f.text(left, y, words, 13, bold=True)
        for bank in range(32):
            f.text(left + bank * cell + (cell - 1) / 2, y + 18, bank, 11, anchor="middle")
        for group in range(4):
            f.grid(left, y + 24 + group * 12, 1, 32, cell, cell_height=12,
                   look=lambda row, col, first=group * shift: (GREEN, SOLID) if first <= col < first + 4 else None)
            f.text(left + 32 * cell + 8, y + 29.5 + group * 12, f"row {8 * group} of A", 11, middle=True)
    f.text(left + 32 * cell + 8, 158, "bank", 11)
    f.text(left + 32 * cell + 8, 256, "bank", 11)
    return f


@figure("03_four_blocks")
def four_blocks():
    f = Figure(760, 300, "Two large blocks on a multiprocessor leave gaps in which nobody multiplies. Four small ones take"
                         " turns: while one waits for its operands or stores, others multiply")
    look = {"l": (BLUE, HALF), "m": (PURPLE, SOLID), "s": (GREEN, HALF)}
    unit, left = 15.5, 96

    def lane(y, words, phases, shift=0):
        f.text(left - 8, y + 9, words, 12, anchor="end", middle=True)
        at, busy = shift, []
        for kind, length in phases:
            if at >= 40:
                break
            length = min(length, 40 - at)
            f.rect(left + at * unit, y, length * unit - 1, 18, *look[kind], 0)
            busy += [(at, at + length)] if kind == "m" else []
            at += length
        return busy

    def below(y, busy):
        f.text(left - 8, y + 7, "arithmetic", 12, anchor="end", middle=True, bold=True)
        f.rect(left, y, 40 * unit - 1, 14, RED, PALE, 0)
        end = 0
        for first, last in sorted(busy):  # they overlap: each draws what the ones before left
            first = max(first, end)
            f.rect(left + first * unit, y, max(last - first, 0) * unit, 14, PURPLE, SOLID, 0)
            end = max(end, last)

    f.heading(10, 20, "two blocks")
    busy = lane(32, "block 0", [("l", 5), ("m", 5), ("s", 5)] * 3)
    busy += lane(54, "block 1", [("l", 5), ("m", 5), ("s", 5)] * 3, 2)
    below(80, busy)
    f.heading(10, 128, "four blocks")
    busy = []
    for block in range(4):
        busy += lane(140 + block * 22, f"block {block}", [("l", 4), ("m", 4), ("s", 4)] * 4, block * 3)
    below(232, busy)
    f.text(left + 40 * unit, 266, "time →", 11, anchor="end")
    f.text(left, 266, "a drawing, not a measurement", 12)
    legend(f, 10, 288, ((look["l"], "copies, and waits"), (look["m"], "multiplies"), (look["s"], "stores"),
                        ((RED, PALE), "nobody multiplies")), 150)
    return f


@figure("03_overlap")
def overlap():
    f = Figure(760, 300, "One block in time. Step 2 copies a piece of K, waits and multiplies, twice. Step 3 starts both"
                         " copies at once and multiplies the first piece while the second is on its way; for longer K a"
                         " third piece takes the place of the first")
    copy, product, store = (BLUE, PALE), (PURPLE, PALE), (GREEN, PALE)
    left = 100

    def bar(x, y, width, how, words):
        f.rect(left + x, y, width - 2, 24, *how, 1)
        f.text(left + x + width / 2 - 1, y + 12, words, 11.5, anchor="middle", middle=True)

    def row(y, words):
        f.text(left - 8, y + 12, words, 12, anchor="end", middle=True)

    f.heading(10, 20, "step 2, K = 64")
    row(30, "copies")
    row(58, "the block")
    bar(0, 30, 100, copy, "piece 0")
    bar(100, 58, 90, product, "0")
    bar(190, 30, 100, copy, "piece 1")
    bar(290, 58, 90, product, "1")
    bar(380, 58, 90, store, "store")
    f.heading(10, 112, "step 3, K = 64")
    row(122, "copies")
    row(150, "the block")
    bar(0, 122, 100, copy, "piece 0")
    bar(100, 122, 60, copy, "piece 1")
    bar(100, 150, 90, product, "0")
    bar(190, 150, 90, product, "1")
    bar(280, 150, 90, store, "store")
    f.heading(10, 204, "step 3, K = 128")
    row(214, "copies")
    row(242, "the block")
    bar(0, 214, 100, copy, "piece 0")
    bar(100, 214, 60, copy, "piece 1")
    bar(190, 214, 80, copy, "piece 2")
    bar(280, 214, 80, copy, "piece 3")
    for piece in range(4):
        bar(100 + 90 * piece, 242, 90, product, str(piece))
    bar(460, 242, 90, store, "store")
    f.arrow(left + 190, 276, left + 190, 268, RED, 1.5)
    f.text(left + 190, 290, "a barrier: nobody reads piece 0 any more, so piece 2 may take its place", 12, RED)
    return f


@figure("03_band")
def band():
    f = Figure(760, 372, "The 8×8 blocks of a 1024×1024 result with a window of 256. In each block stands what column minus"
                         " row is in its upper left corner; from that number follows whether the band −255 … 0 keeps"
                         " nothing, some or all of the block")
    cell, left, top, low, high = 40, 10, 40, -255, 0

    def kept(corner):
        if corner + 127 < low or corner - 127 > high:
            return NONE
        return ALL if corner - 127 >= low and corner + 127 <= high else SOME

    f.heading(left, 20, "window:256, blocks of 128×128")
    f.grid(left, top, 8, 8, cell, look=lambda row, col: (kept((col - row) * 128)[0], PALE), gap=2)
    for row in range(8):
        for col in range(8):
            corner = (col - row) * 128
            f.text(left + col * cell + cell / 2 - 1, top + row * cell + cell / 2 - 1, str(corner).replace("-", "−"), 11,
                   anchor="middle", middle=True)
    x = 352
    f.lines(x, 60, ["the number: column − row at the block's corner, c", "within a block, column − row goes from"
                    " c − 127 to c + 127", "the band keeps −255 … 0"], 12, 20)
    # A number line: the band, and what three blocks cover.
    scale, zero, y = 0.38, 672, 172

    def place(value):
        return zero + value * scale

    f.line(place(-540), y, place(190), y, GREY, 1)
    for tick in (-512, -384, -256, -128, 0, 128):
        f.line(place(tick), y - 3, place(tick), y + 3, GREY, 1)
        f.text(place(tick), y - 10, str(tick).replace("-", "−"), 11, anchor="middle")
    f.rect(place(low), y + 8, (high - low) * scale, 16, GREEN, SOLID, 0)
    f.text(place(-540), y + 16, "the band", 12, anchor="end", middle=True)
    for i, (corner, words) in enumerate(((-384, "nothing"), (-256, "some"), (-128, "all"), (0, "some"))):
        yy = y + 40 + i * 30
        f.rect(place(corner - 127), yy, 254 * scale, 16, *kept(corner), 0.8)
        f.text(place(-540), yy + 8, f"c = {corner}: {words}".replace("-", "−"), 12, anchor="end", middle=True)
    for end in (low, high):
        f.line(place(end), y + 26, place(end), y + 154, GREEN, 1, "3 3")
    return f


@figure("03_nearest")
def nearest():
    f = Figure(760, 250, "A strip of 128 queries is multiplied with 256 points at a time. A row's sums are compared with its"
                         " limit; the few that are smaller wait in a buffer of 32 keys; half full, it is merged into the"
                         " row's sorted list, whose last key is the new limit")
    f.heading(10, 20, "a strip of C, never written")
    for tile in range(6):
        now = tile == 3
        f.rect(10 + 46 * tile, 34, 42, 84, GREEN if tile <= 3 else GREY, HALF if now else PALE, 1)
    f.text(169, 98, "tile", 13, anchor="middle")
    f.lines(10, 138, ("done: forgotten", "128 queries, 256 points a tile"), 12, 16)
    f.text(196, 138, "still to come", 12)
    f.rect(148, 66, 42, 8, PURPLE, SOLID, 0.5)
    f.arrow(192, 70, 408, 70, PURPLE)
    f.text(346, 62, "smaller than", 12, anchor="middle")
    f.text(346, 87, "the row's limit", 12, anchor="middle")
    f.heading(412, 20, "buffer")
    f.grid(412, 54, 4, 8, 12, ORANGE)
    f.text(412, 122, "32 keys, in any order", 12)
    f.arrow(512, 78, 596, 78, ORANGE)
    f.lines(554, 54, ("half full:", "merge"), 12, 16, anchor="middle")
    f.heading(600, 20, "list")
    f.grid(600, 40, 10, 1, 12, BLUE, cell_height=12)
    f.text(620, 52, "best", 12)
    f.text(620, 160, "last", 12)
    f.lines(600, 182, ("k keys, and 6 spare", "ones for distances"), 12, 16)
    f.path("M 598 154 C 480 240, 300 240, 172 122", RED, 1.5, arrow=True)
    f.text(400, 236, "the last key is the new limit", 12, anchor="middle")
    return f


@figure("03_share")
def share():
    f = Figure(760, 232, "Left: the 15 tiles of three strips in a row, cut into four shares of three or four tiles; a share may"
                         " begin in the middle of a strip. Right: what multiply(sum) does for one tile: pieces of 8 columns"
                         " of A and B are copied into one buffer while the other one is multiplied, and each of 256 threads"
                         " adds up 16×8 sums in its registers")
    colors, cell, left, top, blocks = (BLUE, ORANGE, GREEN, PURPLE), 40, 10, 56, 4
    f.heading(left, 20, "who does what: shares")
    f.text(left, 42, "3 strips of 5 tiles, 4 blocks", 12)
    for tile in range(15):
        block = max(b for b in range(blocks) if 15 * b // blocks <= tile)
        x, y = left + tile % 5 * cell, top + tile // 5 * cell
        f.rect(x, y, cell - 2, cell - 2, colors[block], PALE, 1)
        f.text(x + cell / 2 - 1, y + cell / 2 - 1, block, 13, anchor="middle", middle=True)
    f.brace(left, top + 3 * cell + 2, left + cell - 2, top + 3 * cell + 2)
    f.lines(left, top + 3 * cell + 28, ("a tile: 128 queries × 256 points;", "the number is that of its block"), 12, 17)

    x = 262
    f.heading(x, 20, "what multiply(sum) does with one tile")
    f.text(x, 42, "packed in global memory", 12)
    for y, color, rows, words in ((56, BLUE, 26, "A: 128 queries"), (112, ORANGE, 46, "B: 256 points")):
        for piece in range(8):
            f.rect(x + piece * 17, y, 15, rows, color, HALF if piece in (2, 3) else PALE, 0)
        f.text(x, y + rows + 15, f"{words}, D to the right", 11)
    f.text(x, 196, "dark: pieces 2 and 3 of 8", 11)

    bx = 444
    f.text(bx, 42, "shared memory: two buffers", 12)
    for y, words, number in ((56, "in use", 2), (126, "comes", 3)):
        f.rect(bx, y, 156, 56, GREY, FAINT, 1.2, 4)
        f.rect(bx + 8, y + 8, 15, 26, BLUE, HALF, 0)
        f.rect(bx + 30, y + 5, 15, 46, ORANGE, HALF, 0)
        f.text(bx + 54, y + 24, f"piece {number}", 12)
        f.text(bx + 54, y + 42, words, 12, bold=True)
    f.arrow(x + 142, 154, bx - 4, 154)
    f.text(x + 159, 146, "copy", 11, anchor="middle")

    rx = 652
    f.text(rx - 4, 42, "registers", 12)
    f.grid(rx, 56, 16, 8, 7, PURPLE, cell_height=7)
    f.arrow(bx + 158, 84, rx - 4, 84)
    f.lines(rx, 186, ("16×8 sums", "of a thread"), 12, 16)
    return f
