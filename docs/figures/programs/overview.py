"""The six chapters, a panel each; and the road with its parts."""
import project
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, SOLID, TEXT, Figure, figure

WIDTH, HEIGHT, GAP = 300, 262, 14
CELL = 10


class Panel:
    """One chapter's; coordinates count from its upper left corner."""

    def __init__(self, whole, index, title, say):
        self.whole = whole
        self.x, self.y = index % 3 * (WIDTH + GAP) + 1, index // 3 * (HEIGHT + GAP) + 1
        whole.rect(self.x, self.y, WIDTH, HEIGHT, GREY, 0.05, 1, 8)
        self.text(18, 32, f"{index + 1}  {title}", 17, bold=True)
        whole.lines(self.x + 18, self.y + 218, say, 13.5, 22)

    def text(self, x, y, words, size=12.5, color=TEXT, anchor="start", **how):
        self.whole.text(self.x + x, self.y + y, words, size, color, anchor, **how)

    def rect(self, x, y, width, height, color=GREY, fill=PALE, stroke=0.0, **how):
        self.whole.rect(self.x + x, self.y + y, width, height, color, fill, stroke, **how)

    def arrow(self, x1, y1, x2, y2):
        self.whole.arrow(self.x + x1, self.y + y1, self.x + x2, self.y + y2)

    def matrix(self, x, y, rows=6, cols=6, look=None):
        self.whole.grid(self.x + x, self.y + y, rows, cols, CELL, GREY, None, look)


def product(panel, x, look_a, look_b, look_c):
    panel.matrix(x, 128, look=look_a)
    panel.matrix(x + 70, 58, look=look_b)
    panel.matrix(x + 70, 128, look=look_c)
    panel.text(x - 14, 162, "A", anchor="middle")
    panel.text(x + 142, 92, "B", anchor="middle")
    panel.text(x + 142, 182, "C", anchor="middle")


def naive(whole):
    panel = Panel(whole, 0, "Naive matmul", ["One thread for each element of C.", "Which thread takes which matters."])
    product(panel, 48, lambda row, col: (BLUE, SOLID) if row == 2 else None,
            lambda row, col: (ORANGE, SOLID) if col == 3 else None,
            lambda row, col: (GREEN, SOLID) if (row, col) == (2, 3) else None)
    panel.arrow(230, 153, 162, 153)
    panel.text(232, 141, "one thread", anchor="middle")


def tiled(whole):
    panel = Panel(whole, 1, "Tiled matmul", ["A block loads a tile once, and", "all its threads use it many times."])

    def inside(row, col):
        return row // 2 == 1 and col // 2 == 1
    product(panel, 84, lambda row, col: (BLUE, SOLID if inside(row, col) else PALE) if row // 2 == 1 else None,
            lambda row, col: (ORANGE, SOLID if inside(row, col) else PALE) if col // 2 == 1 else None,
            lambda row, col: (GREEN, SOLID) if inside(row, col) else None)
    panel.rect(80, 66, 60, 40, GREY, FAINT, 1.2, radius=5)
    panel.rect(87, 76, 20, 20, BLUE, SOLID)
    panel.rect(112, 76, 20, 20, ORANGE, SOLID)
    panel.text(98, 58, "shared memory", anchor="middle")
    panel.arrow(114, 146, 114, 109)
    panel.arrow(173, 87, 143, 87)


def masked(whole):
    panel = Panel(whole, 2, "Masked batch product",
                  ["A block whose tile is all masked", "loads nothing and computes nothing."])
    panel.rect(36, 82, 110, 110, GREY, 0, 1)
    for depth in (1, 2):  # what is seen of the sheets behind it
        whole.path(f"M{panel.x + 36 + 10 * depth} {panel.y + 92 - 10 * depth}v-10h110v110h-10", GREY, 1)
    for row in range(6):
        for col in range(6):
            x, y = 39 + col * 17.5, 85 + row * 17.5
            if row // 2 < col // 2:
                panel.rect(x, y, 16, 16, GREY, 0, 1, dash="2 2")
            else:
                panel.rect(x, y, 16, 16, GREY if col > row else GREEN, HALF if col > row else SOLID)
    for i, (words, color, fill, stroke) in enumerate([("skipped", GREY, 0, 1), ("masked", GREY, HALF, 0),
                                                      ("computed", GREEN, SOLID, 0)]):
        panel.rect(184, 102 + 26 * i, 13, 13, color, fill, stroke, dash="2 2" if stroke else "")
        panel.text(205, 113 + 26 * i, words, 13)


def softmax(whole):
    panel = Panel(whole, 3, "Softmax", ["The maximum and the sum of a row", "in one pass: read memory once."])
    for i, score in enumerate([12, 50, -26, 34, 14]):
        panel.rect(36 + 16 * i, 150 - max(score, 0), 12, abs(score), BLUE, SOLID)
    for i, share in enumerate([6, 68, 1.5, 22, 8]):
        panel.rect(182 + 16 * i, 150 - share, 12, share, GREEN, SOLID)
    for x in (30, 176):
        whole.line(panel.x + x, panel.y + 150, panel.x + x + 88, panel.y + 150)
    panel.arrow(132, 132, 166, 132)
    panel.text(149, 120, "exp, ÷ Σ", anchor="middle")
    panel.text(74, 194, "scores", anchor="middle")
    panel.text(220, 194, "sum is 1", anchor="middle")


def unfused(whole):
    panel = Panel(whole, 4, "Unfused attention", ["One kernel a stage; the T×T scores", "travel through memory every time."])
    for i, name in enumerate(["QKᵀ", "mask", "softmax", "PV"]):
        x = 18 + 68 * i
        panel.rect(x, 66, 58, 26, GREY, FAINT, 1.2, radius=4)
        panel.text(x + 29, 84, name, anchor="middle")
        panel.arrow(x + 17, 150, x + 17, 96)
        panel.arrow(x + 41, 94, x + 41, 148)
    panel.rect(18, 152, 262, 30, GREY, PALE, radius=4)
    panel.text(149, 172, "global memory", anchor="middle")


def flash(whole):
    panel = Panel(whole, 5, "Flash attention", ["Softmax as the tiles stream by:", "no score ever leaves the chip."])
    panel.rect(18, 52, 262, 92, GREY, FAINT, 1.2, radius=6)
    panel.text(214, 72, "one kernel", anchor="middle")
    for i, fill in enumerate([SOLID, PALE, PALE]):
        panel.rect(82 + 28 * i, 62, 24, 20, ORANGE, fill)
    panel.text(62, 77, "K, V", anchor="middle")
    panel.rect(48, 94, 28, 38, BLUE, SOLID)
    panel.text(34, 118, "Q", anchor="middle")
    panel.rect(82, 94, 24, 38, GREY, HALF)
    panel.text(94, 118, "S", anchor="middle", color=TEXT)
    panel.rect(110, 94, 52, 38, GREY, 0, 1, dash="3 3")
    panel.arrow(116, 113, 154, 113)
    panel.arrow(170, 113, 210, 113)
    panel.text(190, 105, "m, ℓ", anchor="middle")
    panel.rect(216, 94, 28, 38, GREEN, SOLID)
    panel.text(260, 118, "O", anchor="middle")
    panel.rect(18, 162, 262, 26, GREY, PALE, radius=4)
    panel.text(149, 180, "global memory", anchor="middle")
    panel.arrow(62, 160, 62, 136)
    panel.arrow(230, 134, 230, 158)


@figure("chapters")
def chapters():
    whole = Figure(3 * WIDTH + 2 * GAP + 2, 2 * HEIGHT + GAP + 2,
                   "The six chapters: naive matmul, tiled matmul, masked batch product, softmax, unfused attention, "
                   "flash attention")
    for draw in (naive, tiled, masked, softmax, unfused, flash):
        draw(whole)
    return whole


# The boxes of the road: what stands in one, and how wide it is.
ROAD = [("00", "first kernel", 98), ("00", "time, bytes", 98), ("01", "naive", 84), ("02", "tiled", 132), ("03", "masked", 120),
        ("04", "softmax", 112), ("05", "unfused", 132), ("06", "flash", 132)]


def parts_of(chapter):
    """A chapter's parts as (name, the step that it goes on from, how deep): each below the part that it goes on from."""
    after = {part: project.step_before(chapter / part) for part in project.parts(chapter)}

    def below(place, depth):
        for part, (folder, step) in after.items():
            if folder == place:
                yield part, step.name, depth
                yield from below(chapter / part, depth + 1)
    return list(below(chapter, 0))


@figure("road")
def road():
    """The parts come from the headers, which say what each goes on from."""
    chapters = {chapter.name[:2]: chapter for chapter in project.chapters()}
    columns = [(number, name, width, parts_of(chapters[number]) if number in chapters else [])
               for number, name, width in ROAD]
    whole = Figure(sum(width for _, _, width, _ in columns) + 10 * (len(columns) - 1) + 2,
                   130 + 44 * max(len(parts) for *_, parts in columns),
                   "The road from 00 to 06; below each chapter its parts, each with the step that it goes on from")
    whole.text(1, 16, "The road", 14, bold=True)
    whole.text(1, 118, "Parts: each goes on from the step below its name", 14, bold=True)
    x = 1
    for i, (number, name, width, parts) in enumerate(columns):
        whole.rect(x, 28, width, 52, BLUE, PALE, 1.2, 6)
        whole.text(x + width / 2, 50, number, 15, anchor="middle", bold=True)
        whole.text(x + width / 2, 69, name, 13, anchor="middle")
        if i:
            whole.arrow(x - 10, 54, x - 1, 54)
        for row, (part, step, depth) in enumerate(parts):
            left, top = x + 14 * depth, 132 + 44 * row
            whole.rect(left, top, width - 14 * depth, 38, GREY, FAINT, 1, 5)
            whole.text(left + 8, top + 16, part, 13)
            whole.text(left + 8, top + 31, step, 11, code=True)
        x += width + 10
    return whole
