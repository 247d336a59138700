"""The figure of the page about Blackwell: where a product's operands and its sums lie. A is blue, B orange, the sums green."""
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, TEXT, Figure, figure

LEFT, WIDTH, GAP = 118, 206, 16
ROWS = {"shared memory": 62, "registers": 132, "tensor memory": 202}
CORES, HEIGHT, CHIP = 276, 44, 52
PLACES = {"A": (12, BLUE), "B": (74, ORANGE), "sums": (142, GREEN)}  # from a panel's left edge


def chip(f, x, row, name, words="", fill=HALF):
    at, color = PLACES[name]
    f.rect(x + at, ROWS[row] + 9, CHIP, HEIGHT - 18, color, fill, 0.8, 3)
    f.text(x + at + CHIP / 2, ROWS[row] + HEIGHT / 2, words or name, 12, TEXT, "middle", middle=True)


def way(f, x, name, begin, end, both=False, shift=0):
    """An arrow down from a row's chip to the next row's, or to the tensor cores."""
    at, color = PLACES[name]
    top, foot = ROWS[begin] + HEIGHT - 8, (CORES if end == "cores" else ROWS[end] + 8)
    f.arrow(x + at + CHIP / 2 + shift, top, x + at + CHIP / 2 + shift, foot, color)
    if both:
        f.arrow(x + at + CHIP / 2 + shift + 14, foot, x + at + CHIP / 2 + shift + 14, top, color)


def panel(f, n, title, say):
    x = LEFT + n * (WIDTH + GAP)
    f.text(x + WIDTH / 2, 24, title, 14, TEXT, "middle", True)
    f.text(x + WIDTH / 2, 43, say, 12, TEXT, "middle")
    for name, y in ROWS.items():
        if name != "tensor memory" or n == 2:  # only the last one has it
            f.rect(x, y, WIDTH, HEIGHT, GREY, FAINT, 0.8, 4)
    f.rect(x, CORES, WIDTH, 30, GREY, PALE, 0.8, 4)
    return x


@figure("blackwell_operands")
def operands():
    f = Figure(780, 352, "Where a product's operands A and B and its sums lie. With mma.sync all three are in registers, and A and B were "
                         "brought there from shared memory. With wgmma the tensor cores read A and B in shared memory, and the sums are "
                         "in registers. With tcgen05 the sums are in tensor memory, from which threads fetch them into registers, and A "
                         "may be there, too.")
    for name, y in ROWS.items():
        f.text(8, y + HEIGHT / 2, name, 12.5, bold=True, middle=True)
    f.text(8, CORES + 15, "tensor cores", 12.5, bold=True, middle=True)

    x = panel(f, 0, "mma.sync", "8.0 and later: a warp begins it")
    for name in ("A", "B"):
        chip(f, x, "shared memory", name)
        way(f, x, name, "shared memory", "registers")
        chip(f, x, "registers", name)
        way(f, x, name, "registers", "cores")
    chip(f, x, "registers", "sums")
    way(f, x, "sums", "registers", "cores", True, -7)

    for n, title, say, of_sums in ((1, "wgmma", "9.0: 128 threads begin it", "registers"),
                                   (2, "tcgen05.mma", "10.0: one thread begins it", "tensor memory")):
        x = panel(f, n, title, say)
        for name in ("A", "B"):
            chip(f, x, "shared memory", name)
            way(f, x, name, "shared memory", "cores")
        chip(f, x, of_sums, "sums")
        way(f, x, "sums", of_sums, "cores", True, -7)
    at = x + PLACES["sums"][0] + CHIP / 2
    f.path(f"M{at} {ROWS['tensor memory'] + 8}V{ROWS['registers'] + HEIGHT - 6}", GREEN, 1.5, "4 3", True)
    f.text(at, ROWS["registers"] + HEIGHT / 2, "tcgen05.ld", 11, TEXT, "middle", code=True, middle=True)

    f.text(8, 328, "A may also come from registers in wgmma (P in 06), and from tensor memory in tcgen05. Dashed: when all of K is "
                   "added up, four warps", 12)
    f.text(8, 345, "fetch the sums into registers, and go on from there as before.", 12)
    return f
