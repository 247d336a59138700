"""The figures of chapter 04: softmax. Blue is x, green is y, purple is what is known of a row: maximum and sum."""
import math

from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, RED, SOLID, TEXT, Figure, figure


def box(f, x, y, width, height, words="", color=GREY, fill=PALE, size=12, code=False, bold=False):
    """A cell with its words in the middle. HALF: with a strong edge, so that the words stay easy to read."""
    f.rect(x, y, width, height, color, min(fill, PALE), 2.2 if fill > PALE else 1, 3)
    if words != "":
        f.text(x + width / 2, y + height / 2, words, size, color if color != GREY else TEXT, "middle", bold, code, True)


@figure("04_passes")
def passes():
    f = Figure(760, 236, "How often a row is read and written: steps 1 and 2 read it three times and write it once, step 3 "
                         "reads it twice, steps 4 and 5 read it once")
    f.heading(10, 22, "What a kernel asks the memory for, for one row")
    left, part, height = 190, 132, 34
    tracks = [("steps 1 and 2", [("x: maximum", BLUE), ("x: sum", BLUE), ("x: output", BLUE), ("y", GREEN)], "16 bytes"),
              ("step 3", [("x: maximum, sum", BLUE), ("x: output", BLUE), ("y", GREEN)], "12 bytes"),
              ("steps 4 and 5", [("x: kept on the chip", BLUE), ("y", GREEN)], "8 bytes")]
    for row, (label, parts, total) in enumerate(tracks):
        y = 52 + row * 58
        f.text(10, y + 14, label, 13, bold=True)
        f.text(10, y + 30, f"{total} per element", 12)
        for i, (words, color) in enumerate(parts):
            box(f, left + i * part, y, part - 4, height, words, color)
    y = 226
    f.line(left, y - 12, left + 4 * part - 4, y - 12, width=1, arrow=True)
    f.text(left - 10, y - 8, "time", 12, anchor="end")
    return f


@figure("04_example")
def example():
    f = Figure(760, 232, "Three scores, 0, 2 and 1 in units of ln 2; minus the maximum and through exp they are 1/4, 1 "
                         "and 1/2; divided by their sum, 7/4, they are 1/7, 4/7 and 2/7")
    panels = [("scores", "in units of ln 2", (0, 2, 1), ("0", "2", "1"), 2.0, BLUE),
              ("minus 2, then exp", "the largest is always 1", (0.25, 1, 0.5), ("1/4", "1", "1/2"), 1.0, PURPLE),
              ("divided by 7/4", "they add up to 1", (1 / 7, 4 / 7, 2 / 7), ("1/7", "4/7", "2/7"), 1.0, GREEN)]
    base, tall = 170, 96
    for i, (head, note, values, names, whole, color) in enumerate(panels):
        x = 20 + i * 262
        f.heading(x, 22, head)
        f.text(x, 40, note, 12)
        for j, (value, name) in enumerate(zip(values, names)):
            height = tall * value / whole
            f.rect(x + j * 58, base - height, 46, max(height, 1), color, HALF, 0, 2)
            f.text(x + j * 58 + 23, base - height - 7, name, 13, color, "middle", True)
            f.text(x + j * 58 + 23, base + 18, "x₁x₂x₃"[2 * j:2 * j + 2], 12, anchor="middle")
        f.line(x - 6, base, x + 168, base, width=1)
        if i < 2:
            f.arrow(x + 184, 120, x + 240, 120)
    f.text(20, 222, "maximum: 2", 12, BLUE)
    f.text(20 + 262, 222, "sum: 1/4 + 1 + 1/2 = 7/4", 12, PURPLE)
    f.text(20 + 524, 222, "sum: 1", 12, GREEN)
    return f


@figure("04_range")
def exp_range():
    f = Figure(760, 206, "What exp of a float is: 0 below about −104, subnormal to −87.3, a normal float to 88.7, infinity "
                         "above; a row around 200 lies in infinity, and with its maximum subtracted between −4 and 0")
    left, right, y = 40, 720, 92

    def at(value):
        return left + (value + 150) * (right - left) / 370

    f.heading(10, 22, "exp(x) in float32")
    for low, high, words, color, fill in ((-150, -103.97, "0", RED, PALE), (-103.97, -87.34, "", RED, FAINT),
                                          (-87.34, 88.72, "a normal float", GREEN, PALE), (88.72, 220, "∞", RED, PALE)):
        f.rect(at(low), y - 22, at(high) - at(low), 22, color, fill, 0)
        f.text((at(low) + at(high)) / 2, y - 11, words, 13, color, "middle", True, middle=True)
    f.arrow(left, y, right + 14, y, width=1)
    for tick in (-150, -100, -50, 0, 50, 100, 150, 200):
        f.line(at(tick), y, at(tick), y + 4, width=1)
        f.text(at(tick), y + 18, f"{tick}".replace("-", "−"), 11, anchor="middle")
    f.text(right + 16, y + 18, "x", 12, anchor="middle")
    f.text(at(-95.6), y - 48, "subnormal: few digits", 12, RED, "middle")
    f.line(at(-95.6), y - 42, at(-95.6), y - 24, RED, 1)
    for value in (200, 199, 198, 196):
        f.dot(at(value), y + 44, BLUE)
        f.dot(at(value - 200), y + 44, GREEN)
    f.path(f"M{at(190):.0f} {y + 44}H{at(8):.0f}", GREY, 1.5, "", True)
    f.text(at(100), y + 36, "− 200, the maximum", 12, anchor="middle")
    f.text(at(198), y + 68, "the row as it is: ∞/∞", 12, RED, "middle")
    f.text(at(-2), y + 68, "1 for the largest, less for all others", 12, GREEN, "middle")
    f.lines(10, y + 98, ["The same row, and the same result on paper: the maximum cancels out of the fraction."], 12)
    return f


@figure("04_rows")
def rows():
    f = Figure(760, 318, "Which elements four threads read at the same moment: a column in step 1, which is 4 sectors for "
                         "4 numbers; a stretch of a row in step 2, which is 1 sector")
    cell, cols, lanes = 34, 8, 4
    for left, head, note, mine, foot in (
            (14, "step 1: a thread walks a row", "threads 0 to 3 in column 2", lambda r, c: c == 2,
             ("4 sectors fetched for 4 numbers", "thread r reads x[r · cols + c]")),
            (394, "step 2: a block shares a row", "threads 0 to 3 in row 0", lambda r, c: r == 0 and c < 4,
             ("1 sector fetched for 4 numbers", "thread t reads x[row · cols + t]"))):
        f.heading(left, 22, head)
        f.text(left, 42, note, 12)
        for r in range(lanes):
            for c in range(cols):
                taken = mine(r, c)
                color = BLUE if taken else GREY
                f.rect(left + c * cell + 1, 57 + r * cell, cell - 4, cell - 4, color, PALE if taken else FAINT, 2 if taken else 0, 2)
                f.text(left + c * cell + cell / 2 - 1, 56 + r * cell + cell / 2 - 1, r * cols + c, 12, color, "middle", taken,
                       middle=True)
        f.text(left, 218, "the same in memory, in sectors of 32 bytes", 12)
        small = 10.6
        for i in range(cols * lanes):
            taken = mine(i // cols, i % cols)
            f.rect(left + i * small, 228, small - 1.2, 24, BLUE if taken else GREY, SOLID if taken else FAINT, 0)
        for sector in range(lanes):
            used = any(mine(i // cols, i % cols) for i in range(sector * cols, (sector + 1) * cols))
            f.rect(left + sector * cols * small - 1, 225, cols * small - 1, 30, ORANGE if used else GREY, 0,
                   1.6 if used else 0.6, 2)
        f.text(left, 278, foot[0], 13, ORANGE, bold=True)
        f.text(left, 300, foot[1], 12, code=True)
    return f


@figure("04_shuffle")
def shuffle():
    f = Figure(760, 306, "The maximum of a warp, drawn with 8 lanes: in three rounds each lane takes the larger of its own "
                         "value and that of the lane 4, 2, then 1 away; then all lanes have the 9")
    values, lanes, cell, gap = [3, 1, 4, 1, 5, 9, 2, 6], 8, 34, 62
    left, top, step = 214, 56, 68
    f.heading(10, 22, "warp_max, with 8 lanes instead of 32")
    f.text(10, 46, "lane", 12)
    for lane in range(lanes):
        f.text(left + lane * gap + cell / 2, 46, lane, 12, anchor="middle")
    for round, offset in enumerate((0, 4, 2, 1)):
        y = top + round * step
        if offset:
            before = values
            values = [max(before[lane], before[lane ^ offset]) for lane in range(lanes)]
            for lane in range(lanes):
                x = left + lane * gap + cell / 2
                for source in (lane, lane ^ offset):
                    winner = before[source] == 9
                    f.line(left + source * gap + cell / 2, y - step + cell + 1, x, y - 3, PURPLE if winner else GREY,
                           1.6 if winner else 0.8, arrow=True)
        f.text(10, y + cell / 2, f"takes lane ^ {offset}" if offset else "value", 13, code=bool(offset), middle=True)
        for lane in range(lanes):
            best = values[lane] == 9
            box(f, left + lane * gap, y, cell, cell, values[lane], PURPLE if best else BLUE, HALF if best else PALE, 14,
                bold=best)
    return f


@figure("04_slots")
def slots():
    f = Figure(760, 250, "The maximum of a block: each of 8 warps writes its maximum into a slot of shared memory; after a "
                         "barrier every warp reads all 8 slots and reduces them once more")
    values, width, gap, left = [7, 3, 9, 2, 8, 4, 6, 5], 62, 72, 176
    f.heading(10, 22, "block_max: a block of 8 warps")
    for row, (y, words, note) in enumerate(((44, "1  shuffles", "in each warp"), (104, "2  slots", "in shared memory"),
                                            (200, "3  shuffles", "of all slots, again"))):
        f.text(10, y + 12, words, 13, bold=True)
        f.text(10, y + 28, note, 12)
    for warp, value in enumerate(values):
        x = left + warp * gap
        box(f, x, 42, width, 32, f"warp {warp}: {value}", BLUE)
        f.arrow(x + width / 2, 75, x + width / 2, 101, PURPLE if value == 9 else GREY)
        box(f, x, 103, width, 32, value, PURPLE, HALF if value == 9 else PALE, 14, bold=value == 9)
        f.line(x + width / 2, 136, x + width / 2, 168, PURPLE, 1)
        f.arrow(x + width / 2, 168, x + width / 2, 195, PURPLE)
        box(f, x, 198, width, 32, f"warp {warp}: 9", PURPLE, HALF)
    f.line(left - 6, 150, left + 8 * gap - 4, 150, RED, 1.5, "5 3")
    f.text(10, 154, "__syncthreads()", 12, RED, code=True)
    f.line(left + width / 2, 168, left + 7 * gap + width / 2, 168, PURPLE, 2.5)
    f.text(10, 172, "each warp reads all", 12, PURPLE)
    return f


@figure("04_online")
def online():
    f = Figure(760, 300, "The pair of maximum and sum of the scores 0, 2, 1: walked in order it goes from (0, 1) to (2, 5/4) "
                         "to (2, 7/4); merged from two halves, (2, 5/4) and (1, 1), it is (2, 7/4) as well")
    f.heading(10, 22, "one thread walks the row")
    for i, (score, pair, how) in enumerate((
            ("0", "(0, 1)", ("the first element:", "maximum 0, sum 1")),
            ("2", "(2, 5/4)", ("larger: the old sum shrinks", "1 · 2⁰⁻² + 1 = 5/4")),
            ("1", "(2, 7/4)", ("not larger: its term shrinks", "5/4 + 2¹⁻² = 7/4")))):
        y = 40 + i * 84
        box(f, 10, y, 40, 40, score, BLUE, PALE, 16, bold=True)
        f.arrow(53, y + 20, 77, y + 20)
        box(f, 80, y, 92, 40, pair, PURPLE, HALF if i == 2 else PALE, 15, bold=True)
        f.text(182, y + 17, how[0], 12)
        f.text(182, y + 34, how[1], 12, PURPLE)
        if i < 2:
            f.arrow(126, y + 42, 126, y + 81, PURPLE)
    left = 440
    f.line(left - 26, 12, left - 26, 290, width=0.6)
    f.heading(left, 22, "two threads share it")
    for x, scores, pair in ((left, ("0", "2"), "(2, 5/4)"), (left + 178, ("1",), "(1, 1)")):
        middle = x + 55
        for i, score in enumerate(scores):
            box(f, middle - 22 * len(scores) + i * 44 + 2, 40, 40, 40, score, BLUE, PALE, 16, bold=True)
        f.arrow(middle, 82, middle, 116)
        box(f, middle - 46, 118, 92, 40, pair, PURPLE, PALE, 15, bold=True)
        f.arrow(middle + (18 if x == left else -18), 160, left + 144 + (-30 if x == left else 30), 206, PURPLE)
    box(f, left + 98, 208, 92, 40, "(2, 7/4)", PURPLE, HALF, 15, bold=True)
    f.text(left + 144, 270, "maximum of 2 and 1; 5/4 + 1 · 2¹⁻² = 7/4", 12, PURPLE, "middle")
    f.text(left + 144, 180, "merge", 13, anchor="middle", code=True)
    return f


@figure("04_boundaries")
def boundaries():
    f = Figure(760, 196, "Five rows of seven columns in memory start 0, 3, 2, 1 and 0 floats past a 16-byte boundary: the "
                         "float4 between two boundaries that lie inside one row are loaded whole, the ends float by float")
    f.heading(10, 22, "5 rows of 7 columns in memory, and the 16-byte boundaries")
    cell, left, top = 21, 12, 50
    for i in range(35):
        row, col = divmod(i, 7)
        four = i // 4 * 4
        whole = four // 7 == (four + 3) // 7 and four + 3 < 35
        color = (BLUE, PURPLE)[row % 2]
        f.rect(left + i * cell, top, cell - 1.5, 34, color, PALE if whole else FAINT, 0)
        f.text(left + i * cell + cell / 2, top + 17, col, 12, color if whole else TEXT, "middle", whole, middle=True)
        if whole and i == four:
            f.rect(left + i * cell + 1, top, 4 * cell - 4, 34, color, 0, 2.2)
    for boundary in range(0, 36, 4):
        f.line(left + boundary * cell - 1, top - 9, left + boundary * cell - 1, top + 43, ORANGE, 1.8)
    for row in range(5):
        middle = left + (row * 7 + 3.5) * cell
        f.text(middle, top + 62, f"row {row}", 12, (BLUE, PURPLE)[row % 2], "middle", True)
        f.text(middle, top + 79, f"starts {row * 7 % 4} past", 12, anchor="middle")
    f.rect(left, 156, 18, 18, BLUE, PALE, 2.2)
    f.text(left + 26, 170, "in a float4 of one row: loaded whole", 12)
    f.rect(left + 262, 156, 18, 18, BLUE, FAINT, 0)
    f.text(left + 288, 170, "an end: loaded float by float", 12)
    f.line(left + 492, 154, left + 492, 176, ORANGE, 1.8)
    f.text(left + 502, 170, "16-byte boundary", 12, ORANGE)
    return f


@figure("04_warp")
def warp():
    f = Figure(760, 304, "Rows of 128 columns: in step 4 a block of one warp has room for 8 float4 per lane and fills one; in "
                         "step 5 a block of four warps has four rows, one float4 per lane, and nothing is empty")
    lanes, cell, height = 32, 9.6, 18
    f.heading(10, 22, "step 4: a row in a block of 32 threads")
    for v in range(8):
        for lane in range(lanes):
            f.rect(10 + lane * cell, 52 + v * (height + 2), cell - 1.4, height, BLUE if v == 0 else GREY,
                   HALF if v == 0 else FAINT, 0)
    f.text(10, 46, "32 lanes, 128 columns", 12)
    f.brace(10 + lanes * cell + 3, 74, 10 + lanes * cell + 3, 208, "empty")
    f.text(10, 230, "7 of the 8 float4 per lane hold −∞, and all go through", 12)
    f.text(10, 247, "maximum, exp and sum", 12)
    left = 420
    f.heading(left, 22, "step 5: four rows in a block")
    f.text(left, 46, "32 lanes, 128 columns in each row", 12)
    for w in range(4):
        for lane in range(lanes):
            f.rect(left + lane * cell, 52 + w * 34, cell - 1.4, height, BLUE, HALF, 0)
        f.text(left - 8, 52 + w * 34 + height / 2, w, 12, anchor="end", middle=True)
    f.text(left, 204, "one float4 per lane, nothing is empty", 12)
    f.text(left, 238, "up to 32 columns, 8 lanes per row:", 12)
    for part in range(4):
        for lane in range(8):
            f.rect(left + (part * 8 + lane) * cell, 248, cell - 1.4, height, (BLUE, PURPLE)[part % 2], HALF, 0)
        f.text(left + (part * 8 + 4) * cell, 282, f"row {part}", 12, (BLUE, PURPLE)[part % 2], "middle")
    f.line(left - 36, 12, left - 36, 290, width=0.6)
    return f


@figure("04_copy")
def copy():
    f = Figure(760, 222, "A load brings a float4 from global memory into registers; an asynchronous copy brings it straight "
                         "into shared memory, and no register waits for it")
    f.heading(10, 22, "row_on_chip: load into registers")
    f.heading(394, 22, "step 1: copy into shared memory")
    for left in (10, 394):
        box(f, left, 44, 350, 36, "global memory, then the L2 cache", GREY, FAINT)
        f.rect(left, 116, 350, 92, GREY, 0, 1, 6)
        f.text(left + 342, 202, "multiprocessor", 11, anchor="end")
    box(f, 30, 130, 140, 44, "registers: the row", BLUE, HALF)
    box(f, 200, 130, 140, 44, "shared memory", GREY, FAINT)
    f.arrow(100, 82, 100, 128, BLUE, 2)
    f.text(112, 104, "load, 16 bytes: its registers wait", 12, BLUE)
    box(f, 414, 130, 110, 44, "registers", GREY, FAINT)
    box(f, 570, 130, 160, 44, "shared memory: the row", BLUE, HALF)
    f.arrow(654, 82, 654, 128, BLUE, 2)
    f.text(642, 104, "copy, 16 bytes: no register waits", 12, BLUE, "end")
    f.path("M567 152H527", BLUE, 1.5, "", True)
    f.text(30, 195, "at most 32768 floats per block", 12)
    f.text(414, 195, "at most 58023 floats per block", 12)
    return f


@figure("04_cluster")
def cluster():
    f = Figure(760, 322, "Eight blocks on eight multiprocessors each hold an eighth of the row; each warp writes its maximum "
                         "and its sum into the shared memory of all eight blocks; after a barrier each block knows all 64 pairs")
    f.heading(10, 22, "a cluster of 8 blocks has one row")
    left, gap, width = 10, 93, 84
    for block in range(8):
        x = left + block * gap
        f.rect(x, 38, width, 30, BLUE, PALE, 0, 2)
        f.text(x + width / 2, 53, f"eighth {block}", 12, BLUE, "middle", middle=True)
        f.arrow(x + width / 2, 70, x + width / 2, 88, BLUE)
        f.rect(x, 90, width, 96, GREY, 0, 1, 5)
        f.text(x + width / 2, 105, f"block {block}", 12, anchor="middle")
        f.rect(x + 6, 112, width - 12, 24, BLUE, PALE, 0, 2)
        f.text(x + width / 2, 124, "its part", 11.5, BLUE, "middle", middle=True)
        for slot in range(8):
            f.rect(x + 6 + slot * 9, 158, 8, 20, PURPLE, SOLID if slot == 2 else PALE, 0)
        f.text(x + width / 2, 152, "64 pairs", 11.5, PURPLE, "middle")
    start = left + 2 * gap + width / 2
    for block in range(8):
        end = left + block * gap + 6 + 2 * 9 + 4
        f.path(f"M{start:.0f} 226C{start:.0f} 212 {end} 212 {end} 181", PURPLE, 1.3, "", True)
    box(f, start - 104, 228, 208, 28, "8 pairs of the warps of block 2", PURPLE, PALE)
    f.text(left + 3.9 * gap, 238, "map_shared_rank: write into another block", 12, PURPLE)
    f.text(left + 3.9 * gap, 256, "the 64 pairs: 8 from each block, a cell for each block", 12, PURPLE)
    f.line(left, 274, 750, 274, RED, 1.5, "5 3")
    f.text(left, 291, "cluster.sync()", 12, RED, code=True)
    f.text(left, 312, "Every block has all 64 pairs, merges them by itself, scales its part and stores it: no block asks another again.",
           12)
    return f


@figure("04_half")
def half():
    f = Figure(760, 262, "A multiprocessor with blocks that share rows of 65536 columns: in step 2 six of them, each with an eighth of "
                         "a row in shared memory, 197 kB together; in step 3 five with a quarter, of which the registers hold "
                         "three eighths, 328 kB together")
    for left, head, parts, shared, registers, note in (
            (10, "step 2: an eighth of a row in a block", 6, 32, 0, "6 · 33 kB of rows on the SM"),
            (394, "step 3: a quarter of a row in a block", 5, 41, 24, "5 · 66 kB of rows on the SM")):
        f.heading(left, 22, head)
        f.rect(left, 36, 356, 166, GREY, 0, 1, 6)
        f.text(left + 8, 56, "shared memory", 12)
        f.text(left + 8, 148, "registers", 12)
        for block in range(parts):
            x = left + 10 + block * (340 / parts)
            f.rect(x, 64, 340 / parts - 6, shared * 1.5, BLUE, HALF, 0, 2)
            if registers:
                f.rect(x, 156, 340 / parts - 6, registers * 1.5, BLUE, HALF, 0, 2)
            else:
                f.rect(x, 156, 340 / parts - 6, 12, GREY, FAINT, 0, 2)
        f.text(left, 224, note, 13, BLUE, bold=True)
        f.text(left, 244, "a column: a block, with what of its row lies where", 12)
    return f


@figure("04_where")
def where():
    f = Figure(760, 329, "Where a row waits by its length: up to 1024 columns in the registers of a warp, to 32768 in those "
                         "of a block, to 58023 in the shared memory of a block, to 463847 in that of eight blocks, to 695783 "
                         "in registers and shared memory of sixteen, beyond nowhere: it is read twice")
    f.heading(10, 22, "where a row waits between its maximum and its output")
    left, right, bottom = 196, 700, 285
    low, high = 16, 1 << 20

    def at(columns):
        return left + (right - left) * math.log(columns / low) / math.log(high / low)

    lines = [("warp_per_row", "registers of a warp", 1024, "1024"),
             ("row_on_chip", "registers of a block", 32768, "32768, or step 1"),
             ("1 row_in_shared", "shared memory of a block", 58023, "58023"),
             ("2 cluster", "that of eight blocks", 463847, "463847"),
             ("3 half_in_registers", "both of sixteen blocks", 695783, "695783"),
             ("online", "nowhere: read twice", high, "")]
    starts = {"warp_per_row": low, "row_on_chip": 1024, "3 half_in_registers": 32768, "online": 695783}
    for row, (step, words, top, label) in enumerate(lines):
        y = 44 + row * 39
        f.text(10, y + 10, step, 13, bold=True)
        f.text(10, y + 26, words, 12)
        f.rect(at(low), y, at(top) - at(low), 28, BLUE, FAINT, 0.7, 3)
        if step in starts:
            f.rect(at(starts[step]), y, at(top) - at(starts[step]), 28, GREEN, HALF, 0, 3)
        words = f"to {label}" if label else "any length"
        f.text(at(top) + 7 if label else at(starts[step]) - 7, y + 14, words, 12, TEXT, "start" if label else "end", middle=True)
    f.line(left, bottom - 4, right, bottom - 4, width=1)
    for tick in (16, 64, 256, 1024, 4096, 16384, 65536, 262144):
        f.line(at(tick), bottom - 4, at(tick), bottom, width=1)
        f.text(at(tick), bottom + 13, tick, 11, anchor="middle")
    f.text(left, bottom + 34, "columns", 12)
    f.rect(left + 84, bottom + 22, 16, 16, GREEN, HALF, 0)
    f.text(left + 107, bottom + 34, "step 4 chooses this, on a GPU with clusters", 12, GREEN)
    f.rect(left + 386, bottom + 22, 16, 16, BLUE, FAINT, 0.7)
    f.text(left + 409, bottom + 34, "the row fits", 12, BLUE)
    return f
