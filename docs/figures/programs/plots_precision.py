"""Speed beside error: the steps of chapter 05 in fp32 and with products in TF32."""
import math
import statistics

from plots import Axis, Plot, rows
from results import milliseconds
from sizes import UNFUSED
from style import BLUE, GREY, ORANGE, Figure, figure


def raised(exponent):
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def in_powers(value):
    """2.7e-4 -> 2.7·10⁻⁴"""
    exponent = math.floor(math.log10(value))
    return f"{value / 10.0 ** exponent:.1f}·{raised(exponent)}"


@figure("05_precision")
def precision():
    found = {name: [(milliseconds(row), float(row["max_error"]))
                    for row in rows("05", kind="step") if row["options"] == options]
             for name, options in (("fp32", UNFUSED), ("TF32", UNFUSED + " --tf32"))}
    saved = statistics.median(exact[0] - rounded[0] for exact, rounded in zip(*found.values()))
    f = Figure(740, 296, "Time against the largest error of the output, for chapter 05's four steps: with products in TF32"
               f" each is {saved:.2f} ms faster, and the error is some thousand times as large")
    plot = Plot(f, 92, 44, 600, 190, Axis(0, 1.9), Axis(1e-8, 1e-2, log=True))
    plot.x_axis("milliseconds, H200", [0, 0.4, 0.8, 1.2, 1.6])
    plot.y_axis("largest error of an element of the output", [10.0 ** e for e in (-8, -6, -4, -2)],
                lambda value: raised(round(math.log10(value))))
    for exact, rounded in zip(found["fp32"], found["TF32"]):
        f.line(plot.x(exact[0]), plot.y(exact[1]), plot.x(rounded[0]), plot.y(rounded[1]), GREY, 1, "3 4")
    for name, color, words in (("fp32", BLUE, "fp32"), ("TF32", ORANGE, "products in TF32")):
        for step, (ms, error) in enumerate(found[name], 1):
            plot.point(ms, error, color)
            f.text(plot.x(ms), plot.y(error) + (20 if name == "fp32" else -13), f"step {step}" if step in (1, 4) else step,
                   12, color, "middle")
        ms, error = found[name][0]
        f.text(plot.x(ms) + 30, plot.y(error), f"{words}: {in_powers(error)}", 12.5, color, bold=True, middle=True)
    return f
