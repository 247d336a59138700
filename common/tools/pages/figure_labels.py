"""Can a figure's labels be read? Says of those that are too small, or too little unlike what lies under them, on a page
that is light and on one that is dark."""
import functools
import math
import re
import xml.etree.ElementTree as ElementTree

LEAST_SIZE = 11  # pixels
LEAST_CONTRAST = 4.5  # what the Web Content Accessibility Guidelines 2.2 ask for at 1.4.3
# The pages that a figure may stand on: a light one, the code host's dark one, the site's.
PAGES = {"#ffffff": "light", "#0d1117": "dark", "#1b1b1f": "dark"}

SVG = "{http://www.w3.org/2000/svg}"
DARK = re.compile(r"@media \(prefers-color-scheme: dark\) *\{((?:[^{}]*\{[^{}]*\})*)\s*\}")
RULE = re.compile(r'(\w+)\[fill="([^"]*)"\] *\{ *fill: *(#[0-9a-f]{6});? *\}')


@functools.lru_cache(maxsize=None)
def channels(color):
    if not re.fullmatch("#[0-9a-f]{6}", color):
        raise ValueError(f"{color} is no color of the form #rrggbb")
    return [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]


def contrast(one, other):
    def luminance(color):
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def over(color, opacity, ground):
    return [opacity * a + (1 - opacity) * b for a, b in zip(color, ground)]


# ---- places: a matrix (a, b, c, d, e, f) sends (x, y) to (ax + cy + e, bx + dy + f)

def sent(matrix, x, y):
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def after(outer, inner):
    (a, b), (c, d), (e, f) = sent(outer, *inner[:2]), sent(outer, *inner[2:4]), sent(outer, *inner[4:])
    return a - outer[4], b - outer[5], c - outer[4], d - outer[5], e, f


def back(matrix, x, y):
    """The point that the matrix sends to (x, y)."""
    a, b, c, d, e, f = matrix
    x, y, whole = x - e, y - f, a * d - b * c
    return (d * x - c * y) / whole, (a * y - b * x) / whole


def matrix_of(transform):
    matrix = (1, 0, 0, 1, 0, 0)
    for name, words in re.findall(r"(\w+)\(([^)]*)\)", transform):
        n = [float(word) for word in re.split(r"[\s,]+", words.strip())]
        if name == "matrix":
            one = [tuple(n)]
        elif name == "translate":
            one = [(1, 0, 0, 1, *n, 0)[:6]]
        elif name == "scale":
            one = [(n[0], 0, 0, n[-1], 0, 0)]
        elif name == "rotate":
            sine, cosine = math.sin(math.radians(n[0])), math.cos(math.radians(n[0]))
            x, y = n[1:] or (0, 0)
            one = [(1, 0, 0, 1, x, y), (cosine, sine, -sine, cosine, 0, 0), (1, 0, 0, 1, -x, -y)]
        else:
            raise ValueError(f"transform=\"{name}(…)\" is not known here")
        for each in one:
            matrix = after(matrix, each)
    return matrix


# ---- what is drawn

def corners(path):
    """The corners of a filled path, which may have straight sides only."""
    found, x, y = [], 0.0, 0.0
    for letter, words in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        n = [float(word) for word in re.findall(r"-?[\d.]+", words)]
        if letter not in "MLHVhvZz":
            raise ValueError(f"a filled path has a side '{letter}', and only straight ones are known here: {path}")
        for i in range(0, len(n), 2 if letter in "ML" else 1):
            if letter in "ML":
                x, y = n[i:i + 2]
            elif letter in "Hh":
                x = n[i] + (x if letter == "h" else 0)
            else:
                y = n[i] + (y if letter == "v" else 0)
            found.append((x, y))
    return found


class Shape:
    """A filled area: a circle, or one with these corners."""

    def __init__(self, tag, element, matrix):
        self.tag, self.fill, self.matrix = tag, element.get("fill", "#000000"), matrix
        self.opacity = float(element.get("fill-opacity", 1)) * float(element.get("opacity", 1))
        self.radius = None
        if tag == "path":
            self.corners = corners(element.get("d"))
        elif tag == "rect":
            left, top, width, height = (float(element.get(name, 0)) for name in ("x", "y", "width", "height"))
            self.corners = [(left, top), (left + width, top), (left + width, top + height), (left, top + height)]
        else:
            self.x, self.y, r = (float(element.get(name, 0)) for name in ("cx", "cy", "r"))
            self.radius = r
            self.corners = [(self.x + i * r, self.y + j * r) for i in (-1, 1) for j in (-1, 1)]
        places = [sent(matrix, x, y) for x, y in self.corners]
        self.left, self.right = min(x for x, _ in places), max(x for x, _ in places)
        self.top, self.bottom = min(y for _, y in places), max(y for _, y in places)

    def has(self, x, y):
        if not (self.left <= x <= self.right and self.top <= y <= self.bottom):
            return False
        x, y = back(self.matrix, x, y)
        if self.radius is not None:
            return math.hypot(x - self.x, y - self.y) <= self.radius
        inside = False
        for (x1, y1), (x2, y2) in zip(self.corners, self.corners[1:] + self.corners[:1]):
            if (y1 > y) != (y2 > y) and x < x1 + (y - y1) / (y2 - y1) * (x2 - x1):
                inside = not inside
        return inside


class Label:
    def __init__(self, element, matrix, font_size):
        self.words = "".join(element.itertext())
        self.fill, self.opacity = element.get("fill", "#000000"), float(element.get("fill-opacity", 1))
        self.size = font_size * math.sqrt(abs(matrix[0] * matrix[3] - matrix[1] * matrix[2]))
        # Points on its letters, which are about so wide.
        x, y, width = float(element.get("x", 0)), float(element.get("y", 0)), 0.55 * font_size * len(self.words)
        x -= width * {"middle": 0.5, "end": 1}.get(element.get("text-anchor"), 0)
        self.points = [sent(matrix, x + width * (i + 0.5) / len(self.words), y - up * font_size)
                       for i in range(len(self.words)) for up in (0.1, 0.6)]


def drawn(element, matrix=(1, 0, 0, 1, 0, 0), font_size=16.0):
    """The filled areas and the labels, in the order in which they are painted."""
    tag = element.tag.replace(SVG, "")
    if tag in ("defs", "title", "style"):
        return
    matrix, font_size = after(matrix, matrix_of(element.get("transform", ""))), float(element.get("font-size", font_size))
    if tag in ("svg", "g"):
        for child in element:
            yield from drawn(child, matrix, font_size)
    elif tag == "text":
        if "".join(element.itertext()).strip():
            yield Label(element, matrix, font_size)
    elif tag in ("rect", "circle", "path"):
        if element.get("fill") != "none":
            yield Shape(tag, element, matrix)
    else:
        raise ValueError(f"<{tag}> is not known here")


def worst(label, stacks, page, colors):
    """The least contrast of one of its letters with what lies there, and what lies there."""
    found = []
    for stack in stacks:
        ground = page
        for shape in stack:
            ground = over(channels(colors.get((shape.tag, shape.fill), shape.fill)), shape.opacity, ground)
        ink = over(channels(colors.get(("text", label.fill), label.fill)), label.opacity, ground)
        found.append((contrast(ink, ground), "#" + "".join(f"{round(255 * part):02x}" for part in ground)))
    return min(found)


def problems(svg):
    """A sentence for each."""
    dark = {(tag, fill): color for rules in DARK.findall(svg) for tag, fill, color in RULE.findall(rules)}
    shapes, said = [], []
    for thing in drawn(ElementTree.fromstring(svg)):
        if isinstance(thing, Shape):
            shapes.append(thing)
            continue
        if thing.size < LEAST_SIZE - 0.005:
            said.append(f'label "{thing.words}" is {thing.size:.3g} px')
        stacks = {tuple(shape for shape in shapes if shape.has(*point)) for point in thing.points}
        for page, colors in PAGES.items():
            least, ground = worst(thing, stacks, channels(page), dark if colors == "dark" else {})
            if least < LEAST_CONTRAST:
                said.append(f'label "{thing.words}" has contrast {math.floor(10 * least) / 10}:1 on '
                            + ground.replace("#ffffff", "white"))
    return list(dict.fromkeys(said))
