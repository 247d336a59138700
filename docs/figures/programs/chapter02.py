"""The figures of chapter 02: tiles in shared memory and in registers."""
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, RED, SOLID, TEXT, Figure, figure


UNDER_TEXT = 0.28  # how strongly an area may be filled that has words on it


def cells(fig, x, y, rows, cell, color, fill=PALE, size=13, height=None):
    """Boxes that hold what `rows` says, a list of lists of words."""
    height = height or cell
    for i, row in enumerate(rows):
        for j, words in enumerate(row):
            fig.rect(x + j * cell, y + i * height, cell - 1, height - 1, color, min(fill, UNDER_TEXT), 0)
            fig.text(x + j * cell + (cell - 1) / 2, y + i * height + (height - 1) / 2, words, size, TEXT, "middle",
                     middle=True)


def box(fig, x, y, width, height, words, color, fill=PALE, size=12):
    """A box with one line in its middle."""
    fig.rect(x + 0.5, y + 0.5, width - 1, height - 1, color, min(fill, UNDER_TEXT), 1, 2)
    if words != "":
        fig.text(x + width / 2, y + height / 2, words, size, TEXT, "middle", middle=True)


# ---- the idea and the mathematics

@figure("02_tile")
def tile():
    fig = Figure(760, 352, "A block owns one tile of C. It needs a band of rows of A and a band of columns of B, and takes "
                           "them tile by tile along K: one tile of A and one of B at a time")
    cell, left, top = 22, 300, 200
    for name, x, y, rows, cols, color, row, col, turn in (
            ("A", left - 8 * cell - 26, top, 6, 8, BLUE, 2, None, 3), ("B", left, 12, 8, 6, ORANGE, None, 3, 3),
            ("C", left, top, 6, 6, GREEN, 2, 3, None)):
        def look(i, j, row=row, col=col, turn=turn, color=color):
            if row is not None and col is not None:
                return (color, SOLID) if (i, j) == (row, col) else (color, FAINT)
            along, in_band = (j, i == row) if col is None else (i, j == col)
            return color, (SOLID if along == turn else HALF if along < turn else PALE) if in_band else FAINT
        fig.grid(x, y, rows, cols, cell, look=look)
        fig.text(x - 8 if name != "B" else x + 6 * cell + 8, y + 14, name, 16, color, "end" if name != "B" else "start", True)
    a = left - 8 * cell - 26
    fig.text(a + 4 * cell, top + 6 * cell + 16, "M × K", 12, anchor="middle")
    fig.text(left + 3 * cell, top + 6 * cell + 16, "M × N", 12, anchor="middle")
    fig.text(left + 6 * cell + 8, 46, "K × N", 12)
    fig.arrow(a + 4 * cell + 3, top + 2.5 * cell, a + 7 * cell, top + 2.5 * cell, BLUE, 2)
    fig.arrow(left + 3.5 * cell, 12 + 4 * cell + 3, left + 3.5 * cell, 12 + 7 * cell, ORANGE, 2)
    x, y = left + 6 * cell + 36, 118
    fig.heading(x, y, "A turn of the loop")
    fig.lines(x, y + 26, ["1  all threads of the block bring", "    a tile of A and a tile of B", "2  each thread adds products of",
                          "    these two tiles to its sums", "3  on to the next tiles along K"], 13, 20)
    fig.text(x, y + 144, "After the last turn the sums are", 13)
    fig.text(x, y + 164, "stored: the block's tile of C", 13, GREEN)
    return fig


@figure("02_levels")
def levels():
    fig = Figure(760, 244, "From global memory to shared memory to registers, and how many products a float serves each "
                           "time it is fetched: 1 in chapter 01; 16 and 1 in step 1; 128 and 8 in step 2")
    boxes = ((250, "global memory", "all threads", GREY), (430, "shared memory", "one block", PURPLE),
             (610, "registers", "one thread", GREEN))
    for x, name, who, color in boxes:
        fig.rect(x, 12, 140, 54, color, PALE, 1, 4)
        fig.text(x + 70, 34, name, 14, anchor="middle", bold=True)
        fig.text(x + 70, 54, who, 12, anchor="middle")
    fig.arrow(392, 39, 427, 39, width=2)
    fig.arrow(572, 39, 607, 39, width=2)
    fig.text(410, 92, "products per float", 12, anchor="middle")
    fig.text(590, 92, "products per float", 12, anchor="middle")
    rows = (("chapter 01", "one element per thread", "1", None), ("step 1", "a 16×16 tile per block", "16", "1"),
            ("step 2", "128×128 per block, 8×8 per thread", "128", "8"))
    for i, (step, what, first, second) in enumerate(rows):
        y = 126 + i * 42
        fig.line(10, y - 19, 750, y - 19, width=0.5, dash="2 4")
        fig.text(10, y, step, 13, bold=True)
        fig.text(10, y + 15, what, 11.5)
        if second is None:
            fig.arrow(320, y, 680, y, GREY, 1.2)
            fig.text(500, y - 4, first, 14, anchor="middle", bold=True)
        else:
            fig.text(410, y + 4, first, 14, PURPLE, "middle", True)
            fig.text(590, y + 4, second, 14, GREEN, "middle", True)
    return fig


@figure("02_example")
def example():
    fig = Figure(760, 236, "A tile of C with 2×2 elements in two turns: the first pair of tiles gives 2, 7, 6, 3, the second "
                           "4, 2, 6, 2; together 6, 9, 12, 5")
    cell = 34
    turns = (("turn 1:  k = 0, 1", [[1, 2], [3, 0]], [[2, 1], [0, 3]], [[2, 7], [6, 3]]),
             ("turn 2:  k = 2, 3", [[0, 1], [2, 1]], [[1, 0], [4, 2]], [[4, 2], [6, 2]]))
    for i, (name, a, b, c) in enumerate(turns):
        y = 44 + i * 100
        fig.text(10, y + cell, name, 13, middle=True)
        for x, values, color in ((140, a, BLUE), (256, b, ORANGE), (372, c, GREEN)):
            cells(fig, x, y, values, cell, color, PALE, 15)
        fig.text(232, y + cell, "·", 20, anchor="middle", middle=True)
        fig.text(348, y + cell, "=", 16, anchor="middle", middle=True)
    for x, words, color in ((140, "tile of A", BLUE), (256, "tile of B", ORANGE), (372, "their product", GREEN)):
        fig.text(x + cell, 32, words, 13, color, "middle", True)
    fig.text(372 + cell, 129, "+", 16, anchor="middle", middle=True)
    fig.path("M446 78H500V160H446", GREY, 1.2)
    fig.arrow(500, 128, 542, 128)
    cells(fig, 550, 94, [[6, 9], [12, 5]], cell, GREEN, HALF, 15)
    fig.text(550 + cell, 82, "the tile of C", 13, GREEN, "middle", True)
    fig.lines(628, 112, ["16 floats brought", "for 16 products;", "without tiles: 32"], 12.5, 18)
    return fig


# ---- the road, and step 1 of part faster

@figure("02_barriers")
def barriers():
    fig = Figure(760, 292, "Two warps in time. With two barriers a turn they bring and multiply together. Without the second "
                           "barrier the quick warp brings the next tile while the slow one still reads this one")
    def panel(y, title, rows, marks):
        fig.heading(10, y, title)
        for i, (name, parts) in enumerate(rows):
            top = y + 22 + i * 34
            fig.text(10, top + 14, name, 12.5, middle=True)
            for x, width, words, color, fill in parts:
                box(fig, x, top, width - 2, 28, words, color, fill)
        for x, words in marks:
            fig.line(x - 1, y + 16, x - 1, y + 92, TEXT, 1.5, "4 3")
            fig.text(x - 1, y + 106, words, 11.5, anchor="middle")
    bring, multiply = (GREY, PALE), (GREEN, HALF)
    panel(20, "Step 1: two barriers a turn",
          (("quick warp", ((110, 80, "bring 0", *bring), (250, 110, "multiply 0", *multiply), (430, 80, "bring 1", *bring),
                           (570, 110, "multiply 1", *multiply))),
           ("slow warp", ((110, 140, "bring 0", *bring), (250, 180, "multiply 0", *multiply), (430, 140, "bring 1", *bring),
                          (570, 180, "multiply 1", *multiply)))),
          ((250, "first barrier"), (430, "second barrier"), (570, "first barrier")))
    panel(176, "Without the second barrier",
          (("quick warp", ((110, 80, "bring 0", *bring), (250, 110, "multiply 0", *multiply), (360, 80, "bring 1", RED, HALF))),
           ("slow warp", ((110, 140, "bring 0", *bring), (250, 180, "", *multiply)))),
          ((250, "first barrier"),))
    fig.text(305, 246, "multiply 0", 12, anchor="middle", middle=True)
    fig.rect(360, 194, 70, 72, RED, 0, 1.5, 2, "4 3")
    fig.lines(446, 216, ["Here the slow warp reads elements of tile 1", "as if they were those of tile 0: a race.",
                         "The result differs from run to run."], 12.5, 19, color=RED)
    return fig


@figure("02_patch")
def patch():
    fig = Figure(760, 318, "Left: a block's 128×128 elements of C, divided among 16×16 threads. Right: one thread's 8×8 of "
                           "them. For each k it reads 8 floats of A and 8 of B and multiplies each with each")
    x, y, cell = 30, 44, 15
    fig.heading(x, 22, "a block: 128×128 elements of C")
    fig.grid(x, y, 16, 16, cell, GREEN, look=lambda i, j: (GREEN, SOLID) if (i, j) == (5, 9) else (GREEN, PALE))
    fig.text(x + 8 * cell, y + 16 * cell + 18, "16 × 16 threads, an 8×8 patch each", 12, anchor="middle")
    px, py, size = 410, 74, 27
    fig.path(f"M{x + 10 * cell} {y + 5 * cell}L{px - size - 10} {py}", GREY, 1, "3 3")
    fig.path(f"M{x + 10 * cell} {y + 6 * cell - 1}L{px - size - 10} {py + 8 * size}", GREY, 1, "3 3")
    fig.heading(px, 22, "one thread, one k")
    cells(fig, px, py - size - 6, [[f"b{j}" for j in range(8)]], size, ORANGE, HALF, 12)
    cells(fig, px - size - 6, py, [[f"a{i}"] for i in range(8)], size, BLUE, HALF, 12)
    fig.grid(px, py, 8, 8, size, GREEN, look=lambda i, j: (GREEN, HALF if (i, j) == (2, 5) else PALE))
    fig.text(px + 5.5 * size, py + 2.5 * size, "+=", 12, TEXT, "middle", True, middle=True)
    fig.text(px + 4 * size, py + 8 * size + 18, "64 sums, all in registers", 12, GREEN, "middle")
    fig.lines(px + 8 * size + 12, py + 40, ["16 floats", "read,", "64 products"], 13, 20)
    fig.text(px + 8 * size + 12, py + 122, "marked:", 12)
    fig.text(px + 8 * size + 12, py + 140, "+= a2 · b5", 13, code=True)
    return fig


@figure("02_banks")
def banks():
    fig = Figure(760, 300, "Eight threads read four floats of B each, in the first of two reads. In step 2 they meet 16 banks with two words each, so it "
                           "takes two passes. In step 3 they meet all 32 banks with one word each: one pass")
    left, cell = 70, 21
    def strip(y):
        fig.text(left - 10, y + 11, "bank", 12, anchor="end", middle=True)
        for i in range(32):
            fig.rect(left + i * cell, y, cell - 1, 22, GREY, FAINT, 0)
            fig.text(left + i * cell + (cell - 1) / 2, y + 11, i, 11, TEXT, "middle", middle=True)
    fig.heading(10, 20, "Step 2: thread tx reads Bs[k][8·tx] to Bs[k][8·tx + 3], the first of its two reads")
    strip(34)
    for thread in range(8):
        y = 60 + thread // 4 * 26
        box(fig, left + thread % 4 * 8 * cell, y, 4 * cell - 1, 24, f"thread {thread}", RED if thread > 3 else ORANGE, HALF)
    fig.text(left - 10, 73, "pass 1", 12, anchor="end", middle=True)
    fig.text(left - 10, 99, "pass 2", 12, RED, anchor="end", middle=True)
    for i in range(4):
        fig.text(left + (8 * i + 6) * cell, 85, "idle", 11.5, anchor="middle", middle=True)
    fig.heading(10, 152, "Step 3: thread tx reads Bs[k][4·tx] to Bs[k][4·tx + 3], the first of its two reads")
    strip(166)
    for thread in range(8):
        box(fig, left + thread * 4 * cell, 192, 4 * cell - 1, 24, f"thread {thread}", ORANGE, HALF)
    fig.text(left - 10, 205, "pass 1", 12, anchor="end", middle=True)
    fig.lines(10, 246, ["A word is 4 bytes. The word with index i lies in bank i mod 32. In a pass each bank gives one word.",
                        "A warp's read of 16 bytes per thread is served for 8 threads at a time. Here are the first 8 of a warp,",
                        "in the first of the two reads; the other 24 threads and the second read look alike."], 12.5, 20)
    return fig


@figure("02_padding")
def padding():
    fig = Figure(760, 226, "A warp stores 32 elements of A transposed: 8 values of k, 4 rows. Without padding all 8 rows of "
                           "the tile begin in bank 0 and only 4 banks are met. With 4 floats of padding each store has a bank "
                           "of its own")
    cell, top = 10.6, 62
    for x, title, length, note, color in (
            (40, "rows of 128 floats", 128, "4 banks, 8 words each: 8 passes", RED),
            (412, "rows of 128 + 4 floats", 132, "32 banks, one word each: 1 pass", BLUE)):
        fig.heading(x, 20, title)
        fig.text(x, 40, "a row of As for each k; where the warp's 32 stores go", 11.5)
        met = {(k, (k * length + row) % 32) for k in range(8) for row in range(4)}
        fig.grid(x, top, 8, 32, cell, look=lambda i, j: (color, SOLID) if (i, j) in met else (GREY, FAINT), cell_height=15)
        for k in range(8):
            fig.text(x - 8, top + k * 15 + 7, k, 11, anchor="end", middle=True)
        fig.text(x - 8, top - 8, "k", 11, anchor="end")
        for bank in (0, 8, 16, 24, 31):
            fig.text(x + bank * cell + 5, top + 134, bank, 11, anchor="middle")
        fig.text(x + 16 * cell, top + 152, "bank  –  " + note, 12, color, "middle")
    return fig


@figure("02_alignment")
def alignment():
    fig = Figure(760, 262, "Rows of 8 floats all begin at a multiple of 16 bytes. Rows of 6 floats do not: the second and the "
                           "fourth begin in the middle of a group of four, where no 16-byte load may begin")
    left, cell = 20, 30
    for y, cols, title in ((30, 8, "8 columns: every row begins at a multiple of 16 bytes"),
                           (146, 6, "6 columns: every second row begins in between")):
        fig.heading(left, y - 8, title)
        for i in range(24):
            row, col = divmod(i, cols)
            bad = row * cols % 4 != 0
            fig.rect(left + i * cell, y + 18, cell - 1, 28, ORANGE, UNDER_TEXT if row % 2 == 0 else FAINT, 0)
            fig.text(left + i * cell + cell / 2, y + 32, f"{row},{col}", 11, TEXT, "middle", middle=True)
            if col == 0:
                color = RED if bad else GREEN
                fig.arrow(left + i * cell + 2, y + 66, left + i * cell + 2, y + 49, color, 2)
                fig.text(left + i * cell + 8, y + 68, f"row {row}", 11.5, color)
        for i in range(0, 25, 4):
            fig.line(left + i * cell - 0.5, y + 8, left + i * cell - 0.5, y + 46, TEXT, 1.5)
            fig.text(left + i * cell + (3 if i < 24 else -3), y + 13, f"{4 * i}", 11, anchor="start" if i < 24 else "end")
    fig.text(left, 246, "vertical lines: where a 16-byte load may begin; the numbers above are bytes. In the boxes: row, column", 12.5)
    return fig


@figure("02_epilogue")
def epilogue():
    fig = Figure(620, 196, "A finished sum is multiplied by alpha; what C held is multiplied by beta and added; the result is "
                           "stored. With beta = 0 the read of C is left out")
    box(fig, 20, 30, 150, 44, "sum, in registers", GREEN, HALF, 13)
    box(fig, 20, 118, 150, 44, "C, as it was", GREY, PALE, 13)
    for y, name in ((52, "α"), (140, "β")):
        fig.dot(290, y, PURPLE, 17, PALE)
        fig.text(290, y, "· " + name, 15, TEXT, "middle", True, middle=True)
        fig.arrow(172, y, 270, y, GREEN if name == "α" else GREY, 1.8, "" if name == "α" else "5 4")
    fig.dot(410, 96, PURPLE, 17, PALE)
    fig.text(410, 96, "+", 18, TEXT, "middle", True, middle=True)
    fig.arrow(309, 56, 394, 86)
    fig.arrow(309, 136, 394, 106)
    fig.arrow(429, 96, 500, 96, GREEN, 1.8)
    box(fig, 504, 74, 90, 44, "C", GREEN, HALF, 14)
    fig.text(186, 184, "β = 0: this read is left out", 12.5)
    fig.line(221, 168, 221, 146, GREY, 1)
    fig.text(186, 24, "α = 0: no tile is brought, the sum stays 0", 12.5)
    return fig


# ---- step 5, and part faster

@figure("02_pipeline")
def pipeline():
    fig = Figure(760, 262, "In time: step 4 brings tiles and multiplies in turn. Step 5 brings the next tiles into the other "
                           "buffer while it multiplies, and is done sooner")
    left, unit = 78, 84
    fig.heading(10, 20, "Step 4: one pair of tiles in shared memory")
    for turn in range(4):
        box(fig, left + turn * 2 * unit, 34, unit - 2, 34, f"bring {turn}", GREY, PALE)
        box(fig, left + (turn * 2 + 1) * unit, 34, unit - 2, 34, f"multiply {turn}", GREEN, HALF)
    fig.heading(10, 108, "Step 5: two pairs")
    fig.text(10, 139, "arithmetic", 12, middle=True)
    fig.text(10, 177, "copies", 12, middle=True)
    box(fig, left, 160, unit - 2, 34, "bring 0", GREY, PALE)
    for turn in range(4):
        x = left + (turn + 1) * (unit + 6)
        box(fig, x, 122, unit, 34, f"multiply {turn}", GREEN, HALF)
        if turn < 3:
            box(fig, x, 160, unit - 10, 34, f"bring {turn + 1}", GREY, PALE)
        fig.line(x - 4, 116, x - 4, 200, TEXT, 1.5, "4 3")
        fig.text(x + unit / 2, 214, f"reads buffer {turn % 2}", 11.5, anchor="middle")
        if turn < 3:
            fig.text(x + unit / 2, 229, f"fills buffer {1 - turn % 2}", 11.5, anchor="middle")
    fig.text(left, 252, "dashed: wait for this thread's copies, then the barrier", 12)
    end = left + 5 * (unit + 6) - 6
    fig.arrow(end + 6, 139, left + 8 * unit - 4, 139, GREEN, 1.5)
    fig.text((end + left + 8 * unit) / 2, 130, "time saved", 12, GREEN, "middle")
    fig.line(left + 8 * unit - 1, 70, left + 8 * unit - 1, 146, GREY, 1, "2 3")
    return fig


def lane_of(i, j):
    """Which lane owns the 4×4 group in row i and column j of a warp's 4 × 8 groups."""
    return next(lane for lane in range(32) if (lane // 16 * 2 + lane % 2, lane // 2 % 8) == (i, j))


@figure("02_warp_tile")
def warp_tile():
    fig = Figure(760, 424, "The 64×64 elements of a warp as 16×16 groups of 4×4. Lane 9 owns eight of the groups: 16 rows and 8 "
                           "columns. For one k it reads four times 16 bytes of A and twice 16 bytes of B")
    x, y, cell = 60, 66, 21
    fig.heading(10, 20, "A warp's 64×64 elements of C, in groups of 4×4")
    fig.text(x, y - 10, "column 0", 11.5)
    fig.text(x + 8 * cell, y - 10, "32", 11.5)
    for i in range(0, 16, 4):
        fig.text(x - 8, y + i * cell + 10, f"row {4 * i}", 11.5, anchor="end", middle=True)
    for i in range(16):
        for j in range(16):
            lane = lane_of(i % 4, j % 8)
            mine = lane == 9
            first = i < 4 and j < 8
            fig.rect(x + j * cell, y + i * cell, cell - 1, cell - 1, GREEN, HALF if mine else PALE if first else FAINT, 0)
            if first or mine:
                fig.text(x + j * cell + 10, y + i * cell + 10, lane, 11, TEXT, "middle", mine,
                         middle=True)
    fig.rect(x - 1, y - 1, 8 * cell + 1, 4 * cell + 1, TEXT, 0, 1.2)
    rx = 432
    fig.heading(rx, y + 4, "for one k, lane 9 reads")
    for n, row in enumerate((4, 20, 36, 52)):
        box(fig, rx + n * 78, y + 18, 72, 26, f"rows {row} …", BLUE, HALF, 11.5)
    for n, col in enumerate((16, 48)):
        box(fig, rx + n * 78, y + 52, 72, 26, f"cols {col} …", ORANGE, HALF, 11.5)
    fig.lines(rx, y + 106, ["6 reads of 16 bytes for 128 products;", "8×8 elements: 4 reads for 64"], 13, 20)
    fig.heading(rx, y + 168, "who reads the same")
    fig.text(rx, y + 190, "lanes 8 and 9: the same columns of B", 12.5, ORANGE)
    fig.text(rx, y + 210, "lanes 1, 3, 5 … 15: the same rows of A", 12.5, BLUE)
    fig.lines(rx, y + 238, ["So a warp's read of 16 bytes a lane", "takes two passes in place of four."], 13, 20)
    fig.text(x, y + 16 * cell + 14, "framed: the pattern of the 32 lanes; it is there eight times", 11.5)
    return fig


@figure("02_fragments")
def fragments():
    fig = Figure(760, 306, "In time, one warp. Step 2 reads the operands of a k, waits for them and multiplies. Step 3 reads the "
                           "operands of the next k while it multiplies these; the barrier comes before a tile's last products")
    left = 84
    fig.heading(10, 20, "Step 2: read, wait, multiply")
    x = left
    for k in range(4):
        box(fig, x, 34, 34, 30, f"r{k}", PURPLE, HALF)
        box(fig, x + 36, 34, 40, 30, "wait", RED, PALE)
        box(fig, x + 78, 34, 82, 30, f"multiply {k}", GREEN, HALF)
        x += 164
    fig.heading(10, 104, "Step 3: two sets of registers")
    fig.text(10, 137, "multiply", 12, middle=True)
    fig.text(10, 173, "read", 12, middle=True)
    box(fig, left, 158, 34, 30, "r0", PURPLE, HALF)
    fig.text(left + 40, 173, "set 0", 11.5, middle=True)
    x, names = left + 82, ("0", "1", "…", "6", "7", "0")
    for n, name in enumerate(names):
        if n == 4:
            fig.line(x + 4, 112, x + 4, 214, TEXT, 1.5, "4 3")
            fig.text(x + 8, 228, "the next tiles must have come:", 11.5)
            fig.text(x + 8, 243, "wait for the copies, barrier", 11.5)
            x += 10
        width = 40 if name == "…" else 96
        box(fig, x, 122, width - 2, 30, f"multiply {name}" if name != "…" else name, GREEN, HALF)
        if name != "…":
            following = {"0": 1, "1": 2, "6": 7, "7": 0}[name]
            box(fig, x, 158, 34, 30, f"r{following}", PURPLE, HALF)
            fig.text(x + 40, 173, f"set {following % 2}", 11.5, middle=True)
        x += width
    fig.text(left, 208, "r1: read the operands of k = 1", 12, PURPLE)
    fig.text(left, 228, "set 0, set 1: into which registers", 12)
    fig.text(left, 272, "A tile has 8 values of k, 0 to 7. r0 after the dashed line belongs to the next tile: it is read while the", 12.5)
    fig.text(left, 290, "products of k = 7 run. So at the start of a tile no warp waits for its first operands.", 12.5)
    return fig


@figure("02_serpentine")
def serpentine():
    fig = Figure(760, 236, "The order of 4×4 products. Row by row, at each new row both operands change. To and fro, one of them "
                           "always stays: at the turn b, along a row a")
    cell = 40
    for x, title, turn in ((60, "row by row", False), (300, "to and fro", True)):
        fig.heading(x, 20, title)
        y = 62
        cells(fig, x, y - 26, [[f"b{j}" for j in range(4)]], cell, ORANGE, PALE, 12, 22)
        cells(fig, x - 34, y, [[f"a{i}"] for i in range(4)], 32, BLUE, PALE, 12, cell)
        fig.grid(x, y, 4, 4, cell, GREEN)
        for i in range(4):
            a, b = x + 16, x + 3 * cell + 24
            back = turn and i % 2 == 1
            fig.arrow(b if back else a, y + i * cell + 20, a if back else b, y + i * cell + 20, GREEN, 2)
            if i < 3 and turn:
                side = a if back else b
                fig.path(f"M{side} {y + i * cell + 20}V{y + (i + 1) * cell + 20}", GREEN, 2)
            elif i < 3:
                fig.path(f"M{b - 2} {y + i * cell + 26}L{a} {y + (i + 1) * cell + 13}", RED, 1.5, "4 3", True)
    fig.lines(510, 76, ["sum += a · b reads three registers.", "The register file gives two in a cycle,", "one of each bank. So one of the three",
                        "should be kept from before."], 12.5, 20)
    fig.text(510, 172, "red: a and b both change,", 12.5, RED)
    fig.text(510, 190, "nothing can be kept", 12.5, RED)
    return fig


@figure("02_spread")
def spread():
    fig = Figure(760, 268, "A thread's six copies of a tile. In step 6 all six begin at the start of a tile, between the products of "
                           "k = 7 and those of k = 0. In step 7 three begin with k = 0 and three with k = 1")
    left, unit = 24, 98
    kinds = [BLUE] * 4 + [ORANGE] * 2

    def panel(y, title, first, words, color):
        """first: how many copies begin before the products of k = 0."""
        fig.heading(10, y, title)
        fig.line(left - 5, y + 10, left - 5, y + 58, TEXT, 1.5, "4 3")
        x, begun = left, 0
        for k in (7, 0, 1, 2, 3, None):
            upto = {0: first, 1: 6}.get(k, begun)
            for c in range(begun, upto):
                box(fig, x, y + 18, 16, 24, c, kinds[c], HALF, 11)
                x += 18
            begun = upto
            box(fig, x, y + 18, unit - 2, 24, "…" if k is None else f"products {k}", GREEN, HALF, 11.5)
            if k == 7:
                fig.line(x + unit - 0.5, y + 10, x + unit - 0.5, y + 58, TEXT, 1, "1 3")
            x += unit + (1 if k == 7 else 0)
        fig.lines(left + unit + 8, y + 62, words, 12, 17, color=color)

    panel(20, "Step 6: all six at the start of a tile", 6,
          ["All warps begin all their copies now, one after the other."], RED)
    panel(132, "Step 7: three with k = 0, three with k = 1", 3,
          ["Three copies, then the products of k = 0, then the other three."], GREEN)
    fig.lines(10, 236, ["Dashed: the barrier after which the other buffer is free. Dotted: here a tile ends and the next begins.",
                        "Blue: copies of A, one float each; orange: copies of B, four floats each."], 12.5, 19)
    return fig


@figure("02_first_tile")
def first_tile():
    fig = Figure(760, 192, "K = 20 in tiles of 8. Step 4 takes 8, 8 and what is left, 4; every turn has to ask whether k is still "
                           "inside. Step 5 takes 4 first, then 8 and 8: only the first tile is special")
    left, cell = 110, 26
    for y, name, sizes in ((40, "step 4", (8, 8, 4)), (112, "step 5", (4, 8, 8))):
        fig.text(10, y + 14, name, 13, bold=True, middle=True)
        x = left
        for n, size in enumerate(sizes):
            short = size < 8
            for i in range(8 if short else size):
                inside = i < size
                fig.rect(x, y, cell - 1, 28, BLUE if inside else GREY, HALF if inside else FAINT, 0)
                if not inside:
                    fig.text(x + cell / 2, y + 14, "0", 12, TEXT, "middle", middle=True)
                x += cell
            fig.text(x - 4 * cell, y + 44, f"tile {n}" + (": the rest of K, then zeros" if short else ""), 11.5, anchor="middle")
            x += 5
    fig.text(left, 26, "k →", 12)
    return fig


# ---- part any_shape

@figure("02_rounds")
def rounds():
    fig = Figure(760, 366, "Blocks on 132 multiprocessors. 4095×4097 with the large tile: four full rounds and a fifth for 16 blocks; "
                           "with the small one 16 full rounds of a quarter of the work. 1000×3000: the large tile leaves 36 idle, the "
                           "small one is done after three quarters of the time")
    left, unit, height = 96, 122, 52
    def panel(y, name, blocks, width, color, note):
        fig.text(left - 12, y + height / 2 - 8, name[0], 12.5, anchor="end", middle=True, bold=True)
        fig.text(left - 12, y + height / 2 + 9, name[1], 11.5, anchor="end", middle=True)
        x = left
        while blocks > 0:
            busy = min(blocks, 132) / 132
            fig.rect(x, y, width * unit - 2, height, GREY, 0, 0.7, 0, "2 3")
            fig.rect(x, y + height * (1 - busy), width * unit - 2, height * busy, color, HALF, 0)
            blocks -= 132
            x += width * unit
        fig.text(left, y + height + 16, note, 12)
        return x
    fig.heading(10, 20, "C of 4095×4097")
    end = panel(32, ("128×256", "large"), 544, 1, RED, "544 blocks: 4 rounds of 132, and 16 blocks for which all others wait")
    panel(116, ("64×128", "small"), 2112, 0.25, GREEN, "2112 blocks: 16 rounds of 132, nobody idle")
    fig.arrow(end - unit - 4 + 4, 142, end - 4, 142, GREEN, 1.5)
    fig.text(end - unit / 2, 134, "saved", 12, GREEN, "middle")
    fig.heading(10, 216, "C of 1000×3000")
    panel(228, ("128×256", "large"), 96, 1, RED, "96 blocks")
    panel2 = left + 330
    fig.text(panel2 - 12, 246, "64×128", 12.5, anchor="end", middle=True, bold=True)
    fig.text(panel2 - 12, 263, "small", 11.5, anchor="end", middle=True)
    for n, blocks in enumerate((132, 132, 120)):
        busy = blocks / 132
        fig.rect(panel2 + n * unit / 4, 228, unit / 4 - 2, height, GREY, 0, 0.7, 0, "2 3")
        fig.rect(panel2 + n * unit / 4, 228 + height * (1 - busy), unit / 4 - 2, height * busy, GREEN, HALF, 0)
    fig.text(panel2, 296, "384 blocks", 12)
    fig.text(left, 326, "across: time, in units of a large block. Up: how many of the 132 multiprocessors have a block.", 12.5)
    fig.text(left, 346, "Small blocks are drawn one after the other; in truth a multiprocessor runs three of them at a time.", 12.5)
    return fig


@figure("02_padded_rows")
def padded_rows():
    fig = Figure(760, 262, "Above: rows of 5 floats, one after the other; only every fourth row begins at a multiple of 16 bytes. Below: "
                           "the copy, rows of 8 floats of which the last three are zeros; every row begins at a multiple")
    left, cell = 20, 30
    fig.heading(left, 20, "B as it is: N = 5, row k begins at float 5·k")
    for i in range(20):
        row, col = divmod(i, 5)
        fig.rect(left + i * cell, 50, cell - 1, 28, ORANGE, UNDER_TEXT if row % 2 == 0 else FAINT, 0)
        fig.text(left + i * cell + cell / 2, 64, f"{row},{col}", 11, TEXT, "middle", middle=True)
        if col == 0:
            color = RED if i % 4 else GREEN
            fig.arrow(left + i * cell + 2, 100, left + i * cell + 2, 81, color, 2)
            fig.text(left + i * cell + 8, 102, f"row {row}", 11.5, color)
    fig.heading(left, 140, "the copy: ldb = 8, row k begins at float 8·k")
    for i in range(24):
        row, col = divmod(i, 8)
        fig.rect(left + i * cell, 168, cell - 1, 28, ORANGE if col < 5 else GREY, (UNDER_TEXT if row % 2 == 0 else FAINT) if col < 5 else FAINT / 2, 0)
        fig.text(left + i * cell + cell / 2, 182, f"{row},{col}" if col < 5 else "0", 11, TEXT, "middle", middle=True)
        if col == 0:
            fig.arrow(left + i * cell + 2, 218, left + i * cell + 2, 199, GREEN, 2)
            fig.text(left + i * cell + 8, 220, f"row {row}", 11.5, GREEN)
    for y, last in ((42, 20), (160, 24)):
        for i in range(0, last + 1, 4):
            fig.line(left + i * cell - 0.5, y - 6, left + i * cell - 0.5, y + 36, TEXT, 1.5)
    fig.text(left, 250, "vertical lines: multiples of 16 bytes", 12.5)
    return fig


@figure("02_split_k")
def split_k():
    fig = Figure(760, 250, "One tile of C and a long K: A's band and B's band are cut into three parts along K, three blocks make a "
                           "tile of sums each, and a second kernel adds the three, first to last, into the tile of C")
    left, top, part = 20, 44, 96
    fig.text(left, 24, "A: a band of rows, cut along K", 12.5, BLUE, bold=True)
    fig.text(left, 114, "B: a band of columns (drawn lying)", 12.5, ORANGE, bold=True)
    for i in range(3):
        x = left + i * (part + 8)
        box(fig, x, top, part, 30, f"part {i}", BLUE, HALF - 0.15 * (i % 2))
        box(fig, x, top + 80, part, 30, f"part {i}", ORANGE, HALF - 0.15 * (i % 2))
        fig.arrow(x + part / 2, 158, x + part / 2, 184, width=1.5)
        box(fig, x, 188, part, 40, f"block {i}: sums", GREEN, PALE)
    x = left + 3 * (part + 8)
    fig.arrow(x, 208, x + 74, 208, width=2)
    fig.lines(x + 2, 168, ["second kernel,", "in this order"], 12, 16)
    fig.text(x + 84, 213, "0 + 1 + 2", 15, bold=True)
    fig.arrow(x + 166, 208, x + 206, 208, width=2)
    box(fig, x + 212, 184, 110, 48, "tile of C", GREEN, HALF, 14)
    fig.lines(x + 212, 44, ["alpha and beta", "come last, once"], 12.5, 18)
    fig.arrow(x + 262, 76, x + 262, 180, GREY, 1.2, "4 3")
    return fig


@figure("02_thin_tiles")
def thin_tiles():
    fig = Figure(760, 270, "The six tiles to scale: 128×256, 64×128, 128×64, 96×96, 32×256 and 16×256; and a C of 257 rows, which "
                           "tiles of 64 rows cover with 320 rows and tiles of 96 with 288")
    scale, x = 0.5, 20
    fig.heading(20, 22, "six tiles, to scale")
    places = ((128, 256, 20, 44), (64, 128, 20, 136), (128, 64, 104, 136), (96, 96, 156, 136), (32, 256, 222, 136), (16, 256, 222, 180))
    for rows, cols, x, y in places:
        box(fig, x, y, cols * scale, rows * scale, f"{rows}×{cols}" if rows > 24 and cols > 64 else "", GREEN, PALE, 11.5)
    fig.text(222 + 128 + 8, 184, "16×256", 11.5, middle=True)
    fig.text(120, 214, "128×64", 11.5, anchor="middle")
    left = 470
    fig.heading(left, 22, "257 rows of C")
    for n, (height, count, note) in enumerate(((64, 5, "5 · 64 = 320"), (96, 3, "3 · 96 = 288"))):
        x = left + n * 140
        for i in range(count):
            fig.rect(x, 44 + i * height * scale, 90, height * scale - 1, GREEN, PALE, 1)
        over = count * height - 257
        fig.rect(x, 44 + 257 * scale, 90, over * scale - 1, RED, HALF, 0)
        fig.text(x, 44 + 320 * scale + 20, note, 12.5)
        fig.text(x, 44 + 320 * scale + 38, f"{over} for nothing", 12, RED)
    return fig


@figure("02_few_rows")
def few_rows():
    fig = Figure(760, 236, "One row of A and a strip of 32 columns of B: warp 0 takes rows 0, 16, 32 of the strip, warp 1 rows 1, 17, "
                           "33; each lane has a column and a sum, and at the end the sums of the 16 warps are added")
    left, cell = 250, 12
    fig.text(20, 24, "A: a piece of its row", 12.5, BLUE, bold=True)
    for i in range(16):
        fig.rect(20 + i * cell, 36, cell - 1, 20, BLUE, HALF if i in (0, 8) else PALE, 0)
    fig.lines(20, 84, ["In shared memory. An element serves", "a warp: all lanes read one word."], 12, 17)
    fig.text(left + 32, 24, "B: a strip of 32 columns, each row 128 bytes", 12.5, ORANGE, bold=True)
    for row in range(10):
        for col in range(32):
            fig.rect(left + 32 + col * 9, 36 + row * 13, 8, 12, ORANGE, HALF if row % 8 == 0 else PALE, 0)
        name = {0: "warp 0", 1: "warp 1", 8: "warp 0 again"}.get(row)
        if name:
            fig.text(left + 24, 43 + row * 13, name, 11.5, anchor="end", middle=True)
    fig.text(left + 32 + 296, 75, "…", 14)
    fig.arrow(left + 32 + 144, 170, left + 32 + 144, 190, width=1.5)
    for col in range(32):
        fig.rect(left + 32 + col * 9, 194, 8, 14, GREEN, HALF, 0)
    fig.text(left + 32, 226, "32 elements of C: a sum a lane, then over the 16 warps in order", 12)
    fig.lines(left + 340, 100, ["A lane has up to 32 loads", "on their way at once."], 12, 17)
    return fig
