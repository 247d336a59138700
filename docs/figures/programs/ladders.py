"""Each chapter's steps beside the vendor's routine, from docs/results."""
import project
from page_tables import digits
from plots import ladder, rows
from results import milliseconds
from sizes import ATTENTION, CAUSAL, PRODUCT, ROWS, UNFUSED
from style import BLUE, GREEN, GREY, HALF, ORANGE, PURPLE, Figure, figure


def bars_of(name, options, yardstick, extra=(), color=BLUE):
    """A bar a step: its speed as a percentage of the yardstick's."""
    found = rows(name, options)
    whole = next(milliseconds(row) for row in found if row["step"] == yardstick)
    bars = []
    for row in found:
        kind, name = row["kind"], row["step"]
        if kind not in ("step", "vendor", "pytorch") and name not in extra:
            continue
        steps = [other["step"] for other in found if other["kind"] == "step"]
        label = f"{steps.index(name) + 1} {name}" if kind == "step" else name
        percent = 100 * whole / milliseconds(row)
        text = f"{percent:.{0 if percent >= 9.95 else 1}f} %   {digits(milliseconds(row))} ms"
        bars.append((label, percent, text, color if kind == "step" else GREY))
    return bars


def of_steps(name, options, yardstick, note, extra=(), color=BLUE):
    bars = bars_of(name, options, yardstick, extra, color)
    title = note + ": " + ", ".join(f"{label} {value:.0f} %" for label, value, _, _ in bars)
    return ladder(title, note, bars)


@figure("01_ladder")
def naive():
    return of_steps("01", PRODUCT, "cuBLAS", "4096×4096×4096, fp32, H200: speed beside cuBLAS")


def tiled_bars():
    """Chapter 02: the road, then the steps of both parts in fp32, then the libraries."""
    road = bars_of("02", PRODUCT, "cuBLAS")
    beside = [(label.split()[-1], *others, PURPLE) for part in ("faster", "any_shape")
              for label, *others, color in bars_of(f"02_{part}", PRODUCT, "cuBLAS") if color == BLUE]
    last = sum(color == BLUE for *_, color in road)
    return [*road[:last], *beside, *road[last:]]


@figure("02_ladder")
def tiled():
    bars, note = tiled_bars(), "4096×4096×4096, fp32, H200: speed beside cuBLAS"
    return ladder(note + ": " + ", ".join(f"{label} {value:.0f} %" for label, value, _, _ in bars), note, bars)


def masked(name):
    names = {"torch.bmm": "torch bmm, no mask", "torch.bmm + masked_fill": "torch + masked_fill",
             "torch.bmm + masked_fill_": "torch + masked_fill_"}
    found = [row for row in rows(name, CAUSAL) if row["kind"] in ("step", "vendor") or row["step"] in names]
    whole = next(milliseconds(row) for row in found if row["kind"] == "vendor")
    bars, steps = [], 0
    for row in found:
        steps += row["kind"] == "step"
        label = f"{steps} {row['step']}" if row["kind"] == "step" else names.get(row["step"], row["step"])
        percent = 100 * whole / milliseconds(row)
        bars.append((label, percent, f"{percent:.0f} %   {milliseconds(row):.3g} ms",
                     GREEN if row["kind"] == "step" else GREY))
    note = "128 × (1024×64 · 64×1024), causal, fp32, H200: speed beside cuBLAS + fill"
    return ladder(note + ": " + ", ".join(f"{label} {value:.0f} %" for label, value, _, _ in bars), note, bars)


@figure("03_ladder")
def masked_road():
    return masked("03")


@figure("03_block_lists_ladder")
def masked_lists():
    return masked("03_block_lists")


@figure("04_ladder")
def softmax():
    return of_steps("04", ROWS, "plain copy of x",
                    "16384 rows of 4096 columns, fp32, H200: speed beside a plain copy", extra=("plain copy of x",),
                    color=GREEN)


def in_columns(percent, ms):
    """Both at the end of a line; figure spaces, as wide as a digit, make the second one equally long everywhere."""
    return f"{percent:.{0 if percent >= 9.95 else 1}f} %   {digits(ms).rjust(5, chr(0x2007))} ms"


@figure("06_ladder")
def flash():
    """100 % is the last step of chapter 05's road, from its own run."""
    names = {"chapter 05": "05/strips", "torch sdpa, memory-efficient": "PyTorch, fused"}
    found = [row for row in rows("06", ATTENTION) if row["kind"] in ("step", "vendor", "pytorch")]
    before = next(row for row in rows("05", UNFUSED) if row["step"] == "row_in_registers")
    beside = [row for part in ("06_faster", "06_any_shape") for row in rows(part, ATTENTION, kind="step")]
    road = [row for row in found if row["kind"] == "step"]
    whole, bars = milliseconds(before), []
    for row in [*road, *beside, before, *found[len(road):]]:
        name, ms = row["step"], milliseconds(row)
        label = project.step_label(project.chapter("06"), name, len(bars) + 1) if row in road else names.get(name, name)
        bars.append(("05, its last step" if row is before else label, 100 * whole / ms, in_columns(100 * whole / ms, ms),
                     GREEN if row in road else PURPLE if row in beside else GREY))
    note = "8×12 heads, 1024 tokens, head size 64, causal, fp32, H200: speed beside chapter 05's last step"
    figure = ladder(note + ": " + ", ".join(f"{label} {value:.0f} %" for label, value, _, _ in bars), note, bars)
    figure.text(10, figure.height, "own_keys, group_rows and split_keys are for few queries: here there are many", 12, PURPLE)
    figure.height += 10
    return figure


def attention_times(options, name="05"):
    """Chapter 05 at exactly these options: milliseconds by step and by stage."""
    return {row["step"].split(" (")[0]: milliseconds(row) for row in rows(name) if row["options"] == options}


@figure("05_ladder")
def unfused():
    """100 % are both products alone, as cuBLAS computes them: all else is what the pipeline adds."""
    found, halved = attention_times(UNFUSED), attention_times(UNFUSED, "05_strips")
    products, bars = found["scores"] + found["values"], []
    for label, ms, color in (
            ("1 unfused", found["unfused"], GREEN), ("2 fused_softmax", found["fused_softmax"], GREEN),
            ("3 strided", found["strided"], GREEN), ("4 row_in_registers", found["row_in_registers"], GREEN),
            ("causal_strips", halved["causal_strips"], PURPLE), ("overlapped_strips", halved["overlapped_strips"], PURPLE),
            ("both products alone", products, GREY), ("PyTorch, unfused", found["torch sdpa, math"], GREY),
            ("PyTorch, fused", found["torch sdpa, memory-efficient"], GREY)):
        bars.append((label, 100 * products / ms, in_columns(100 * products / ms, ms), color))
    note = "8×12 heads, 1024 tokens, head size 64, causal, fp32, H200: speed beside cuBLAS's two products"
    return ladder(note + ": " + ", ".join(f"{label} {value:.0f} %" for label, value, _, _ in bars), note, bars)


@figure("05_time")
def where_the_time_goes():
    """Each pipeline as the sum of its stages, timed one by one."""
    figure = Figure(760, 172, "Where the time of each pipeline goes, from the times of its stages: the two products take less than"
                    " half of step 1; step 4 leaves little else than the products")
    left, scale, y = 150, 560 / 1.6, 60
    kinds = (("products", BLUE), ("scale, mask, softmax", PURPLE), ("permutes", ORANGE))
    figure.text(10, 22, "Where the time goes: stages timed one by one, ms, fp32, H200", 13, bold=True)
    x = left
    for words, color in kinds:
        figure.rect(x, 34, 12, 12, color, HALF, 0)
        figure.text(x + 18, 44, words, 12)
        x += 18 + 7 * len(words) + 20
    found = attention_times(UNFUSED)
    products = found["scores"] + found["values"]
    moved = found["permute"] + found["unpermute"]
    for label, between, around in (("1 unfused", found["scale_mask"] + found["softmax"], moved),
                                   ("2 fused_softmax", found["scale_mask_softmax"], moved),
                                   ("3 strided", found["scale_mask_softmax"], 0),
                                   ("4 row_in_registers", found["masked_softmax"], 0)):
        figure.text(left - 8, y + 9, label, 12.5, anchor="end", middle=True)
        x = left
        for (_, color), ms in zip(kinds, (products, between, around)):
            figure.rect(x, y + 2, ms * scale, 16, color, HALF, 0)
            if ms * scale > 34:
                figure.text(x + ms * scale / 2, y + 10, f"{ms:.2f}", 11, anchor="middle", middle=True)
            x += ms * scale
        figure.text(x + 8, y + 10, f"{products + between + around:.2f}", 12, middle=True)
        y += 26
    return figure
