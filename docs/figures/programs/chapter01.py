"""Figures of docs/01_naive_matmul.md."""
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, SOLID, Figure, figure


def numbers(f, x, y, rows, cols, cell, color, strong):
    """A matrix whose elements show their place in memory; strong(row, col) says which are drawn strongly."""
    f.grid(x, y, rows, cols, cell, color, look=lambda row, col: (color, HALF if strong(row, col) else PALE))
    for row in range(rows):
        for col in range(cols):
            f.text(x + col * cell + (cell - 1) / 2, y + row * cell + (cell - 1) / 2, row * cols + col, 11.5,
                   anchor="middle", middle=True)


@figure("01_index")
def index():
    f = Figure(760, 400, "C[2][3] is the product of row 2 of A and column 3 of B. In memory the row of A is 6 neighbours, "
                         "the column of B every 5th place")
    c = 27
    f.text(278 + 2.5 * c, 18, "B: K×N = 6×5", 12.5, ORANGE, "middle", True)
    numbers(f, 278, 28, 6, 5, c, ORANGE, lambda row, col: col == 3)
    f.text(40 + 3 * c, 196, "A: M×K = 4×6", 12.5, BLUE, "middle", True)
    numbers(f, 40, 206, 4, 6, c, BLUE, lambda row, col: row == 2)
    numbers(f, 278, 206, 4, 5, c, GREEN, lambda row, col: (row, col) == (2, 3))
    f.text(278 + 2.5 * c, 334, "C: M×N = 4×5", 12.5, GREEN, "middle", True)
    f.text(44, 332, "row 2 is dark", 12, BLUE)
    f.arrow(40 + 6 * c + 6, 206 + 2.5 * c, 272, 206 + 2.5 * c, BLUE)
    f.arrow(278 + 3.5 * c, 28 + 6 * c + 2, 278 + 3.5 * c, 203, ORANGE)
    for i, (words, code, color) in enumerate((("A[row][k] is", "A[row * K + k]", BLUE),
                                              ("B[k][col] is", "B[k * N + col]", ORANGE),
                                              ("C[row][col] is", "C[row * N + col]", GREEN))):
        f.text(470, 60 + i * 50, words, 12, code=True)
        f.text(470, 80 + i * 50, code, 13, color, code=True, bold=True)
    f.lines(470, 226, ["The numbers are places in memory,", "not values. The number of the row", "is multiplied by the length of a row."], 12)
    f.text(40, 362, "A in memory: row 2 is 6 neighbours", 12, BLUE)
    f.grid(40, 370, 1, 24, 13, BLUE, 22, lambda row, col: (BLUE, HALF if 12 <= col < 18 else PALE))
    f.text(390, 362, "B in memory: column 3 is every 5th place", 12, ORANGE)
    f.grid(390, 370, 1, 30, 12, ORANGE, 22, lambda row, col: (ORANGE, HALF if col % 5 == 3 else PALE))
    return f


def sectors(f, x, y, name, rows, cols, touched, wanted, color, cell=13, labels=None):
    """Rows of a matrix in sectors of 8 floats. touched: the (row, sector) that are, wanted: the (row, col)."""
    f.text(x, y - 8, name, 13, color, code=True, bold=True)
    for row in range(rows):
        top = y + row * (cell + 5)
        for col in range(cols):
            strong = (row, col) in wanted
            looked_up = (row, col // 8) in touched
            f.rect(x + col * cell, top, cell - 1, cell, color, SOLID if strong else PALE if looked_up else FAINT, 0)
        for sector in range(cols // 8):
            if (row, sector) in touched:
                f.rect(x + sector * 8 * cell - 1.5, top - 1.5, 8 * cell + 2, cell + 3, color, 0, 1.3)
        if labels:
            f.text(x - 8, top + cell / 2, labels[row], 11, anchor="end", middle=True)


def legend(f, y):
    f.rect(10, y - 11, 34, 13, GREY, PALE, 1.3)
    f.text(52, y, "a sector that is touched: 8 floats, 32 bytes", 12)
    f.rect(350, y - 11, 13, 13, GREY, SOLID, 0)
    f.text(370, y, "a float that a lane wants", 12)


@figure("01_uncoalesced")
def uncoalesced():
    f = Figure(760, 330, "Step 1, one turn of the loop: the lanes of a warp want elements of A in 32 different rows, which are "
                         "32 sectors, and all the same element of B, 1 sector")
    f.text(10, 20, "Step 1: lane t computes C[t][col]. One turn of the loop, k = 5:", 13, bold=True)
    rows = list(range(6))
    sectors(f, 80, 58, "A[t][k]", 6, 24, {(r, 0) for r in rows}, {(r, 5) for r in rows}, BLUE,
            labels=[f"t = {r}" for r in rows])
    f.text(80, 174, "⋮", 13)
    f.text(98, 176, "and so on, to t = 31", 12)
    f.lines(420, 72, ["32 lanes, 32 rows, 32 sectors:"], 13, color=BLUE, bold=True)
    f.lines(420, 92, ["1024 bytes are touched, 128 are wanted now.", "The other 28 bytes of each sector are wanted",
                      "in the next turns, if they are still in a cache."], 12)
    sectors(f, 80, 216, "B[k][col]", 1, 24, {(0, 0)}, {(0, 2)}, ORANGE, labels=["all t"])
    f.text(420, 228, "1 sector for all lanes: a broadcast", 13, ORANGE, bold=True)
    f.text(80, 268, "(32 + 1) / 2 = 16.5 sectors per request; at the end C[t][col]: 32 sectors", 12.5)
    f.line(10, 288, 750, 288, width=0.5)
    legend(f, 316)
    return f


@figure("01_coalesced")
def coalesced():
    f = Figure(760, 262, "Step 2, one turn of the loop: all lanes of a warp want the same element of A, 1 sector, and 32 "
                         "neighbours in a row of B, which are 4 sectors, all of it used")
    f.text(10, 20, "Step 2: lane t computes C[row][t]. One turn of the loop, k = 5:", 13, bold=True)
    sectors(f, 80, 58, "A[row][k]", 1, 24, {(0, 0)}, {(0, 5)}, BLUE, labels=["all t"])
    f.text(420, 70, "1 sector for all lanes: a broadcast", 13, BLUE, bold=True)
    sectors(f, 80, 112, "B[k][t]", 1, 32, {(0, i) for i in range(4)}, {(0, i) for i in range(32)}, ORANGE,
            labels=["t = 0 …"])
    f.text(506, 118, "32 lanes, 4 sectors:", 13, ORANGE, bold=True)
    f.text(506, 136, "128 bytes are touched, all are wanted", 12)
    sectors(f, 80, 170, "C[row][t], at the end", 1, 32, {(0, i) for i in range(4)}, {(0, i) for i in range(32)}, GREEN,
            labels=["t = 0 …"])
    f.text(506, 182, "4 sectors, written whole", 13, GREEN, bold=True)
    f.text(80, 212, "(1 + 4) / 2 = 2.5 sectors per request", 12.5)
    f.line(10, 226, 750, 226, width=0.5)
    legend(f, 252)
    return f
