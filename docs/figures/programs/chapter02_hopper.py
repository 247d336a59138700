"""The figures of chapter 02's part hopper: who waits for whom, what a descriptor says, and what a cluster shares."""
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, RED, Figure, figure


def span(fig, x, y, width, words, color, fill=HALF, height=26, size=11.5, at=0.5):
    """A piece of time. at: where its words are, from 0, its begin, to 1."""
    fig.rect(x, y, width - 2, height, color, fill, 0, 2)
    if words:
        fig.text(x + (width - 2) * at, y + height / 2, words, size, anchor="middle", middle=True)


@figure("02_hopper_time")
def time_line():
    fig = Figure(780, 344, "The life of a tile of C as a time line. The producer loads tiles of A and B into a ring of four stages as "
                           "soon as a stage is empty. Both consumers multiply a stage when it is full, and give it back when its products "
                           "are done and the next ones under way. While TMA stores the tile of C, the stages of the next one are full already")
    left, unit = 108, 52
    rows = {"producer": 40, "TMA, loads": 80, "consumer 1": 140, "consumer 2": 180, "TMA, stores": 240}
    for name, y in rows.items():
        fig.text(8, y + 13, name, 12.5, bold=True, middle=True)
    # The producer: four stages at once, then one whenever one is empty.
    y = rows["producer"]
    for stage in range(4):
        span(fig, left + stage * 20, y, 20, str(stage), ORANGE)
    for i in range(8):
        span(fig, left + 162 + i * unit, y, 20, str(i % 4), ORANGE, HALF if i < 2 else PALE)
    fig.text(left + 88, y + 13, "waits", 11, middle=True)
    # The tiles on their way.
    y = rows["TMA, loads"]
    for i in range(4):
        span(fig, left + i * 20 + 8, y + i * 6, 56, "", BLUE, PALE, 5)
    for i in range(8):
        span(fig, left + 182 + i * unit, y + i % 4 * 6, 56, "", BLUE, PALE, 5)
    # The consumers.
    for name, late in (("consumer 1", 0), ("consumer 2", 10)):
        y, x = rows[name], left + 66 + late
        fig.text(x - 6, y + 13, "full 0", 11, anchor="end", middle=True)
        for i in range(6):
            span(fig, x + i * unit, y, unit, f"stage {i % 4}", GREEN, HALF)
        span(fig, x + 6 * unit, y, 68, "C to boxes", PURPLE, HALF)
        for i in range(4):
            span(fig, x + 6 * unit + 68 + i * unit, y, unit, f"stage {(i + 2) % 4}", GREEN, PALE)
    y = rows["TMA, stores"]
    span(fig, left + 66 + 6 * unit + 30, y, 120, "C to global memory", PURPLE, PALE)
    # Who waits for whom.
    fig.arrow(left + 72, rows["TMA, loads"] + 8, left + 72, rows["consumer 1"] - 2, BLUE)
    fig.path(f"M{left + 76 + unit - 2} {rows['consumer 2']}L{left + 65 + unit} {rows['consumer 1'] + 27}v-28"
             f"L{left + 164} {rows['producer'] + 28}", RED, arrow=True)
    fig.text(left + 160, rows["TMA, loads"] + 46, "empty 0: both have done products 0", 11.5, RED)
    fig.arrow(left + 66 + 6 * unit + 40, rows["consumer 2"] + 28, left + 66 + 6 * unit + 40, y - 2, PURPLE)
    fig.path(f"M{left + 65 + 6 * unit} {rows['consumer 1'] - 8}V{rows['consumer 2'] - 7}h10V290", GREY, 1, "4 3")
    fig.text(left + 69 + 6 * unit, 286, "this tile of C: six steps of K", 12, anchor="end")
    fig.text(left + 81 + 6 * unit, 286, "the next tile: its stages are full already", 12)
    fig.text(8, 314, "Numbers are stages of the ring. The consumers share the tensor cores: alone, each would take half the time.", 12)
    fig.text(8, 332, "This is step 8: in steps 3 to 7 the consumers store C themselves.", 12)
    return fig


@figure("02_hopper_ring")
def ring():
    fig = Figure(780, 250, "A ring of four stages in time. The producer asks for tiles 0 to 3 at once. When tile 0 has come, the consumers "
                           "begin the products of stage 0, then those of stage 1. When the products of stage 0 are done, both arrive at "
                           "its empty barrier, and the producer asks for tile 4, which goes into stage 0 again")
    left, unit = 120, 92
    rows = {"producer": 34, "on their way": 74, "consumers": 150}
    for name, y in rows.items():
        fig.text(8, y + 13, name, 12.5, bold=True, middle=True)
    for stage in range(4):
        span(fig, left + stage * 42, rows["producer"], 42, f"ask {stage}", ORANGE, size=11)
        span(fig, left + stage * 42 + 20, rows["on their way"] + stage * 14, 150, f"tile {stage}", BLUE, PALE, 12, 11,
             0.16 if stage < 3 else 0.5)  # not under the arrow
    begin = left + 176
    for i in range(5):
        span(fig, begin + i * unit, rows["consumers"], unit, f"products {i}", GREEN)
    for i in range(2):
        x = begin + (i + 1) * unit + 14
        span(fig, x, rows["producer"], 42, f"ask {4 + i}", ORANGE, size=11)
        span(fig, x + 20, rows["on their way"] + i * 14, 150, f"tile {4 + i}", BLUE, PALE, 12, 11, 0.16)
        fig.arrow(begin + (i + 1) * unit + 2, rows["consumers"], x + 12, rows["producer"] + 28, RED)
    fig.arrow(left + 170, rows["on their way"] + 12, begin + 2, rows["consumers"] - 2, BLUE)
    fig.text(begin + 22, rows["consumers"] + 46, "full 0: the bytes of tile 0 have come", 12, BLUE)
    fig.text(begin + 22, rows["consumers"] + 64, "empty 0: products 0 are done, so tile 4 may be written into stage 0", 12, RED)
    fig.text(8, 242, "Tile 4 is asked for when products 0 end, and needed when products 3 end: a copy may take as long as three steps.", 12)
    return fig


@figure("02_hopper_descriptor")
def descriptor():
    fig = Figure(780, 400, "The 64 bits of a descriptor: where the tile starts, leading, stride, offset and swizzle; and what leading "
                           "and stride are in the tile of B, whose rows run along N: the stride goes from eight rows to the next eight, "
                           "the leading one from 64 columns to the next 64")
    fig.heading(10, 22, "The descriptor of a tile: 64 bits")
    x, y, bit = 14, 46, 11.7
    fields = ((2, "swizzle", PURPLE), (10, "", GREY), (3, "offset", GREY), (3, "", GREY), (14, "stride / 16", GREEN), (2, "", GREY),
              (14, "leading / 16", ORANGE), (2, "", GREY), (14, "start / 16", BLUE))
    high = 64
    for width, name, color in fields:
        span(fig, x, y, width * bit, name if name not in ("swizzle", "offset") else "", color, HALF if name else FAINT, 30)
        if name in ("swizzle", "offset"):
            fig.text(x, y + 62, name, 12, color)
            fig.line(x + width * bit / 2, y + 32, x + width * bit / 2, y + 48, color, 1)
        fig.text(x + 1, y + 43 if name not in ("swizzle", "offset") else y - 5, high - 1, 11)
        x, high = x + width * bit, high - width
    fig.heading(10, 150, "A's tile, along K")
    left, top, cell = 14, 180, 12
    for block in range(3):
        fig.grid(left, top + block * 54, 4, 8, cell, BLUE, look=lambda row, col: (BLUE, HALF if col < 2 else PALE))
        fig.text(left + 112, top + block * 54 + 24, f"rows {8 * block} … {8 * block + 7}", 12, middle=True)
    fig.brace(left + 196, top, left + 196, top + 54, "stride: 1024 bytes", GREEN)
    fig.brace(left, top - 4, left + 23, top - 4, "", BLUE, -1)
    fig.text(left + 30, top - 8, "16 of K: 32 bytes; the next 16: start + 32", 11.5)
    fig.text(left, top + 176, "4 of each 8 rows are drawn; a square is a chunk of 16 bytes", 11.5)
    fig.heading(400, 150, "B's tile, along N")
    left = 404
    for piece in range(2):
        for block in range(3):
            fig.grid(left + piece * 130, top + block * 54, 4, 8, cell, ORANGE,
                     look=lambda row, col: (ORANGE, HALF if block < 2 else PALE))
    fig.text(left, top - 8, "columns 0 … 63", 11.5)
    fig.text(left + 130, top - 8, "64 … 127, and so on", 11.5)
    fig.brace(left + 236, top, left + 236, top + 54, "stride: 1024 bytes", GREEN)
    fig.brace(left + 236, top + 56, left + 236, top + 104, "8 rows of K", GREY)
    fig.arrow(left, top + 164, left + 130, top + 164, ORANGE)
    fig.text(left, top + 180, "leading: 64 rows · 128 bytes", 11.5, ORANGE)
    fig.text(left, top + 198, "16 of K: two times 8 rows; the next 16: start + 2048", 11.5)
    return fig


@figure("02_hopper_cluster")
def cluster():
    fig = Figure(780, 270, "A cluster of two blocks, whose tiles of C lie one below the other. Each loads its own tile of A, and one "
                           "half of B's tile for both; both halves arrive in both blocks")
    left, width = 230, 150
    fig.text(left, 20, "B's tile in global memory", 12.5, bold=True)
    for y, color, words in ((28, ORANGE, "block 0: 32 rows of K"), (54, PURPLE, "block 1: 32 rows of K")):
        fig.rect(left, y, width, 24, color, HALF)
        fig.text(left + width / 2, y + 12, words, 11.5, anchor="middle", middle=True)
    for i, top in enumerate((108, 190)):
        fig.text(10, top + 32, f"block {i}", 12.5, bold=True, middle=True)
        fig.rect(90, top, 44, 64, BLUE, HALF)
        fig.text(112, top + 32, "A", 13, anchor="middle", middle=True)
        fig.text(90, top - 6, "its own, 16 KB", 11.5)
        fig.text(left, top - 6, "B: both halves, 32 KB", 11.5)
        fig.rect(left, top, width, 30, ORANGE, HALF)
        fig.rect(left, top + 34, width, 30, PURPLE, HALF)
        fig.rect(440, top, 180, 64, GREEN, PALE)
        fig.text(530, top + 32, "C: 128 × 256", 12.5, anchor="middle", middle=True)
        fig.arrow(left - 24, top + 15, left - 2, top + 15, ORANGE)
        fig.arrow(left + width + 24, top + 49, left + width + 2, top + 49, PURPLE)
    fig.line(left, 40, left - 24, 40, ORANGE, 1.5)
    fig.line(left - 24, 40, left - 24, 205, ORANGE, 1.5)
    fig.line(left + width, 66, left + width + 24, 66, PURPLE, 1.5)
    fig.line(left + width + 24, 66, left + width + 24, 239, PURPLE, 1.5)
    return fig
