"""The figures of part tensor_cores of chapter 02: fragments, the swizzle, the pipeline."""
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, RED, TEXT, Figure, figure

ROW_COLORS = (BLUE, ORANGE, GREEN, PURPLE, RED, GREY)


def element(fig, x, y, width, height, words, color, fill, size=11):
    fig.rect(x, y, width - 1, height - 1, color, min(fill, 0.3), 0)
    fig.text(x + (width - 1) / 2, y + (height - 1) / 2, words, size, TEXT, "middle", middle=True)


@figure("02_tc_fragments")
def fragments():
    fig = Figure(760, 506, "Which lane holds which element, and in which register. Of A, 16 × 16: lane 4g + t has pairs of neighbours "
                           "in rows g and g + 8, columns 2t and 2t + 8: registers a0 to a3. Of B, 16 × 8: pairs one below the other "
                           "in column g, rows 2t and 2t + 8. Of C, 16 × 8: as the left half of A")
    cell, height = 25, 19
    left, top, b_top = 32, 178, 22

    def label(x, y, name, shape, color):
        fig.text(x, y, name, 16, color, bold=True)
        fig.text(x + 17, y, shape, 12)
    # A
    label(left, top - 24, "A", "16 × 16", BLUE)
    for row in range(16):
        for col in range(0, 16, 2):
            lane = row % 8 * 4 + col % 8 // 2
            register = row // 8 + col // 8 * 2
            mine = lane == 13
            element(fig, left + col * cell, top + row * height, 2 * cell, height, f"{lane}", RED if mine else BLUE,
                    HALF if mine else (FAINT, PALE)[register in (1, 2)])
    for register, (row, col) in enumerate(((0, 0), (8, 0), (0, 8), (8, 8))):
        fig.rect(left + col * cell - 0.5, top + row * height - 0.5, 8 * cell, 8 * height, BLUE, 0, 1)
        if row == 0:
            fig.text(left + (col + 4) * cell, top - 6, f"a[{register}]", 12, BLUE, "middle", code=True)
        else:
            fig.text(left + (col + 4) * cell, top + 16 * height + 15, f"a[{register}]", 12, BLUE, "middle", code=True)
    # B
    b_left = left + 16 * cell + 76
    b_cell, b_height = 29, 9
    label(b_left + 2, b_top - 8, "B", "16 × 8", ORANGE)
    for row in range(0, 16, 2):
        for col in range(8):
            lane = col * 4 + row % 8 // 2
            mine = lane == 13
            element(fig, b_left + col * b_cell, b_top + row * b_height, b_cell, 2 * b_height, f"{lane}",
                    RED if mine else ORANGE, HALF if mine else (FAINT, PALE)[row >= 8])
    for register, row in enumerate((0, 8)):
        fig.rect(b_left - 0.5, b_top + row * b_height - 0.5, 8 * b_cell, 8 * b_height, ORANGE, 0, 1)
        fig.text(b_left - 8, b_top + (row + 4) * b_height, f"b{register}", 12, ORANGE, "end", code=True, middle=True)
    # C
    c_top = top
    c_cell = 29
    label(b_left - 70, c_top + 14, "C", "16 × 8", GREEN)
    for row in range(16):
        for col in range(0, 8, 2):
            lane = row % 8 * 4 + col // 2
            mine = lane == 13
            element(fig, b_left + col * c_cell, c_top + row * height, 2 * c_cell, height, f"{lane}", RED if mine else GREEN,
                    HALF if mine else (FAINT, PALE)[row >= 8])
    for half in range(2):
        fig.rect(b_left - 0.5, c_top + half * 8 * height - 0.5, 8 * c_cell, 8 * height, GREEN, 0, 1)
        fig.lines(b_left - 8, c_top + half * 8 * height + 4 * height - 8, (f"c[{2 * half}]", f"c[{2 * half + 1}]"), 12,
                  color=GREEN, anchor="end", code=True)
    fig.lines(left, 36, ("Each box is two elements in one register of 32 bits,", "or two sums in two registers. Its number is the lane.",
                         "Red: all that lane 13 holds, 13 = 4·3 + 1, so g = 3 and t = 1."), 12.5, 20)
    return fig


@figure("02_tc_ldmatrix")
def ldmatrix():
    fig = Figure(760, 330, "ldmatrix with four matrices. Lanes 0 to 7 say where the rows of the first 8 × 8 begin, lanes 8 to 15 those of "
                           "the second, and so on. Lane 13 gives row 5 of the second matrix, and gets two elements of row 3 of each")
    cell, height, left, top = 22, 15, 92, 54
    fig.heading(10, 22, "What a lane gives: an address")
    for index, (row0, col0) in enumerate(((0, 0), (8, 0), (0, 8), (8, 8))):
        x, y = left + col0 * cell, top + row0 * height
        for row in range(8):
            lane = 8 * index + row
            mine = lane == 13
            element(fig, x, y + row * height, 8 * cell, height, f"lane {lane}", RED if mine else (BLUE, PURPLE)[index % 2],
                    HALF if mine else (FAINT, PALE)[index // 2])
        fig.rect(x - 0.5, y - 0.5, 8 * cell, 8 * height, GREY, 0, 1)
        side = "end" if col0 == 0 else "start"
        fig.text(left - 8 if col0 == 0 else left + 16 * cell + 6, y + 4 * height, f"matrix {index}", 12, anchor=side, middle=True)
    fig.text(left, top + 16 * height + 18, "k … k + 7", 12)
    fig.text(left + 8 * cell, top + 16 * height + 18, "k + 8 … k + 15", 12)
    x = 556
    fig.heading(x - 30, 22, "What it gets: a[0] … a[3]")
    small = 18
    for index in range(4):
        y = top + index * 62
        fig.text(x - 8, y + 22, f"a[{index}]", 12, anchor="end", code=True)
        for row in range(2, 5):
            for col in range(8):
                mine = row == 3 and col in (2, 3)
                element(fig, x + col * small, y + (row - 2) * small, small, small, "", RED if mine else (BLUE, PURPLE)[index % 2],
                        HALF if mine else (FAINT, PALE)[index // 2])
        fig.text(x + 8 * small + 6, y + 1.5 * small, "row 3", 11, middle=True)
    fig.text(10, top + 16 * height + 18, "columns", 12)
    fig.text(750, 314, "columns 2 and 3 of row 3: lane 13 = 4·3 + 1", 11.5, anchor="end")
    return fig


@figure("02_tc_swizzle")
def swizzle():
    fig = Figure(760, 400, "Eight rows of a tile, each of eight chunks of 16 bytes, above the 32 banks. ldmatrix reads chunk 2 of each row. "
                           "Plain: all eight lie in the same four banks, eight passes. Padded: each row begins four banks later, one "
                           "pass. Swizzled: chunk c of row r lies at place c XOR r, one pass, and no byte more")
    cell, height, top = 25, 22, 84

    def panel(left, title, place, extra, notes):
        fig.heading(left, 24, title)
        for chunk in range(8):
            fig.text(left + chunk * cell + cell / 2, top - 20, f"{4 * chunk}", 11, anchor="middle")
        fig.text(left, top - 36, "bank", 11)
        fig.line(left, top - 14, left + 8 * cell, top - 14, GREY, 1)
        for row in range(8):
            fig.text(left - 6, top + row * height + height / 2, f"r {row}", 11, anchor="end", middle=True)
            for chunk in range(8):
                at = place(row, chunk)
                x = left + at % 8 * cell
                y = top + row * height
                wanted = chunk == 2
                element(fig, x, y, cell, height, f"{chunk}", RED if wanted else BLUE, HALF if wanted else FAINT)
            if extra is not None:
                x = left + extra(row) * cell
                fig.rect(x, top + row * height, cell - 1, height - 1, GREY, 0, 1, dash="2 2")
        fig.lines(left, top + 8 * height + 26, notes, 12.5, 19)
    panel(30, "plain", lambda row, chunk: chunk, None,
          ("The same four banks", "eight times: 8 passes"))
    # Padded rows are 9 chunks long: row r begins r chunks further on. What passes the end of the banks begins anew.
    panel(282, "padded", lambda row, chunk: (chunk + row) % 8, None,
          ("A row is a chunk longer, so", "the next one begins 4 banks", "further on: 1 pass, but 1/9 of", "the place holds nothing"))
    panel(534, "swizzled", lambda row, chunk: chunk ^ row, None,
          ("Chunk c lies at c XOR r:", "1 pass, and each row", "keeps its 128 bytes"))
    fig.text(30, 384, "The number in a box is the chunk of the row that lies there. Red: chunk 2, as ldmatrix reads it.", 12.5)
    return fig


@figure("02_tc_xor")
def xor():
    fig = Figure(760, 190, "The place of an element: the row and the chunk in binary. The chunk's three bits are XORed with the row's last three; the "
                           "row and the element in the chunk stay")
    y = 60

    def bits(x, y, words, color, fill=PALE, width=26):
        for i, word in enumerate(words):
            element(fig, x + i * width, y, width, 26, word, color, fill, 13)
    fig.text(20, y - 14, "row", 13, BLUE, bold=True)
    bits(20, y, ("…", "r"), BLUE, FAINT)
    bits(20 + 2 * 26, y, ("r", "r", "r"), BLUE, HALF)
    fig.text(220, y - 14, "chunk of the row", 13, ORANGE, bold=True)
    bits(220, y, ("c", "c", "c"), ORANGE, HALF)
    fig.text(370, y - 14, "element of the chunk", 13, GREY, bold=True)
    bits(370, y, ("e", "e", "e"), GREY)
    fig.text(20, y + 74, "address in the tile", 13, TEXT)
    bits(220 - 5 * 26 + 60, y + 58, ("…", "r", "r", "r", "r"), BLUE, FAINT)
    bits(220 + 60, y + 58, ("c^r", "c^r", "c^r"), PURPLE, HALF, 36)
    bits(220 + 60 + 108, y + 58, ("e", "e", "e"), GREY)
    fig.path(f"M{20 + 3.5 * 26} {y + 28}C{20 + 3.5 * 26} {y + 50} 300 {y + 34} 320 {y + 55}", BLUE, 1.5, arrow=True)
    fig.path(f"M{220 + 39} {y + 28}C{220 + 39} {y + 44} 330 {y + 40} 336 {y + 55}", ORANGE, 1.5, arrow=True)
    fig.lines(510, y + 4, ("XOR with one number puts eight", "chunks in another order and loses",
                           "none. The same XOR on the way", "out finds each of them again."), 12.5, 19)
    return fig


@figure("02_tc_stages")
def stages():
    fig = Figure(760, 300, "Three stages in time. Two pairs of tiles are on their way before the first product. At each turn the block waits for one "
                           "stage, begins the copies into the stage that it has just left, and multiplies")
    left, width, top = 106, 124, 64
    colors = (BLUE, ORANGE, GREEN)

    def bar(x, y, length, words, color, fill=PALE):
        fig.rect(x + 1, y, length - 2, 28, color, min(fill, 0.3), 1, 2)
        fig.text(x + 12, y + 14, words, 12, TEXT, middle=True)
    for stage in range(3):
        y = top + stage * 40
        fig.text(left - 12, y + 14, f"stage {stage}", 13, colors[stage], "end", middle=True)
    fig.text(left - 12, top + 3 * 40 + 28, "products", 13, TEXT, "end", middle=True)
    # copies: tile t into stage t % 3, begun at turn t − 2 (the first two before the loop)
    bar(left, top, width + 30, "copy tile 0", colors[0])
    bar(left + 14, top + 40, width * 1.5, "copy tile 1", colors[1])
    turn0 = left + width + 40
    for tile in range(2, 6):
        x = turn0 + (tile - 2) * width
        length = min(width * 1.5, 752 - x)
        bar(x, top + tile % 3 * 40, length, f"copy tile {tile}" if length > 70 else "…", colors[tile % 3])
    for tile in range(4):
        x = turn0 + tile * width + 6
        bar(x, top + 3 * 40 + 14, width - 8, f"tile {tile}", colors[tile % 3], HALF)
        fig.line(turn0 + tile * width - 1, top - 16, turn0 + tile * width - 1, top + 3 * 40 + 50, TEXT, 1.2, "4 3")
    fig.text(turn0, top - 24, "each line: wait for the oldest copies, then a barrier", 12)
    fig.text(left, top + 3 * 40 + 72, "time", 12)
    fig.arrow(left + 32, top + 3 * 40 + 68, left + 120, top + 3 * 40 + 68)
    fig.text(turn0, top + 3 * 40 + 72, "Tile 3 may go into stage 0: all threads have passed the barrier", 12)
    fig.text(turn0, top + 3 * 40 + 90, "that comes after tile 0.", 12)
    fig.text(left, top - 24, "before the loop", 12)
    return fig


@figure("02_tc_ahead")
def ahead():
    fig = Figure(760, 234, "One warp in time. Step 5: it reads fragments, waits, multiplies. Step 6: while tensor cores multiply with one set of registers, "
                           "the next fragments come into the other set")
    left = 110

    def row(y, name, parts):
        fig.text(left - 12, y + 14, name, 12.5, anchor="end", middle=True)
        for x, length, words, color, fill in parts:
            fig.rect(left + x + 1, y, length - 2, 28, color, min(fill, 0.3), 1, 2)
            fig.text(left + x + length / 2, y + 14, words, 11.5, TEXT, "middle", middle=True)
    fig.heading(10, 24, "Step 5")
    row(36, "ldmatrix", [(i * 150, 52, f"k {16 * i}", BLUE, PALE) for i in range(4)])
    row(72, "tensor cores", [(i * 150 + 54, 94, f"k {16 * i}", GREEN, HALF) for i in range(4)])
    fig.heading(10, 134, "Step 6")
    row(146, "ldmatrix", [(0, 52, "k 0", BLUE, PALE)] + [(54 + i * 98, 52, f"k {16 * (i + 1)}" if i < 3 else "next tile", (ORANGE, BLUE)[i % 2], PALE)
                                                         for i in range(4)])
    row(182, "tensor cores", [(54 + i * 98, 96, f"k {16 * i}", (BLUE, ORANGE)[i % 2], HALF) for i in range(4)])
    fig.text(left, 230, "blue and orange: the two sets of registers", 12)
    return fig


@figure("02_tc_groups")
def groups():
    fig = Figure(760, 438, "The order of blocks on 8 × 16 tiles of C, and what the first 16 of them read. Row by row: one row of tiles of A and all 16 "
                           "columns of B. In strips of four: four rows of A and four columns of B")
    cell, height, left = 27, 19, 30

    def panel(top, title, number, notes):
        fig.heading(left, top - 24, title)
        first = [(row, col) for row in range(8) for col in range(16) if number(row, col) < 16]
        for row in range(8):
            for col in range(16):
                element(fig, left + col * cell, top + row * height, cell, height, number(row, col), GREEN,
                        HALF if (row, col) in first else FAINT)
        for row in sorted({row for row, _ in first}):
            fig.rect(left - 14, top + row * height, 9, height - 1, BLUE, HALF, 0)
        for col in sorted({col for _, col in first}):
            fig.rect(left + col * cell, top - 14, cell - 1, 9, ORANGE, HALF, 0)
        fig.lines(left + 16 * cell + 24, top + 24, notes, 12.5, 19)

    def in_strips(row, col):
        return row // 4 * 64 + col * 4 + row % 4
    panel(46, "row by row", lambda row, col: row * 16 + col, ("The first 16 blocks read 1 band", "of A and 16 of B: 17 bands"))
    panel(256, "in strips of four", in_strips, ("The first 16 blocks read 4 bands", "of A and 4 of B: 8 bands"))
    fig.text(left, 430, "Green: the blocks that run first. Blue and orange: the bands of A and of B that they read.", 12)
    return fig


@figure("02_tc_epilogue")
def epilogue():
    fig = Figure(760, 226, "A warp's sums on their way out. From the registers a request writes every second one of eight floats, in eight rows; through shared memory a "
                           "request writes whole rows, 16 bytes a lane")
    cell, height, top = 7, 16, 54
    fig.heading(10, 24, "straight from the registers")
    for row in range(8):
        for pair in range(4):
            fig.rect(10 + pair * 2 * cell, top + row * height, cell, height - 2, GREEN, HALF, 0)
            fig.rect(10 + (pair * 2 + 1) * cell, top + row * height, cell - 1, height - 2, GREEN, FAINT, 0)
        fig.rect(10 + 8 * cell, top + row * height, 24 * cell, height - 2, GREY, FAINT, 0)
        fig.text(10 + 33 * cell, top + row * height + 7, f"row {row}", 11, middle=True)
    fig.lines(10, top + 8 * height + 20, ("8 rows of 8 floats: each row's 32 bytes", "take two requests, one for each of c[0], c[1]"), 12, 18)
    x = 400
    fig.heading(x, 24, "through shared memory")
    for row in range(2):
        for quad in range(16):
            fig.rect(x + quad * 18, top + row * height, 17, height - 2, GREEN, HALF, 0)
        fig.text(x + 16 * 18 + 6, top + row * height + 7, f"row {row}", 11, middle=True)
    for row in range(2, 8):
        fig.rect(x, top + row * height, 16 * 18 - 1, height - 2, GREY, FAINT, 0)
    fig.lines(x, top + 8 * height + 20, ("2 rows of 64 floats a request,", "16 bytes for each of 32 lanes"), 12, 18)
    return fig
