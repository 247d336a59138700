#!/usr/bin/env python3
"""common/tools/pages/figure_labels.py: labels that are too small or too pale, planted in drawings; figures.py fails for them."""
import os
import shutil
import subprocess
import sys
import unittest

from scratch import PROJECT, Scratch

sys.path[:0] = map(str, (PROJECT / "common/tools").glob("**/"))
import figure_labels  # noqa: E402

GREY, BLACK = "#78808a", "#000000"
DARK = "<style>@media (prefers-color-scheme: dark){{{}}}</style>"
# Black words, and where a page is dark, white ones.
WHITE_WORDS = f'text[fill="{BLACK}"]{{fill:#ffffff}}'
BOTH = DARK.format(WHITE_WORDS)
# A page of the figure's own.
PAGE = '<rect width="200" height="100" fill="#ffffff"/>'


def label(words="a", x=50, y=50, size=12, fill=BLACK, more=""):
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}"{more}>{words}</text>'


def rect(x, y, width, height, fill, more=""):
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}"{more}/>'


class Labels(unittest.TestCase):
    def says(self, *parts):
        return figure_labels.problems(f'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100">{"".join(parts)}</svg>')

    def test_contrast_of_colors_that_are_known(self):
        for one, other, known in ((BLACK, "#ffffff", 21), ("#777777", "#ffffff", 4.478), ("#767676", "#ffffff", 4.542)):
            found = figure_labels.contrast(figure_labels.channels(one), figure_labels.channels(other))
            self.assertAlmostEqual(found, known, delta=0.001)

    def test_a_page_is_light_or_dark(self):
        self.assertEqual(self.says(BOTH, label()), [])
        self.assertEqual(self.says(label(fill=GREY)), [
            'label "a" has contrast 3.9:1 on white', 'label "a" has contrast 4.2:1 on #1b1b1f'])
        self.assertEqual(self.says(label()), [
            'label "a" has contrast 1.1:1 on #0d1117', 'label "a" has contrast 1.2:1 on #1b1b1f'])
        self.assertEqual(self.says(label(fill="#ffffff")), ['label "a" has contrast 1.0:1 on white'])

    def test_a_page_of_its_own(self):
        self.assertEqual(self.says(PAGE, label()), [])
        self.assertEqual(self.says(PAGE, label(fill=GREY)), ['label "a" has contrast 3.9:1 on white'])
        dark = 'rect[fill="#ffffff"]{fill:#202020}'
        self.assertEqual(self.says(DARK.format(dark), PAGE, label()), ['label "a" has contrast 1.2:1 on #202020'])
        self.assertEqual(self.says(DARK.format(dark + WHITE_WORDS), PAGE, label()), [])

    def test_on_a_box(self):
        box = rect(0, 30, 100, 40, "#404040")
        self.assertEqual(self.says(PAGE, box, label()), ['label "a" has contrast 2.0:1 on #404040'])
        self.assertEqual(self.says(PAGE, label(), box), [])  # drawn later: nothing that lies under it
        self.assertEqual(self.says(PAGE, box, label(fill="#ffffff")), [])
        self.assertEqual(self.says(PAGE, box, label(x=150)), [])
        self.assertEqual(self.says(PAGE, rect(0, 30, 100, 40, "none"), label()), [])
        # Half of it shows the page; a second one lies on the first.
        half = rect(0, 30, 100, 40, "#202020", ' fill-opacity="0.5"')
        self.assertEqual(self.says(PAGE, half, label()), [])
        self.assertEqual(self.says(PAGE, half, half, label()), ['label "a" has contrast 2.9:1 on #585858'])
        self.assertEqual(self.says(PAGE, half, label(fill="#ffffff")), ['label "a" has contrast 3.2:1 on #909090'])

    def test_a_label_that_reaches_over_a_boxs_edge(self):
        box = rect(50, 30, 20, 40, BLACK)
        for anchor, x in (("start", 40), ("middle", 50), ("end", 80)):
            self.assertEqual(len(self.says(PAGE, box, label("aaaaaa", x, more=f' text-anchor="{anchor}"'))), 1, anchor)
        for anchor, x in (("start", 75), ("middle", 95), ("end", 45)):
            self.assertEqual(self.says(PAGE, box, label("aaaaaa", x, more=f' text-anchor="{anchor}"')), [], anchor)

    def test_other_shapes(self):
        for shape in (f'<circle cx="50" cy="50" r="9" fill="{BLACK}"/>', f'<path d="M40 40H70v20L40 60z" fill="{BLACK}"/>',
                      f'<g transform="translate(30 20)"><rect width="40" height="40" fill="{BLACK}"/></g>'):
            self.assertEqual(self.says(PAGE, shape, label()), ['label "a" has contrast 1.0:1 on #000000'], shape)
            self.assertEqual(self.says(PAGE, shape, label(x=90)), [], shape)
        self.assertEqual(self.says(PAGE, f'<circle cx="40" cy="36" r="9" fill="{BLACK}"/>', label()), [])

    def test_size(self):
        self.assertEqual(self.says(BOTH, label(size=11)), [])
        self.assertEqual(self.says(BOTH, label(size=9)), ['label "a" is 9 px'])
        self.assertEqual(self.says(BOTH, label("b c", size=10.5)), ['label "b c" is 10.5 px'])
        for transform in ("scale(0.5)", "translate(3 4) scale(0.5 0.5)", "matrix(0.5 0 0 0.5 9 9)", "rotate(-90 50 50) scale(.5)"):
            self.assertEqual(self.says(BOTH, f'<g transform="{transform}">', label(size=18), "</g>"), ['label "a" is 9 px'])
        self.assertEqual(self.says(BOTH, label(more=' transform="rotate(-90 50 50)"')), [])
        self.assertEqual(self.says(BOTH, '<g font-size="9"><text x="9" y="9" fill="#000000">a</text></g>'), ['label "a" is 9 px'])

    def test_what_is_not_known_is_no_silence(self):
        for part in ("<ellipse/>", label(fill="grey"), '<path d="M0 0C1 1 2 2 3 3" fill="#000000"/>',
                     label(more=' transform="skewX(9)"')):
            with self.assertRaises(ValueError, msg=part):
                self.says(part)


class Figures(Scratch):
    def test_a_figure_with_such_a_label_fails(self):
        programs = self.root / "docs/figures/programs"
        programs.mkdir(parents=True)
        shutil.copy(PROJECT / "docs/figures/programs/style.py", programs)
        for size, said in ((11, ""), (9.5, 'one.svg: label "a word" is 9.5 px\n')):
            (programs / "chapter01.py").write_text(
                "from style import Figure, figure\n\n\n@figure('one')\ndef one():\n    f = Figure(90, 40, 'One')\n"
                f"    f.text(5, 20, 'a word', {size})\n    return f\n")
            for word in ("--update", None):
                ran = subprocess.run([sys.executable, "common/tools/pages/figures.py", *([word] if word else [])],
                                     cwd=self.root, capture_output=True, text=True,
                                     env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
                self.assertEqual((ran.returncode, ran.stderr), (1 if said else 0, said))


if __name__ == "__main__":
    unittest.main()
