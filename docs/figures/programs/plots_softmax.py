"""Chapter 04: how fast each step is beside a copy, over the length of a row."""
from plots import Axis, Plot, rows
from results import milliseconds
from style import BLUE, GREEN, GREY, ORANGE, PALE, PINK, PURPLE, RED, TEAL, Figure, figure

OF_PART = ("row_in_shared", "cluster", "half_in_registers", "any_row")  # long_rows


def percents(step):
    """(columns, percent of the copy's speed at the same size), by columns."""
    name = "04_long_rows" if step in OF_PART else "04"
    copies = {row["options"]: milliseconds(row) for row in rows(name, step="plain copy of x")}
    return sorted((int(row["options"].split()[-1]), 100 * copies[row["options"]] / milliseconds(row))
                  for row in rows(name, step=step))


# By step: its color, its dashes, the columns where it has a way of its own (elsewhere it calls another step), and
# where its label stands: at which point, and how far from it.
CURVES = {
    "1 thread_per_row": (RED, "", (0, 1e9), dict(dy=-10)),
    "2 block_per_row": (ORANGE, "", (0, 1e9), dict(dy=4)),
    "3 online": (PURPLE, "", (0, 1e9), dict(dy=-6)),
    "torch.softmax": (GREY, "5 4", (0, 1e9), dict()),
    "4 row_on_chip": (BLUE, "", (0, 32768), dict(at=0, dx=62, dy=-84)),
    "5 warp_per_row": (GREEN, "", (0, 1024), dict(at=0, dx=2, dy=-14)),
    "row_in_shared": (PINK, "", (0, 50257), dict(at=-2, dx=-4, dy=20, anchor="end")),
    "cluster": (TEAL, "", (32769, 1e9), dict()),
}


@figure("04_bandwidth")
def bandwidth():
    series = {name: percents(name.split()[-1]) for name in CURVES}
    best = percents("any_row")
    ends = "; ".join(f"{name} {points[0][1]:.0f} % at {points[0][0]} columns and {points[-1][1]:.0f} % at {points[-1][0]}"
                     for name, points in [*series.items(), ("any_row", best)])
    f = Figure(760, 400, "Speed of each step as a percentage of a plain copy's, over the columns of a row: " + ends)
    plot = Plot(f, 44, 36, 570, 310, Axis(128, 131072, log=True), Axis(0, 110))
    plot.y_axis("speed as % of a plain copy of the same matrix, H200", [0, 20, 40, 60, 80, 100])
    plot.x_axis("columns of a row, where the matrix has 67 million elements",
                [128, 512, 1024, 4096, 16384, 32768, 65536, 131072], str)
    edge = [f"{plot.x(x):.1f} {plot.y(y) - 6:.1f}" for x, y in best]
    edge += [f"{plot.x(x):.1f} {plot.y(y) + 6:.1f}" for x, y in reversed(best)]
    f.path("M" + "L".join(edge) + "z", GREY, 0, fill=PALE)
    f.text(plot.x(4096), plot.y(best[3][1]) - 17, "any_row: the wide band", 12, GREY, "middle", True)
    f.line(plot.x(50257), plot.y(110), plot.x(50257), plot.y(0), width=0.7, dash="2 4")
    f.text(plot.x(50257) - 5, plot.y(9), "50257", 11, anchor="end")
    for name, (color, dash, (low, high), label) in CURVES.items():
        plot.curve([point for point in series[name] if low <= point[0] <= high], color, name, dash=dash, **label)
    return f
