"""A ladder's last step beside the library at random shapes: a dot a shape, from small to large."""
import random_shapes
import results
from plots import Axis, Plot
from style import BLUE, GREEN, GREY, Figure, figure


def scatter(ladder, what):
    rows = [row for row in results.table("random") if row["ladder"] == ladder]
    mean, low = random_shapes.mean(rows), random_shapes.tenth_percentile(rows)
    f = Figure(760, 380, f"The speed of {what} beside the library at {len(rows)} random shapes, over the time that the library takes. "
                         f"The mean is {mean:.2f}, and nine in ten have at least {low:.2f}.")
    times = [1000 * float(row["library_ms"]) for row in rows]
    plot = Plot(f, 52, 40, 580, 280, Axis(min(times) * 0.9, max(times) * 1.1, log=True), Axis(0.4, 2.5, log=True))
    plot.y_axis(f"speed beside {'cuBLAS' if ladder.startswith('02') else 'the faster of PyTorch’s'}: 2 is twice as fast, H200", [0.5, 0.7, 1, 1.4, 2], lambda x: f"{x:g}")
    plot.x_axis("what the library takes, in microseconds", [x for x in (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
                                                       if plot.across.low <= x <= plot.across.high], lambda x: f"{x:g}")
    f.line(plot.left, plot.y(1), plot.left + plot.width, plot.y(1), GREY, 1.5)
    for row, time in zip(rows, times):
        ratio = min(2.5, max(0.4, random_shapes.ratio(row)))
        f.dot(plot.x(time), plot.y(ratio), BLUE, 3, 0.5)
    for value, label in ((mean, f"mean {mean:.2f}"), (low, f"nine in ten: {low:.2f}")):
        f.line(plot.left, plot.y(value), plot.left + plot.width, plot.y(value), GREEN, 1, "5 4")
        f.text(plot.left + plot.width + 8, plot.y(value), label, 12, GREEN, middle=True)
    return f


@figure("02_few_rows_random")
def few_rows():
    return scatter("02/few_rows", "part few_rows' last step")


@figure("02_any_shape_random")
def any_shape():
    return scatter("02/any_shape", "part any_shape's last step")


@figure("06_any_shape_random")
def attention_fp32():
    return scatter("06/any_shape", "part any_shape's by_shape")


@figure("06_few_queries_random")
def attention_bf16():
    return scatter("06/few_queries", "part few_queries' last step")


@figure("06_backward_random")
def gradients_bf16():
    return scatter("06/backward_tensor_cores", "part backward_tensor_cores' by_shape")
