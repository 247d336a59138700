#!/usr/bin/env python3
"""common/tools/pages/pages.py in a project of a few pages: what it fills in, and what it says of a page that is not as it
should be."""
import subprocess
import sys
import unittest

from scratch import PROJECT, Scratch

sys.path[:0] = map(str, (PROJECT / "common/tools").glob("**/"))
import page_budget  # noqa: E402
import page_claims  # noqa: E402
import page_headers  # noqa: E402
import page_outputs  # noqa: E402
import page_rules  # noqa: E402
import page_values  # noqa: E402

TIMES = """\
sizes,chapter,step,kind,median_ms,of_bound,flop,bytes,options
01,01,one,step,273.843887,0.00761,1e9,2e6,--m 4 --n 4
01,01,"two, later",step,0.03,,1e9,2e6,--m 4 --n 4
01,01,vendor's,vendor,2.6819,0.8,1e9,2e6,--m 4 --n 4
01,01,inside,stage,1.5,,,,--m 4 --n 4
01,01,one,step,,,,,--m 8
01,01,vendor's,vendor,10.04,0.8,1e9,2e6,--m 8
01,01,one,step,7.04,,,,--m 8 --n 2 --full
01,01,one,step,5.04,,,,--m 8 --n 2
01_p,01/p,apart,step,9.994,,,,--m 8
03,03,one,step,1,0.5,1e6,2e6,--m 1 --n 4
03,03,vendor's,vendor,1,0.5,1e6,2e6,--m 1 --n 4
03,03,one,step,2,0.25,6.4e7,2e6,--m 64 --n 4
"""
FIGURES = """\
chapter,options,kernel,ns,ffma,shared_loads,shared_load_passes,load_conflicts,store_conflicts,lanes,barrier
01_a,--m 4,k,2500000,64,2,1,99999,0,31.96,0.5
01_a,--m 4 --n 4,one_kernel,2500000,64,2,1,99999,0,31.96,0.5
01_a,--m 8 --kernel far,l,16720000,0,2,1,99999,1,32,12.34
02_b,--m 8,other,1,1,1,1,1,1,1,1
"""
VARIANTS = """\
experiment,size,variant,value,of_cublas
copies,4×4,a,0.305,
copies,4×4,b,0.275,0.9
"""
REGISTERS = """\
source,kernel,sm_90a
01_a/step1_one.cu,tutorial::a::(anonymous namespace)::one_kernel<tutorial::a::Tile<4> >,120/8/4
01_a/p/step1_one.cu,tutorial::a::p::one_kernel<2>,30/0/0
"""
SANITIZERS = """\
tests,step,mistake,check,tool,said
01,,a,race,memcheck,no
01,,a,race,racecheck,line
01,,b,race,memcheck,timeout
01,,b,race,racecheck,yes
02,,a,init,memcheck,no
02,one,,,memcheck,0
"""
TABLES = """\
# A
<!-- times from 01 -->

| | m 4, n 4 | m 8 | m 8, n 2, full | m 8, n 2 |
|---|--:|--:|--:|--:|
| one | 274 (1.0 %) | – | 7.04 | 5.04 |
| two, later | 0.030 (8940 %) | – | – | – |
| vendor's | 2.68 (100 %) | 10.0 (100 %) | – | – |

<!-- end of table -->
<!-- times from 01 sizes 1 of one -->

| | m 4, n 4 |
|---|--:|
| one | 274 (100 %) |
| two, later | 0.030 (912813 %) |
| vendor's | 2.68 (10211 %) |

<!-- end of table -->
<!-- times from 01 sizes 1 3 of one by n, full -->

| | n 4 | n 2, full |
|---|--:|--:|
| one | 274 (100 %) | 7.04 (100 %) |
| two, later | 0.030 (912813 %) | – |
| vendor's | 2.68 (10211 %) | – |

<!-- end of table -->
<!-- times from 01_p -->

| | m 8 |
|---|--:|
| apart | 9.99 |

<!-- end of table -->
<!-- sizes from 03 of one -->

| M | FLOP per byte | ms | GFLOP/s | GB/s | bound by |
|--:|--:|--:|--:|--:|---|
| 1 | 0.500 | 1.00 | 1 | 2 | memory |
| 64 | 32.0 | 2.00 | 32 | 1 | arithmetic |

<!-- end of table -->
<!-- steps from 01 at --m 4 --n 4: lanes, barrier -->

| step | ms | of vendor's | of the bound | lanes at work | stall: barrier |
|---|--:|--:|--:|--:|--:|
| 1 one | 274 | 1.0 % | 0.8 % | 32.0 | 0.500 |
| 2 two, later | 0.030 | 8940 % | – | – | – |
| vendor's | 2.68 | 100 % | 80 % | – | – |

<!-- end of table -->
<!-- counters: ms, loads_per_ffma, passes_for_four_ffma, conflicts, barrier -->

| kernel | ms | shared loads per FFMA | passes for four FFMA | bank conflicts | stall: barrier |
|---|--:|--:|--:|--:|--:|
| `k` | 2.50 | 1.00 | 2.00 | 99999 | 0.500 |
| `one_kernel` (m 4, n 4) | 2.50 | 1.00 | 2.00 | 99999 | 0.500 |
| `l` (far, m 8) | 16.7 | – | – | 0.100 M | 12.3 |

<!-- end of table -->
It has <!--= whole(registers("one_kernel<Tile<4> >")) -->120<!--/--> registers, and <!--= local_bytes("one_kernel<Tile<4> >") -->8.00<!--/--> bytes.
"""
OF_SANITIZERS = """\
<!-- sanitizers of D -->

| check | mistakes | simulator | memcheck | racecheck | initcheck | synccheck |
|---|--:|--:|--:|--:|--:|--:|
| race | 2 | 2 | 0 | 2 | 0 | 0 |
| init | 1 | 1 | 0 | 0 | 0 | 0 |

<!-- end of table -->
"""
RECORD = """\
== sass 90a of 0123456789ab: CUDA 13.0, 2026-11-28, at commit 0123456

one_kernel: SASS for 9.0a

  54  b[j] = Bs[k][j];
         3  LDS.128 R32, [R71+-0x10]
         5  LDS.128 R36, [R71]
         …  56 FFMA

64 FFMA, 2 LDS.128, 1 BRA, 4 others; 90 % of the 71 instructions are FFMA.
120 registers a thread, none spilled.

== sass 80 of 0123456789ab: CUDA 13.0, 2026-11-28, at commit 0123456

one_kernel: SASS for 8.0

32 FFMA; 100 % of the 32 instructions are FFMA.
"""
# What each page of the road and of the parts has.
OPENING = '*About <!--= hours("{0}") -->0.5<!--/--> hours to read, <!--= hours_in_all("{0}") -->1<!--/--> with its exercises. You need nothing. Needed for 06: {1}.*\n\n'
ENDING = "## In short\n\nIt is so.\n\n## Build it\n\nDo.\n"
SOURCE = "// one\nvoid f() {\n  int x = 1;\n\n  if (x) {\n    g();\n  }\n}\n\nvoid h() {}\n"


class Pages(Scratch):
    def setUp(self):
        super().setUp()
        for path, text in {"docs/results/NVIDIA_H200/times.csv": TIMES,
                           "docs/results/NVIDIA_H200/figures.csv": FIGURES,
                           "docs/results/NVIDIA_H200/variants.csv": VARIANTS, "docs/results/registers.csv": REGISTERS,
                           "docs/results/NVIDIA_H200/device.csv": "key,value\ncopy,4.25\n",
                           "docs/results/D/sanitizers.csv": SANITIZERS,
                           "a/step.cu": SOURCE, "docs/setup.md": "# Set up\n", "README.md": "# A\n"}.items():
            self.write(path, text)

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def pages(self, *words, status=0):
        names = sorted(path.name for path in (self.root / "docs").glob("*.md"))
        self.write("docs/README.md", "".join(f"- [{name}]({name})\n" for name in names if name != "README.md"))
        done = subprocess.run([sys.executable, self.root / "common/tools/pages/pages.py", *words], capture_output=True,
                              text=True)
        if status is not None:  # all the same
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def says(self, text, page="docs/09_a.md"):
        """The sentences about a page that holds this text."""
        for other in ("docs/09_a.md", "docs/setup.md"):
            self.write(other, "# Set up\n")
        self.write(page, text)
        said = self.pages(status=1 if self.expected else 0)
        return [line for line in said.splitlines() if line.startswith(page)]

    def assert_says(self, text, *parts, page="docs/09_a.md"):
        self.expected = parts
        said = self.says(text, page)
        self.assertEqual(len(said), len(parts), said)
        for sentence, part in zip(said, parts):
            self.assertIn(part, sentence)

    # ---- tables and numbers

    def test_tables(self):
        page = self.write("docs/01_a.md", TABLES)
        self.write("docs/setup.md", OF_SANITIZERS)
        self.assertEqual(self.pages(), "")
        old = TABLES.replace("| `k` | 2.50", "| `k` | 2.51")
        page.write_text(old)
        said = self.pages(status=1)
        self.assertIn("-| `k` | 2.51", said)
        self.assertIn("01_a.md is old: common/tools/pages/pages.py --update", said)
        self.assertEqual(page.read_text(), old)
        self.pages("--update")
        self.assertEqual(page.read_text(), TABLES)

    def test_tables_that_cannot_be(self):
        for text, problem in (
            ("<!-- times from 02 -->\n<!-- end of table -->\n", "times.csv has no line of 02"),
            ("<!-- sizes from 03 of two -->\n<!-- end of table -->\n", "times.csv has no two in 03"),
            ("<!-- steps from 01 at --m 5 -->\n<!-- end of table -->\n", "times.csv has no line of 01 --m 5"),
            ("<!-- times from 01 -->\n", "a table has no end"),
            ("<!-- counters: heat -->\n<!-- end of table -->\n", "there is no figure heat"),
            ("<!-- sanitizers of E -->\n<!-- end of table -->\n", "No such file"),
        ):
            page = self.write("docs/01_a.md", text)
            self.assertIn(problem, self.pages("--update", status=1))
            self.assertEqual(page.read_text(), text)

    def test_numbers_in_sentences(self):
        sentence = ('It takes <!--= ms("01", "one") -->274<!--/--> ms, <!--= speed("01", "one") -->1.0 %<!--/-->, '
                    '<!--= ms("01", "one") / ms("01", "vendor\'s") -->102<!--/--> times as long; '
                    '<!--= tflops("01", "one") -->0.004<!--/-->, <!--= gbs("01", "vendor\'s", "m 8") -->0<!--/-->, '
                    '<!--= counter("k", "lanes") -->32.0<!--/-->, '
                    '<!--= ms("01", "one", "m 8") -->7.04<!--/-->, <!--= ms("01", "one", "m 8 n 2") -->5.04<!--/-->, '
                    '<!--= variant("copies", "4×4", "b") -->0.275<!--/--> ms, <!--= fact("copy") -->4.25<!--/--> TB/s, '
                    '<!--= percent(variant("copies", "4×4", "b", "of_cublas")) -->90 %<!--/-->\n')
        page = self.write("docs/setup.md", sentence)
        self.assertEqual(self.pages(), "")
        right = page.read_text()
        page.write_text(right.replace("274", "275"))
        self.assertIn("is old", self.pages(status=1))
        self.pages("--update")
        self.assertEqual(page.read_text(), right)
        for wrong in ('ms("01", "three")', 'ms("07", "one")', 'nonsense', 'counter("k", "heat")', 'fact("heat")',
                      'variant("copies", "4×4", "c")', 'registers("one_kernel<1>")'):
            page.write_text(f"<!--= {wrong} -->1<!--/-->\n")
            self.assertIn(wrong, self.pages("--update", status=1))

    # ---- code

    def snippet(self, text, *parts):
        self.assert_says(f"<!-- from a/step.cu -->\n```cuda\n{text}```\n", *parts)

    def test_snippets_that_are_in_the_file(self):
        self.snippet("void f() {\n  int x = 1;\n")
        self.snippet("if (x) {\n  g();\n}\n")  # less indented
        self.snippet("      int x = 1;\n\n      if (x) {\n")  # more, and an empty line
        self.snippet("int x = 1;\n…\n    g();\n…\nvoid h() {}\n")
        self.snippet("…\ng();\n…\n")
        self.snippet("void h() {}\n")  # the last line

    def test_snippets_that_are_not(self):
        for text in ("int x = 2;\n",
                     "int x = 1;\nif (x) {\n",  # a line is left out
                     "if (x) {\n    g();\n}\n",  # indented unevenly
                     "void h() {}\n…\nint x = 1;\n",  # in the wrong order
                     "int x = 1;\n…\nint x = 1;\n",  # there only once
                     "void h() {}\nvoid h() {}\n"):  # beyond the end
            self.snippet(text, "not in a/step.cu, or not in this order")
        self.snippet("", "the snippet is empty")
        self.snippet("g();\n…\nvoid i() {}\n", "line 2: not in a/step.cu, or not in this order: the lines from "
                                                "\"void i() {}\" on")

    def test_markers_of_snippets(self):
        self.assert_says("```cpp\nanything\n```\n", "does not name its file")  # on a chapter's page
        self.assert_says("```cpp\nanything\n```\n", page="docs/setup.md")
        self.assert_says("```sh\nls\n```\n```text\nplain\n```\n")
        self.assert_says("```\nplain\n```\n", "says neither its language nor which command prints it")
        self.assert_says("<!-- from a/none.cu -->\n```cpp\ng();\n```\n", "there is no file a/none.cu")
        self.assert_says("<!-- from a/step.cu -->\nprose\n", "no snippet follows")
        self.assert_says("prose\n<!-- from a/step.cu -->\n", "no snippet follows")
        self.assert_says("<!-- from a/step.cu -->\n```cpp\ng();\n", "is not closed")
        self.assert_says("- a list\n  <!-- from a/step.cu -->\n  ```cpp\n  g();\n  ```\n")
        self.assert_says("````md\n<!-- from x -->\n```cpp\n```\n````\n")  # shown, not meant

    # ---- links and pictures

    def test_links(self):
        self.assert_says("# T\n[a](setup.md), [b](../README.md#a) and [c](../a/step.cu \"title\")\n")
        self.assert_says("# Part\n[web](https://example.org/x) [here](#part) [post](mailto:a@example.org)\n")
        self.assert_says("`[not](a-link.md)`\n```md\n[nor](this.md)\n```\n")
        self.assert_says("[a](setup.md) [gone](gone.md)\n", "gone.md leads nowhere")
        self.assert_says("<img src=\"gone.svg\"> <a href=\"setup.md\">\n", "gone.svg leads nowhere")
        self.assert_says("[outside](../../README.md)\n", "leads nowhere")
        self.assert_says("# One · `two_x`: three\n[a](#one--two_x-three) [b](setup.md#set-up)\n")
        self.assert_says("[a](#none) [b](setup.md#none)\n", "no heading #none in this page",
                         "no heading #none in setup.md")

    def test_pictures(self):
        self.write("docs/figures/a.svg", "<svg/>")
        self.assert_says("![Two boxes side by side](figures/a.svg)\n")
        self.assert_says("![a](figures/a.svg)\n", "has no alternative text")
        self.assert_says("![Two boxes side by side](figures/a.svg) [a](figures/a.svg)\n", "is no picture")
        self.expected = ["unused"]
        self.write("docs/09_a.md", "none\n")
        self.assertIn("docs/figures/a.svg is on no page", self.pages(status=1))

    # ---- the rules of a chapter's page

    def test_rules_of_a_chapter(self):
        head = "# C\n\n" + OPENING.format("03_c", "yes")
        sections = "".join(f"## {section}: more\n" for section in page_rules.SECTIONS)
        (self.root / "03_c").mkdir()
        page = "docs/03_c.md"

        def says(text, *parts):
            self.assert_says(head + text + ENDING, *parts, page=page)
        says(sections)
        says(sections.replace("## Exercises: more\n", ""), "no section ## Exercises")
        says("## Exercises\n" + sections.replace("## Exercises: more\n", ""), "before what comes before")
        says(sections + "|a" * 6 + "|\n" + "|---" * 6 + "|\n")
        says(sections + "|a" * 7 + "|\n" + "|---" * 7 + "|\n", "a table of 7 columns")
        says(sections + "\nIt takes 1.5 ms.\n", "\"1.5 ms\" is no number between")
        says(sections + "\n`1.5 ms`, 15 rows, by the data sheet 3 TB/s\n")
        self.assert_says("It lies in device memory.\n", "is called global memory here")

    def write_part(self):
        """A chapter with a part: the page of the part is docs/03_p.md."""
        self.write("03_c/p/step1_one.cu", "")
        sections = "".join(f"## {section}\n" for section in page_rules.SECTIONS)
        self.write("docs/03_c.md", "# C\n\n" + OPENING.format("03_c", "yes") + sections + ENDING)
        return "docs/03_p.md", "# P\n\n" + OPENING.format("03_p", "no"), "## What you will be able to do\n\n- It.\n\n"

    def test_how_a_page_opens(self):
        page, head, aims = self.write_part()
        self.assert_says(head + aims + ENDING, page=page)
        self.assert_says(head.replace("exercises. You", "exercises\n([an estimate](README.md)). You") + aims + ENDING, page=page)
        for old, new, missing in (
            ("*About ", "About ", "*About … hours"),
            ("03_p\")", "03_c\")", '*About … hours, by hours("03_p")'),
            (" -->0.5<!--/--> hours", " -->0.5<!--/--> days", "*About … hours"),
            (" with its exercises", "", "… with its exercises"),
            ("You need", "It needs", "title: You need …"),
            ("06: no.", "06: perhaps.", "title: Needed for 06: yes or no"),
            ("06: no.", "06: this is it.", "title: Needed for 06: yes or no"),  # only the road's last page may say it
            ("no.*", "no.", "title: Needed for 06: yes or no"),
            ("*About", "## First\n\n*About", "You need …; Needed for 06"),
        ):
            text = head.replace(old, new)
            self.assertNotEqual(text, head)
            self.assert_says(text + aims + ENDING, missing, page=page)
        self.assert_says("# P", "*About … hours, by hours(\"03_p\"); … with its exercises, by hours_in_all(\"03_p\"); You need …; Needed for 06: yes or no.*", "does not end with",
                         "no section ## What you will be able to do", page=page)
        self.assert_says(head + ENDING, "no section ## What you will be able to do", page=page)
        self.write(page, head + aims + ENDING)
        last = (self.root / "docs/03_c.md").read_text()
        self.assert_says(last.replace("06: yes.", "06: this is it."), page="docs/03_c.md")
        self.assert_says("# N\n", page="docs/notes/03_p.md")  # a note has no frame

    def test_how_a_page_ends(self):
        page, head, aims = self.write_part()
        said = "does not end with ## In short and ## Build it"
        recap, build = ENDING.split("## Build it")
        for text in (recap, "## Build it" + build, "## Build it" + build + recap, ENDING + "## More\n",
                     recap + "## Then\n## Build it" + build):
            self.assert_says(head + aims + text, said, page=page)
        self.assert_says(head + aims + ENDING + "```md\n## More\n```\n", page=page)
        for lines in ("A line.\n" * 10, "A line.\n\n" * 10, "- An item,\n  a long one.\n" * 10, "1. An item.\n" * 10,
                      "As items:\n\n" + "- An item.\n" * 10):
            self.assert_says(head + aims + ENDING.replace("It is so.\n", lines), page=page)
        for lines in ("A line.\n" * 11, "- An item,\n  a long one.\n" * 11, "1. An item.\n" * 11):
            self.assert_says(head + aims + ENDING.replace("It is so.\n", lines), "has 11 lines or items in ## In short",
                             page=page)

    # ---- how long pages are

    def words_of(self, text, most):
        """The page with just so many words that `most` is reached."""
        count = page_budget.words(self.write("docs/words.md", text))
        (self.root / "docs/words.md").unlink()
        return text.replace("It is so.", "It is so." + " word" * (most - count))

    def test_words_of_pages(self):
        page, head, aims = self.write_part()
        most = page_budget.MOST_OF_A_PART
        text = self.words_of(head + aims + ENDING, most)
        self.assert_says_updated(page, text)
        self.assert_says_updated(page, text.replace("word", "word word", 1), f"has {most + 1} words; {most} at most")
        self.assert_says_updated(page, text.replace("word", "<!-- not a word -->", 1))
        for name in page_budget.LONG_PARTS:
            self.write(f"03_c/{name}/step1_one.cu", "")
            most = page_budget.MOST_OF_A_LONG_PART
            text = self.words_of(head.replace("03_p", f"03_{name}") + aims + ENDING, most)
            self.write(page, head + aims + ENDING)
            self.assert_says_updated(f"docs/03_{name}.md", text)
            self.assert_says_updated(f"docs/03_{name}.md", text + "word\n", f"has {most + 1} words; {most} at most")
            (self.root / f"docs/03_{name}.md").write_text(text)

    def assert_says_updated(self, page, text, *parts):
        """What pages.py says of a page, once it has written its hours."""
        self.write(page, text)
        self.pages("--update", status=1 if parts else 0)
        self.assert_says((self.root / page).read_text(), *parts, page=page)

    def test_words_of_the_road(self):
        most, all_of_it = page_budget.MOST_OF_A_ROAD_PAGE, page_budget.MOST_OF_THE_ROAD
        aims = "## What you will be able to do\n\n- It.\n\n"
        pages = [f"00_{letter}" for letter in "abcdefgh"][:all_of_it // most + 1]
        left = all_of_it
        for name in pages:  # all as long as they may be, but the last one, which takes what is left
            text = self.words_of("# R\n\n" + OPENING.format(name, "yes") + aims + ENDING, min(most, left))
            left -= min(most, left)
            self.write(f"docs/{name}.md", text)
        self.pages("--update")
        self.assertEqual(self.pages(), "")
        last, first = (self.root / f"docs/{name}.md" for name in (pages[-1], pages[0]))
        last.write_text(last.read_text() + "word\n")
        self.assertIn(f"the road have {all_of_it + 1} words together; {all_of_it} at most", self.pages(status=1))
        last.unlink()
        first.write_text(first.read_text() + "word\n")
        self.assertIn(f"docs/00_a.md: has {most + 1} words; {most} at most", self.pages(status=1))

    def test_what_counts_as_a_word(self):
        for text, count in (("", 0), ("# A b\n\nc *d*\n", 5), ("<!-- a\nb -->c<!--/-->\n", 1), ("```cpp\nint x;\n```\n", 4),
                            ("| a | b |\n", 5)):
            self.assertEqual(page_budget.words(self.write("docs/a.md", text)), count, text)

    def test_hours(self):
        def hours(word, how="hours"):
            page = self.write("docs/setup.md", f'It takes <!--= {how}("{word}") -->0<!--/--> hours.\n')
            self.pages("--update", status=None)
            return page.read_text().partition("-->")[2].partition("<")[0]
        self.write("docs/03_c.md", "word " * 10 * page_budget.WORDS_A_MINUTE)  # 10 minutes
        self.assertEqual(hours("03_c"), "0.5")  # the least
        self.write("docs/03_c.md", "word " * 44 * page_budget.WORDS_A_MINUTE)
        self.assertEqual(hours("03_c"), "0.5")
        self.write("docs/03_c.md", "word " * 46 * page_budget.WORDS_A_MINUTE)
        self.assertEqual(hours("03_c"), "1")
        lines = 30 * page_budget.LINES_A_MINUTE
        self.write("03_c/step1_one.cu", "\n  // a comment\nint x;" * lines)
        self.assertEqual(hours("03_c"), "1.5")
        self.write("03_c/03_c.hpp", "int x;\n" * lines)  # no step
        self.assertEqual(hours("03_c"), "1.5")
        for number in (1, 2, 3):
            self.write(f"03_c/exercises/{number}_a/task.md", "# A\n")
        self.assertEqual(hours("03_c"), "1.5")  # to read
        self.assertEqual(hours("03_c", "hours_in_all"), f"{round((76 + 3 * page_budget.MINUTES_AN_EXERCISE) / 30) / 2:g}")
        page = self.root / "docs/03_c.md"
        page.write_text(page.read_text() + "\n## Exercises\n\n1. One.\n2. Another.\n\n## Build it\n\n1. No exercise.\n")
        self.assertEqual(hours("03_c", "hours_in_all"), f"{round((76 + 5 * page_budget.MINUTES_AN_EXERCISE + page_budget.MINUTES_TO_BUILD) / 30) / 2:g}")
        self.write("03_c/p/step1_one.cu", "int x;\n" * 4 * lines)  # the part's time is its own
        self.write("docs/03_p.md", "word\n")
        self.write("docs/00_a.md", "word " * 60 * page_budget.WORDS_A_MINUTE)
        self.assertEqual([hours(word) for word in ("03_c", "00_a", "road", "parts", "03_p")], ["1.5", "1", "2.5", "2", "2"])
        self.write("docs/setup.md", 'It takes <!--= hours("none") -->1<!--/--> hours.\n')
        self.assertIn("No such file", self.pages(status=1))

    def test_a_constant_of_the_budget(self):
        page = self.write("docs/setup.md", "It is <!--= whole(budget.WORDS_A_MINUTE) -->0<!--/--> a minute.\n")
        self.pages("--update")
        self.assertIn(f"-->{page_budget.WORDS_A_MINUTE}<!--/-->", page.read_text())

    def test_numbers_and_lines_of_a_record(self):
        self.write("01_a/step1_one.cu", SOURCE)
        self.write("docs/results/sass/01_a/step1_one.txt", RECORD)
        page = self.write("docs/setup.md", '\n'.join(
            f'It has <!--= whole(instructions("01", "one"{kind})) -->0<!--/-->.' for kind in (', "LDS.128"', ', "FFMA"', "")))
        self.pages("--update", status=None)
        self.assertEqual(page_values.VALUE.sub(r"\2", page.read_text()), "It has 2.\nIt has 64.\nIt has 71.\n")
        for wrong in ('"01", "one", "LDS"', '"01", "one", "others"', '"01", "two"', '"07", "one"'):
            page.write_text(f"It has <!--= instructions({wrong}) -->1<!--/-->.\n")
            self.assertIn("docs/results/sass has no ", self.pages("--update", status=1))

    def test_lines_of_a_record(self):
        path = self.write("docs/results/sass/01_a/step1_one.txt", RECORD).relative_to(self.root)
        lines = "".join(RECORD.splitlines(keepends=True)[4:8])
        self.assert_says(f"<!-- from {path} -->\n```text\n{lines}```\n")
        self.assert_says(f"<!-- from {path} -->\n```text\n{lines.replace('R36', 'R37')}```\n", f"not in {path}")

    def test_numbers_that_markdown_would_break(self):
        page = self.write("docs/setup.md", 'It takes\n<!--= ms("01", "one") -->274<!--/--> ms\n')
        self.pages("--update")
        self.assertEqual(page.read_text(), 'It takes <!--= ms("01", "one") -->274<!--/--> ms\n')
        self.assert_says('<!--= ms("01", "one") -->274<!--/--> ms\n', "begins with a comment")
        self.assert_says('It takes <!--= rounded(1--1, 0) -->2<!--/--> ms\n', "a comment with -- in it")

    def test_numbers_that_a_formula_gives(self):
        page = self.write("docs/setup.md", "<!-- -->It has <!--= whole(product_flop(2, 3, 4)) -->48<!--/--> FLOP, "
                                           "<!--= whole(math.sqrt(81)) -->9<!--/-->.\n")
        self.assertEqual(self.pages(), "")
        page.write_text(page.read_text().replace("48<", "49<"))
        self.assertIn("+<!-- -->It has <!--= whole(product_flop(2, 3, 4)) -->48<", self.pages(status=1))

    def test_what_can_be_filled_is_filled(self):
        page = self.write("docs/setup.md", 'A <!--= ms("01", "one") -->0<!--/-->, B <!--= latency("L1") -->0<!--/-->\n')
        self.assertIn('latency("L1"): ', self.pages("--update", status=1))
        self.assertIn('-->274<!--/-->, B <!--= latency("L1") -->0<', page.read_text())
        self.write("docs/results/NVIDIA_H200/latencies.csv", "memory,bytes,cycles\nL2,1,260\nL1,1,38.5\nL1,2,40\n")
        self.pages("--update")
        self.assertIn("-->38.5<!--/-->", page.read_text())

    # ---- claims.md

    def test_claims(self):
        heads = "| the article | what we found | verdict |\n|---|---|---|\n"
        text = "# C\n" + "".join(f"## {article}\n" for article in page_claims.ARTICLES) + heads
        for row, *parts in (
            ('| 5 of 7 | <!--= ms("01", "one") -->274<!--/--> ms, an H100, `4×4`, $x^2$, chapter 06 | right |',),
            ("| | [a](setup.md#set-up) | in part · [setup](setup.md) |",),
            ("| 5 | 5 and 1.5 ms | wrong |", "line 9: \"5\" comes from nowhere", "\"1.5\" comes from nowhere"),
            ("| 5 | `1.5 ms` | wrong |", "\"1.5 ms\" comes from nowhere"),
            ("| 5 | 5, says [NVIDIA](https://example.org/) | wrong |",),
            ("| 5 | <!--= whole(7) -->7<!--/--> | wrong |", "\"whole(7)\" is neither computed nor read"),
            ("| 5 | <!--= whole(3 + 4) -->7<!--/--> | wrong |",),
            ("| 5 | none | perhaps |", "\"perhaps\" is no verdict"),
            ("| 5 | none | right [setup](setup.md) |", "is no verdict"),
            ("| 5 | none |", "2 cells, and not 3"),
        ):
            said = list(page_claims.problems(text + row + "\n"))
            self.assertEqual(len(said), len(parts), said)
            for sentence, part in zip(said, parts):
                self.assertIn(part, sentence)
        both = text + "| 1 | | right |\n| 2 | | right · [a](setup.md) |\n| right | right | wrong |\n"
        self.assertEqual([page_claims.count(both, verdict) for verdict in page_claims.VERDICTS], [2, 0, 1, 0])
        article = page_claims.ARTICLES[0]
        self.assert_says(text.replace(article, "Another"), f"has no section ## {article}", page="docs/claims.md")

    # ---- answers.md

    def test_answers(self):
        head = "# R\n\n" + OPENING.format("00_a", "yes") + "## What you will be able to do\n\n- It.\n\n## Exercises\n\n"

        def says(exercises, answers, *parts):
            self.write("docs/00_a.md", head + exercises + ENDING)
            self.assert_says_updated("docs/answers.md", answers, *parts)
        two, linked = "1. One?\n2. Two?\n\n", "With [answers](answers.md#a-b):\n\n"
        section = "# A\n\n## A, b\n\n1. One.\n\n```text\none\n```\n\n2. Two.\n\n## C\n\n3. It is so.\n"
        says(linked + two, section)
        says("None.\n\n", section)
        says(two, section, "docs/00_a.md does not link it in ## Exercises")
        says(linked + two + "3. Three?\n\n", section, "has 2 answers in #a-b to 3 exercises of docs/00_a.md")
        says(linked + two, self.words_of(section, page_budget.MOST_OF_THE_ANSWERS))
        most = page_budget.MOST_OF_THE_ANSWERS
        says(linked + two, self.words_of(section, most + 1), f"has {most + 1} words; {most} at most")
        says(linked + two, section + "\nIt takes 1.5 ms.\n", "\"1.5 ms\" is no number between")

    def test_answers_of_parts(self):
        page, head, aims = self.write_part()

        def says(exercises, answers, *parts):
            self.write(page, head + aims + exercises + ENDING)
            self.assert_says_updated("docs/answers_parts.md", answers, *parts)
        two = "## Exercises\n\n{}1. One?\n2. Two?\n\n"
        linked, section = two.format("[Answers](answers_parts.md#03-p).\n\n"), "# A\n\n## 03 p\n\n1. One.\n2. Two.\n"
        says(linked, section)
        says("", section)
        for link in ("", "[Answers](answers.md#03-p).\n\n"):  # that page has those of the road
            self.write("docs/answers.md", section)
            says(two.format(link), section, f"{page} does not link it in ## Exercises")
        says(linked, section.replace("2. Two.\n", ""), f"has 1 answers in #03-p to 2 exercises of {page}")
        says(linked, self.words_of(section + "\nIt is so.\n", page_budget.MOST_OF_THE_ANSWERS))
        most = page_budget.MOST_OF_THE_ANSWERS
        says(linked, self.words_of(section + "\nIt is so.\n", most + 1), f"has {most + 1} words; {most} at most")

    def test_formulas(self):
        self.assert_says("So $a_i + \\sum_j b$ is it.\n\n```math\na \\\\ b\\, c\n```\n")
        self.assert_says("$$a + b$$\n", "has a formula between $$")
        self.assert_says("So $a\\, b$ is it.\n", "has a backslash that Markdown takes away")

    def test_times_in_headers(self):
        right = ("// Step 1\n// H200            274 ms at 4×4×4, 0.98 % of a vendor's; two_later takes 0.030\n"
                 "//                 (step 2 has 8940 %), 7 times a day\n\nvoid f();  // H200: 5 ms at 4³\n")
        self.write("docs/results/NVIDIA_H200/times.csv",
                   (TIMES + "02,02,before,step,0.09,,,,--m 4 --n 4 --c 9 --full\n02,02,before,step,0.06,,,,--m 4 --n 4 --c 9\n")
                   .replace('"two, later"', "two_later").replace("--m 4 --n 4", "--m 4 --n 4 --k 4"))
        other = self.write("01_a/step2_two_later.cu", "// H200            0.030 ms at 4×4×4, 1 % of 02's before\n")
        path = self.write("01_a/step1_one.cu", right)
        self.assertNotIn("step1_one.cu", self.pages(status=1))  # it has no page, which is said
        wrong = right.replace("274", "1").replace("0.98", "1.00").replace("8940", "41").replace("0.030", "0.300")
        path.write_text(wrong)
        self.assertIn("step1_one.cu is old", self.pages(status=1))
        self.pages("--update", status=1)
        self.assertEqual(path.read_text(), right)
        self.assertIn("200 % of 02's before", other.read_text())
        path.write_text(right.replace("274", "1.5"))
        self.pages("--update", status=1)
        self.assertIn("273.8 ms", path.read_text())  # as many digits as there were
        path.write_text("// H200            1 ms at 5³\n")
        self.assertIn("step1_one.cu: its header: times.csv has no one at k 5, m 5, n 5", self.pages("--update", status=1))

    def test_sizes_in_headers(self):
        for words, options in (("at 4096³", "k 4096 m 4096 n 4096"), ("at 1×2×3", "k 3 m 1 n 2"),
                               ("10 neighbours at 1×2×3 (M×N×D)", "d 3 m 1 n 2 neighbours 10"),
                               ("for 4×6 by 6×5 by 5×6", "k 6 m 4 n 5"), ("for 16384 × 4096", "cols 4096 rows 16384"),
                               ("for the causal default", "batch 128 mask causal"),
                               ("for B 8, NH 12, T 1024, HS 64 full", "batch 8 full head-dim 64 heads 12 seq 1024"),
                               ("for a query on 40 keys, B 8, 32 heads on 8", "batch 8 heads 32 kv-heads 8 seq 1 seq-kv 40")):
            said = page_headers.size_in(words)
            self.assertEqual(" ".join(sorted(" ".join(pair).strip() for pair in said)), options)

    # ---- words

    def test_words(self):
        self.write("docs/glossary.md", "# Words\n### warp <!-- also: warps -->\n### bank conflict\n### bank\n")
        old = "# The warp\n`warp` and [a warp](setup.md)\nWarps have no bank\nconflict. A warp's bank.\n"
        new = ("# The warp\n`warp` and [a warp](setup.md)\n[Warps](glossary.md#warp) have no [bank\n"
               "conflict](glossary.md#bank-conflict). A warp's [bank](glossary.md#bank).\n")
        page = self.write("docs/setup.md", old)
        self.assertIn("+[Warps](glossary.md#warp)", self.pages(status=1))
        self.pages("--update")
        self.assertEqual(page.read_text(), new)
        self.assertEqual(self.pages(), "")
        table = "| page | words |\n|---|---|\n| [one](setup.md), [two](try.md) | [warp](#warp), [bank conflict](#bank-conflict)%s |\n"
        words = "### `vote` <!-- also: votes -->\n### warp <!-- also: warps -->\n### bank conflict\n### bank\n"
        self.write("docs/try.md", "# Try\n`vote()`\n")
        self.write("docs/glossary.md", table % ", [`vote`](#vote)" + words)
        self.assertEqual(self.pages(), "")
        self.write("docs/glossary.md", table % ", [spill](#spill)" + words + "### spill\n")
        self.assertIn("spill is to be known before setup.md and try.md, where it does not occur", self.pages(status=1))

    # ---- outputs

    def test_parts_of_an_output(self):
        said = "one\n  two\nthree, and more\nfour\n"
        for block in ("one\n  two\n", "one\n…\nfour\n", "two\n  …\nfour\n", "three\n", "…\nfour\n"):
            self.assertTrue(page_outputs.shows(block, said), block)
        for block in ("one\nthree\n", "four\n…\none\n", "five\n", "four\nfive\n"):
            self.assertFalse(page_outputs.shows(block, said), block)

    def test_outputs(self):
        program = self.write("build/cpu/01_a/01_a", "#!/bin/sh\necho ran \"$@\"; echo again  \n")
        program.chmod(0o755)
        (self.root / "01_a").mkdir()
        page = self.write("docs/setup.md", "<!-- output of ./learn profile 01 fast --m 3 -->\n```\nran\n```\n")
        self.assertIn("prints something else:\nran --profile --kernel fast --m 3\nagain\n",
                      self.pages("outputs", status=1))
        self.pages("outputs", "--update")
        self.assertEqual(page.read_text(), "<!-- output of ./learn profile 01 fast --m 3 -->\n```\n"
                                           "ran --profile --kernel fast --m 3\nagain\n```\n")
        self.assertEqual(self.pages("outputs"), "")
        page.write_text("<!-- output of ./learn run 01 -->\n```\n…\nagain\n```\n")
        self.assertEqual(self.pages("outputs"), "")
        program.write_text('#!/bin/sh\n[ "$1 $2 $3" = "--kernel fast --trace" ] && echo traced "$5" > "$4"\n')
        page.write_text("<!-- output of ./learn trace 01 fast t.json -m -->\n```\ntraced -m\n```\n")
        self.assertEqual(self.pages("outputs"), "")
        page.write_text("<!-- output of ./learn run 01 -->\nno block\n")
        self.assertIn("has no ``` in the line below", self.pages("outputs", status=1))


if __name__ == "__main__":
    unittest.main()
