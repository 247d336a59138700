"""Plots of recorded results: axes, lines, points and bars, drawn with style.py. Words stand at what they name; only a
ladder's purple bars have a legend, below them."""
import math

import results
from style import GREY, HALF, PURPLE, TEXT, Figure


def rows(name, options="", **wanted):
    """What was measured of a set of sizes (common/tools/measure/sizes.py), at options that begin so, whose columns have these
    values."""
    return [row for row in results.times(name, options) if row["median_ms"]
            and all(row[key] == value for key, value in wanted.items())]


def plain(value):
    """12345 -> 12 k, 0.5 -> 0.5: short, for an axis."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g} {letter}"
    return f"{value:g}"


class Axis:
    """From values to pixels: low … high lies at first … last."""

    def __init__(self, low, high, log=False):
        self.low, self.high, self.log = low, high, log

    def part(self, value):
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


class Plot:
    """Axes in a figure. x, y: the upper left corner of the area between them."""

    def __init__(self, figure: Figure, x, y, width, height, across: Axis, up: Axis):
        self.figure, self.left, self.top, self.width, self.height = figure, x, y, width, height
        self.across, self.up = across, up

    def x(self, value):
        return self.left + self.width * self.across.part(value)

    def y(self, value):
        return self.top + self.height * (1 - self.up.part(value))

    def x_axis(self, label, ticks, text=plain):
        bottom = self.top + self.height
        self.figure.line(self.left, bottom, self.left + self.width, bottom, width=1)
        for tick in ticks:
            self.figure.line(self.x(tick), bottom, self.x(tick), bottom + 4, width=1)
            self.figure.text(self.x(tick), bottom + 17, text(tick), 11, anchor="middle")
        self.figure.text(self.left + self.width / 2, bottom + 36, label, 12, anchor="middle")

    def y_axis(self, label, ticks, text=plain):
        """Its label stands above it, level: nobody has to turn the head."""
        for tick in ticks:
            self.figure.line(self.left, self.y(tick), self.left + self.width, self.y(tick), width=0.5, dash="2 4")
            self.figure.text(self.left - 7, self.y(tick), text(tick), 11, anchor="end", middle=True)
        self.figure.text(self.left - 30, self.top - 12, label, 12)

    def curve(self, points, color, label="", dots=True, width=2, dash="", at=-1, dx=8, dy=0, anchor="start"):
        """A line through (x, y) points; its label stands beside the point number `at`."""
        places = [(self.x(x), self.y(y)) for x, y in points]
        self.figure.path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places), color, width, dash)
        for x, y in places if dots else []:
            self.figure.dot(x, y, color)
        if label:
            self.figure.text(places[at][0] + dx, places[at][1] + dy, label, 12, color, anchor, bold=True, middle=True)

    def point(self, x, y, color, label="", dx=8, dy=0, anchor="start", ring=False):
        """A dot, or a ring that leaves a dot in it to be seen."""
        if ring:
            self.figure.path(f"M{self.x(x) - 7:.1f} {self.y(y):.1f}a7 7 0 1 0 14 0a7 7 0 1 0 -14 0", color, 2)
        else:
            self.figure.dot(self.x(x), self.y(y), color, 4.5)
        if label:
            self.figure.text(self.x(x) + dx, self.y(y) + dy, label, 12, color, anchor, middle=True)


def bars(figure, x, y, width, many, whole=100.0, unit=" %"):
    """Horizontal bars, a line each: (label, value, text at the end of the line, color). `whole` is the yardstick's
    value, a line from top to bottom. A line below says what purple bars are. Returns the height."""
    left, row = x + 140, 24
    scale = (width - 290) / max([whole, *(value for _, value, _, _ in many)])
    for i, (label, value, text, color) in enumerate(many):
        middle = y + i * row + row / 2 - 2
        figure.text(left - 8, middle, label, 12.5, TEXT, "end", middle=True)
        figure.rect(left, y + i * row + 2, max(value * scale, 1), row - 8, color, HALF, 0, 2)
        figure.text(x + width, middle, text, 12, TEXT, "end", middle=True)
    figure.line(left + whole * scale, y - 4, left + whole * scale, y + row * len(many), GREY, 1.2, "4 3")
    figure.text(left + whole * scale, y + row * len(many) + 14, f"{whole:g}{unit}", 11, TEXT, "middle")
    if any(color == PURPLE for *_, color in many):
        figure.text(x, y + row * len(many) + 14, "purple: parts, off the road", 12, PURPLE)
    return row * len(many) + 20


def ladder(title, note, many, whole=100.0, unit=" %", width=760):
    """Bars under a heading."""
    figure = Figure(width, 54 + 24 * len(many) + 20, title)
    figure.text(10, 22, note, 13, bold=True)
    bars(figure, 10, 44, width - 20, many, whole, unit)
    return figure
