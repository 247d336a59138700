"""Every step of every chapter under the roofline of the device, from docs/results."""
import results
from plots import Axis, Plot, rows
from results import milliseconds
from sizes import ATTENTION, CAUSAL, PRODUCT, ROWS, UNFUSED
from style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, TEXT, Figure, figure

# Chapter, sets of sizes (of the road, then of parts), the size, color, where its name stands beside the highest point.
PROBLEMS = [
    ("01", "01", PRODUCT, GREY, (8, 0)),
    ("02", "02 02_faster 02_any_shape", PRODUCT, BLUE, (8, 0)),
    ("03, causal", "03 03_block_lists", CAUSAL, ORANGE, (8, 0)),
    ("04", "04 04_long_rows", ROWS, PURPLE, (8, 4)),
    ("05, rings", "05", UNFUSED, RED, (-10, 10)),
    ("06", "06 06_faster 06_any_shape", ATTENTION, GREEN, (8, -6)),
]
RINGS = "05, rings"  # around points of chapter 06, which has the same problem


def steps(sets, size):
    """(FLOP per byte, TFLOP/s) of each step."""
    return [(float(row["flop"]) / float(row["bytes"]), float(row["flop"]) / milliseconds(row) / 1e9)
            for name in sets.split() for row in rows(name, kind="step") if row["options"] == size]


def ceiling(key):
    """TFLOP/s or TB/s, as a program measured them."""
    return next(float(row["value"]) for row in results.table("device") if row["key"] == key)


@figure("roofline")
def roofline():
    peak, copy = ceiling("fp32 peak"), ceiling("copy")
    figure = Figure(760, 430, f"Roofline of an H200: {copy:.2f} TB/s and {peak:.0f} TFLOP/s. Each chapter's problem is "
                              "a column of points, one a step, that climbs towards the roof")
    plot = Plot(figure, 70, 40, 620, 330, Axis(0.25, 2000, log=True), Axis(0.05, 200, log=True))
    plot.y_axis("TFLOP/s", [0.1, 1, 10, 100])
    plot.x_axis("FLOP per byte that must move at least", [0.25, 1, 4, 16, 64, 256, 1024], text=lambda x: f"{x:g}")
    ridge = peak / copy
    plot.curve([(0.25, copy * 0.25), (ridge, peak), (2000, peak)], TEXT, dots=False)
    figure.text(plot.x(1.9), plot.y(copy * 1.9) - 12, f"copy, {copy:.2f} TB/s", 12, anchor="end")
    figure.text(plot.x(60), plot.y(peak) - 4, f"multiply-adds, {peak:.0f} TFLOP/s", 12, anchor="middle")
    figure.line(plot.x(ridge), plot.y(peak), plot.x(ridge), plot.y(0.05), GREY, 1, "2 5")
    figure.text(plot.x(ridge) - 6, plot.y(0.06), f"ridge, {ridge:.1f}", 12, anchor="end")
    for name, sets, size, color, (dx, dy) in PROBLEMS:
        points = steps(sets, size)
        xs = points[0][0]
        low, high = min(y for _, y in points), max(y for _, y in points)
        figure.line(plot.x(xs), plot.y(low), plot.x(xs), plot.y(high), color, 1)
        for _, y in points:
            plot.point(xs, y, color, ring=name == RINGS)
        figure.text(plot.x(xs) + dx, plot.y(high) + dy, name, 12, color, "start" if dx > 0 else "end", bold=True,
                    middle=True)
    return figure
