"""How the figures of the pages look: one palette, one font, on white, or where the page is dark, on black.

A figure is a function that returns a Figure, listed by name with @figure("02_tile"). Coordinates are pixels, y down.
"""
from html import escape

FONT = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
CODE_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
# Each is as far from white as from black, about 4.3 : 1. Lines and areas have them in both.
TEXT = GREY = "#78808a"
BLUE, ORANGE, GREEN = "#3d7fc1", "#c9741b", "#3c9150"  # by custom A, B and C; Q, K and V
RED, PURPLE = "#d4504f", "#8f68c9"
TEAL, PINK = "#0f8b8d", "#c2509f"  # for a curve more
# Words need more. What these colors are in words, on white and on black: 4.5 : 1 and more, also on a PALE area, or with
# TEXT on a HALF one (common/tools/pages/figure_labels.py looks).
INK = {
    GREY: ("#353c44", "#cdd5de"), BLUE: ("#1d5590", "#86bdf5"), ORANGE: ("#824806", "#f0ad66"),
    GREEN: ("#1c602f", "#7bcb8e"), RED: ("#a52a2c", "#f89a98"), PURPLE: ("#613a9c", "#c8adf0"),
    TEAL: ("#0a5f61", "#5cc8c9"), PINK: ("#8f2f72", "#ee96d1")}
# A browser takes the dark ones where the page around the figure says that it is dark. One that does not know shows
# all on white.
PAGE, DARK_PAGE = "#ffffff", "#0d1117"
# How strongly an area is filled: the page shines through.
FAINT, PALE, HALF, SOLID = 0.10, 0.22, 0.50, 0.90

FIGURES = {}  # by the name of the .svg: the function that draws it


def figure(name):
    def add(draw):
        if name in FIGURES:
            raise ValueError(f"two figures are called {name}")
        FIGURES[name] = draw
        return draw
    return add


def number(x):
    return f"{x:.2f}".rstrip("0").rstrip(".")


class Figure:
    """`title` says in a sentence what is seen: screen readers read it out, and a page's alternative text can be it."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title = width, height, title
        self.parts, self.arrow_colors = [], []

    # ---- shapes

    def rect(self, x, y, width, height, color=GREY, fill=PALE, stroke=1.0, radius=0, dash=""):
        """A box. fill: how strongly, 0 for none; stroke: the width of its edge, 0 for none."""
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
            + (f' rx="{number(radius)}"' if radius else "")
            + (f' fill="{color}" fill-opacity="{number(fill)}"' if fill else ' fill="none"')
            + (f' stroke="{color}" stroke-width="{number(stroke)}"' if stroke else "")
            + (f' stroke-dasharray="{dash}"' if dash else "") + "/>")

    def grid(self, x, y, rows, cols, cell, color=GREY, cell_height=None, look=None, gap=1):
        """rows × cols cells. look(row, col) says how one is drawn: a color, (color, fill), (color, fill, text) or
        None for the usual."""
        height = cell_height or cell
        for row in range(rows):
            for col in range(cols):
                how = look(row, col) if look else None
                how = (how,) if isinstance(how, str) else how or ()
                c, fill, text = (*how, *(color, PALE, "")[len(how):])
                left, top = x + col * cell, y + row * height
                self.rect(left, top, cell - gap, height - gap, c, fill, 0)
                if text != "":
                    self.text(left + (cell - gap) / 2, top + (height - gap) / 2, text, 11, anchor="middle", middle=True)

    def line(self, x1, y1, x2, y2, color=GREY, width=1.5, dash="", arrow=False):
        self.path(f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", color, width, dash, arrow)

    def arrow(self, x1, y1, x2, y2, color=GREY, width=1.5, dash=""):
        self.line(x1, y1, x2, y2, color, width, dash, True)

    def path(self, d, color=GREY, width=1.5, dash="", arrow=False, fill=0):
        """Any SVG path."""
        if arrow and color not in self.arrow_colors:
            self.arrow_colors.append(color)
        self.parts.append(
            f'<path d="{d}" stroke="{color}" stroke-width="{number(width)}"'
            + (f' fill="{color}" fill-opacity="{number(fill)}"' if fill else ' fill="none"')
            + (f' stroke-dasharray="{dash}"' if dash else "")
            + (f' marker-end="url(#arrow{self.arrow_colors.index(color)})"' if arrow else "") + "/>")

    def dot(self, x, y, color=GREY, radius=3.5, fill=SOLID):
        self.parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" fill="{color}"'
                          f' fill-opacity="{number(fill)}"/>')

    def brace(self, x1, y1, x2, y2, label="", color=GREY, side=1, size=12):
        """A bracket beside what lies between two points that stand side by side, or one above the other; side 1: below
        or to the right of them, −1: above or to the left."""
        d = 6 * side
        if y1 == y2:
            self.path(f"M{number(x1)} {number(y1)}v{d}H{number(x2)}v{-d}", color, 1)
            if label:
                self.text((x1 + x2) / 2, y1 + d + (14 if side > 0 else -6), label, size, color, "middle")
        else:
            self.path(f"M{number(x1)} {number(y1)}h{d}V{number(y2)}h{-d}", color, 1)
            if label:
                self.text(x1 + d + 5 * side, (y1 + y2) / 2, label, size, color, "start" if side > 0 else "end", middle=True)

    # ---- words

    def text(self, x, y, words, size=13, color=TEXT, anchor="start", bold=False, code=False, middle=False, turn=0):
        """One line. anchor: start, middle or end. y is the line's foot, or with `middle` its middle."""
        if middle:
            y += size * 0.35
        place = f'x="{number(x)}" y="{number(y)}"'
        self.parts.append(
            f'<text {place} font-size="{number(size)}" fill="{INK[color][0]}"'
            + (f' text-anchor="{anchor}"' if anchor != "start" else "") + (' font-weight="600"' if bold else "")
            + (f' font-family="{CODE_FONT}"' if code else "")
            + (f' transform="rotate({number(turn)} {number(x)} {number(y)})"' if turn else "")
            + f' xml:space="preserve">{escape(str(words), quote=False)}</text>')

    def lines(self, x, y, many, size=13, step=None, **how):
        """Several lines, one below the other."""
        for i, words in enumerate(many):
            self.text(x, y + i * (step or size * 1.4), words, size, **how)

    def heading(self, x, y, words):
        self.text(x, y, words, 15, bold=True)

    def svg(self):
        heads = "".join(
            f'<marker id="arrow{i}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6.5" markerHeight="6.5"'
            f' orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="{color}"/></marker>'
            for i, color in enumerate(self.arrow_colors))
        dark = "".join(f'text[fill="{light}"]{{fill:{ink}}}' for light, ink in INK.values()
                       if any(f'fill="{light}"' in part for part in self.parts))
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(self.width)} {number(self.height)}"'
            f' width="{number(self.width)}" height="{number(self.height)}" role="img" font-family="{FONT}">',
            f"<title>{escape(self.title, quote=False)}</title>",
            f'<style>@media (prefers-color-scheme: dark){{rect[fill="{PAGE}"]{{fill:{DARK_PAGE}}}{dark}}}</style>',
            f'<rect width="{number(self.width)}" height="{number(self.height)}" rx="6" fill="{PAGE}"/>',
            *([f"<defs>{heads}</defs>"] if heads else []), *self.parts, "</svg>"]) + "\n"
