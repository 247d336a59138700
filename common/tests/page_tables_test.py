#!/usr/bin/env python3
"""common/tools/page_tables.py in a project of one page: the tables that it makes, and what it says of an old one."""
import subprocess
import unittest

from scratch import Scratch


TIMES = """\
chapter,step,kind,median_ms,options
01_a,one,step,273.843887,--m 4 --n 4
01_a,one_kernel,kernel,,--m 4 --n 4
01_a,"two, later",step,0.03,--m 4 --n 4
01_a,vendor's,vendor,2.6819,--m 4 --n 4
01_a,inside,stage,1.5,--m 4 --n 4
01_a,one,step,,--m 8 --kernel one --kernel two
01_a,vendor's,vendor,10.04,--m 8 --kernel one --kernel two
01_a,apart,step,9.994,--part p --m 8
"""
FIGURES = """\
chapter,options,kernel,ns,ffma,shared_loads,load_conflicts,store_conflicts,lanes,barrier
01_a,--m 4,k,2500000,64,2,99999,0,31.96,0.5
01_a,--m 8 --kernel far,l,16720000,0,2,99999,1,32,12.34
02_b,--m 8,other,1,1,1,1,1,1,1
"""
PAGE = """\
# A
<!-- times from D/01.csv -->

| | one | two, later | vendor's |
|---|--:|--:|--:|
| m 4, n 4 | 274 (1.0 %) | 0.030 (8940 %) | 2.68 (100 %) |
| m 8 | – | – | 10.0 (100 %) |

<!-- end of table -->
<!-- times from D/01.csv of one -->

| | one | two, later | vendor's |
|---|--:|--:|--:|
| m 4, n 4 | 274 (100 %) | 0.030 (912813 %) | 2.68 (10211 %) |
| m 8 | – | – | 10.0 |

<!-- end of table -->
<!-- times from D/01.csv part p -->

| | apart |
|---|--:|
| m 8 | 9.99 |

<!-- end of table -->
<!-- counters from D/figures.csv: ms, loads_per_ffma, conflicts, lanes, barrier -->

| kernel | ms | shared loads per FFMA | bank conflicts | lanes at work | waiting: barrier |
|---|--:|--:|--:|--:|--:|
| `k` | 2.50 | 1.00 | 99999 | 32.0 | 0.500 |
| `l` (far, m 8) | 16.7 | – | 0.100 M | 32.0 | 12.3 |

<!-- end of table -->
the end
"""


class PageTables(Scratch):
    def setUp(self):
        super().setUp()
        (self.root / "docs/results/D").mkdir(parents=True)
        (self.root / "docs/results/D/01.csv").write_text(TIMES)
        (self.root / "docs/results/D/figures.csv").write_text(FIGURES)
        self.page = self.root / "docs/01_a.md"

    def tables(self, page, *words, status=0):
        self.page.write_text(page)
        done = subprocess.run([self.root / "common/tools/page_tables.py", *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_page_as_it_should_be(self):
        self.assertEqual(self.tables(PAGE), "")

    def test_an_old_table(self):
        old = PAGE.replace("| `k` | 2.50", "| `k` | 2.51")
        said = self.tables(old, status=1)
        self.assertIn("-| `k` | 2.51", said)
        self.assertIn("01_a.md has an old table: common/tools/page_tables.py --update", said)
        self.assertEqual(self.page.read_text(), old)
        self.tables(old, "--update")
        self.assertEqual(self.page.read_text(), PAGE)

    def test_what_cannot_be(self):
        for page, problem in (
            ("<!-- times from D/02.csv -->\n<!-- end of table -->\n", "No such file"),
            ("<!-- times from D/01.csv part q -->\n<!-- end of table -->\n", "there is no table in"),
            ("<!-- times from D/01.csv -->\n", "a table has no end"),
            ("<!-- counters from D/figures.csv: heat -->\n<!-- end of table -->\n", "there is no figure heat"),
            ("<!-- counters from D/figures.csv part q: ms -->\n<!-- end of table -->\n", "there is no line of 01_a in"),
        ):
            self.assertIn(problem, self.tables(page, "--update", status=1))
            self.assertEqual(self.page.read_text(), page)


if __name__ == "__main__":
    unittest.main()
