#!/usr/bin/env python3
"""common/tools/measure/bench.py with stand-ins for the GPU and a chapter's program: what it runs, what --keep replaces and what
it leaves, and that it keeps what there was when a kernel is wrong."""
import csv
import os
import shutil
import subprocess
import sys
import unittest

from scratch import PROJECT, Scratch

sys.path[:0] = map(str, (PROJECT / "common/tools").glob("**/"))
import bench  # noqa: E402
import project  # noqa: E402
import random_shapes  # noqa: E402

# Its steps are a … e; each run is a line of the file `ran`. It takes MS milliseconds, and is wrong where WRONG is among
# its options.
PROGRAM = """#!/bin/sh
case "$*" in
  *--list) for step in a b c d e; do echo "$step  what is new"; done; echo '  a remark'; exit ;;
esac
echo "$*" >>ran
case "$*" in *"${WRONG:-none}"*) exit 1 ;; esac
while [ "$1" != --csv ]; do shift; done
printf 'chapter,device,step,kind,median_ms,low_ms,high_ms,registers\\n"01_a",x,"a, b",step,%s,%s,%s,\\n' $MS $MS $MS >"$2"
printf '"01_a",x,a_kernel,kernel,,,,32\\n"01_a",x,second,step,%s,1,2,\\n"01_a",x,vendor,vendor,2,2,2,\\n' $MS >>"$2"
"""
NVIDIA_SMI = """#!/bin/sh
case $1 in *name*) echo "${GPU:-Some GPU}" ;; *) echo 580.1 ;; esac
"""


class Bench(Scratch):
    def setUp(self):
        super().setUp()
        (self.root / "bin").mkdir()
        for chapter in ("01_a", "06_f", "07_g"):
            (self.root / chapter).mkdir()
        for folder in ("06_f/faster", "06_f/any_shape"):
            self.script(f"{folder}/step1_a.cu", "")
        for program in ("01_a/01_a", "06_f/06_f", "06_f/faster/06_f_faster", "06_f/any_shape/06_f_any_shape"):
            self.script(f"build/gpu/{program}", PROGRAM)
        self.kept = self.root / "docs/results/Some_GPU/times.csv"

    def script(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def bench(self, *words, status=0, **env):
        if "no_gpu" not in env:
            self.script("bin/nvidia-smi", NVIDIA_SMI)
        # -E -S: whether PyTorch is on the machine must not matter
        path = f"{self.root / 'bin'}:{'/usr/bin:/bin' if 'no_gpu' not in env else ''}"
        done = subprocess.run([sys.executable, "-E", "-S", "common/tools/measure/bench.py", *words], cwd=self.root, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={"PATH": path, "COMMIT": "abc1234", "MS": "1.5", **env})
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def times(self, path=None):
        """(set, step, milliseconds) of each row that is kept."""
        return [(row["sizes"], row["step"], row["median_ms"]) for row in project.read_csv(path or self.kept)]

    def test_refusals(self):
        self.assertIn("there is no NVIDIA GPU here", self.bench("01", status=2, no_gpu="1"))
        self.assertIn("there is no chapter '9'", self.bench("9", status=2))
        self.assertIn("there are no standard sizes for 07_g", self.bench("7", status=2))
        shutil.rmtree(self.root / "build/gpu/01_a")
        self.assertIn("./learn run 01 --gpu --list builds it", self.bench("01", status=2))

    def test_nothing_is_written_that_is_not_to_be_kept(self):
        self.bench("1")
        self.assertFalse(self.kept.parent.exists())
        self.bench("1", "--csv", "mine.csv")
        self.assertFalse(self.kept.parent.exists())
        self.assertEqual(self.times(self.root / "mine.csv"), [("01", "a, b", "1.5"), ("01", "second", "1.5"), ("01", "vendor", "2")])

    def test_what_is_kept(self):
        self.assertIn("wrote docs/results/Some_GPU/times.csv", self.bench("1", "--keep"))
        with open(self.kept, newline="") as file:
            heads, one, *others = csv.reader(file)
        self.assertEqual(heads, bench.COLUMNS)
        row = dict(zip(heads, one))
        self.assertEqual(len(others), 2)  # and no line of the kernel
        self.assertEqual([row[name] for name in ("chapter", "options", "kind", "step", "driver", "commit")],
                         ["01", "--m 4096 --n 4096 --k 4096", "step", "a, b", "580.1", "abc1234"])
        self.assertRegex(row["date"], r"^\d{4}-\d\d-\d\d$")

    def test_the_lines_of_a_set_and_no_others_are_replaced(self):
        self.bench("1", "06", "--keep")
        said = self.bench("1", "--keep", MS="1.25")
        self.assertEqual(self.times(), [("01", "a, b", "1.25"), ("01", "second", "1.25"), ("01", "vendor", "2"),
                                        ("06", "a, b", "1.5"), ("06", "second", "1.5"), ("06", "vendor", "2")])
        self.assertIn("01 01 --m 4096 --n 4096 --k 4096 a, b: 1.5 ms before, 1.25 now", said)
        self.assertEqual(said.count("before"), 1)  # what moved within its quartiles has not moved

    def test_a_run_with_a_wrong_kernel_replaces_nothing(self):
        self.bench("01", "--keep")
        before = self.kept.read_text()
        self.assertIn("see above", self.bench("01", "06/any_shape", "--keep", status=1, MS="9", WRONG="--seq-kv 131072"))
        self.assertEqual(self.kept.read_text(), before)
        self.assertEqual(os.listdir(self.kept.parent), ["times.csv"])

    def test_times_of_pytorch_are_not_lost(self):
        self.bench("01", "06", "--keep")
        self.kept.write_text(self.kept.read_text().replace(",vendor,vendor,", ",pytorch,torch.mm,", 1))
        before = self.kept.read_text()
        self.assertIn("--keep would lose PyTorch's times", self.bench("01", "--keep", status=2, MS="9"))
        self.assertEqual(self.kept.read_text(), before)
        self.bench("06", "--keep", MS="9")
        self.assertIn(("06", "a, b", "9"), self.times())

    def test_a_folder_of_its_own(self):
        self.bench("01", "06", "--keep")
        before = self.kept.read_text()
        self.bench("01", "--keep", MS="9", RESULTS="out")
        self.assertEqual(self.times(self.root / "out/times.csv")[::3], [("01", "a, b", "9"), ("06", "a, b", "1.5")])
        self.assertEqual(self.kept.read_text(), before)

    def test_what_quotes_a_time_is_written_anew(self):
        """A number and a table on a page, a line of a header, and a figure: of the device that they quote."""
        page = ('# A\n\nIt takes <!--= ms("01", "a, b") -->1.50<!--/--> ms.\n\n![The time](figures/a.svg)\n\n'
                "<!-- times from 01 -->\n\n| | m 4096, n 4096, k 4096 |\n|---|--:|\n| a, b | 1.50 (133 %) |\n"
                "| second | 1.50 (133 %) |\n| vendor | 2.00 (100 %) |\n\n<!-- end of table -->\n")
        header = "// H200            1.50 ms at 4096³, 133 % of vendor\n"
        drawn = ('import results\nclass Drawn:\n    def svg(self):\n        return results.times("01")[0]["median_ms"]\n'
                 'FIGURES = {"a": Drawn}\n')
        quotes = {"docs/README.md": page, "docs/figures/a.svg": "1.5", "01_a/step2_second.cu": header}
        for name, text in {**quotes, "docs/figures/programs/style.py": drawn}.items():
            self.script(name, text)
        for ms, ms_on_page, percent in (("1.5", "1.50", "133 %"), ("1.25", "1.25", "160 %")):
            self.bench("1", "--keep", GPU="NVIDIA H200", MS=ms, status=1)  # the chapters have no pages, which is said
            for name, text in quotes.items():
                self.assertEqual((self.root / name).read_text(),
                                 text.replace("1.50", ms_on_page).replace("133 %", percent).replace("1.5", ms))

    def test_only_the_last_steps_where_the_others_take_too_long(self):
        self.bench("06_lengths")
        ran = [line.partition(" --csv ")[0] for line in (self.root / "ran").read_text().splitlines()]
        self.assertEqual(ran[0], "--batch 64 --heads 12 --seq 128 --head-dim 64 --kernel e")
        self.assertEqual(ran[-1], "--batch 1 --heads 12 --seq 8192 --head-dim 64 --kernel head_sizes "
                                  "--kernel split_keys --kernel by_shape")

    def test_random_shapes(self):
        """The last step at shapes that the seed gives, each beside the library, and what that comes to."""
        self.script("build/gpu/02_b/02_b", PROGRAM)
        (self.root / "02_b").mkdir()
        said = self.bench("2", "--random", "30", "--seed", "7", "--csv", "mine.csv", MS="4")
        ran = [line.partition(" --csv ")[0] for line in (self.root / "ran").read_text().splitlines()]
        self.assertEqual(ran, [f"{shape} --kernel e" for shape in random_shapes.drawn("02", 30, 7)])
        self.assertNotEqual(random_shapes.drawn("02", 30, 7), random_shapes.drawn("02", 30, 8))
        self.assertIn("all                                     30   0.50         0.50", said)
        self.assertIn("  0.50     4000.0 µs, vendor 2000.0 µs   --m ", said)
        rows = project.read_csv(self.root / "mine.csv")
        self.assertEqual({(row["ladder"], row["seed"], row["step"]) for row in rows}, {("02", "7", "second")})
        self.assertFalse(self.kept.parent.exists())
        self.bench("2", "--random", "3", "--keep")
        self.bench("2", "--random", "2", "--keep", WRONG="--m", status=1)
        self.assertEqual(len(project.read_csv(self.kept.parent / "random.csv")), 3)
        self.assertIn("there are no random shapes for 01", self.bench("1", "--random", "3", status=2))
        self.assertIn("--random takes how many shapes", self.bench("2", "--random", "0", status=2))
        self.assertIn("PyTorch", self.bench("06/faster", "--random", "1", status=1))

    def test_a_percentile_is_what_nine_in_ten_reach(self):
        rows = [{"median_ms": "1", "library_ms": str(2.0 ** i)} for i in range(-10, 10)]
        self.assertEqual(random_shapes.tenth_percentile(rows), 2.0 ** -8)
        self.assertAlmostEqual(random_shapes.mean(rows), 2 ** -0.5)
        self.assertEqual(len(random_shapes.over(rows, 1000)), 9)
        for shape in random_shapes.drawn("02/hopper", 200, 1):
            m, n, k = (int(word) for word in shape.split()[1:6:2])
            self.assertTrue(1 <= m <= 8192 and n % 8 == 0 < n <= 8192 and k % 8 == 0 < k <= 8192, shape)

    def test_a_part_has_sets_of_its_own(self):
        self.bench("6/any_shape", "--keep")
        self.assertEqual(sorted({name for name, *_ in self.times()}),
                         ["06_any_shape", "06_decoding", "06_head_sizes", "06_lengths"])

    def test_what_must_be_built(self):
        self.assertEqual(self.bench("--programs", "6/any_shape", "--keep"), "06_f_any_shape 06_f_faster\n")
        self.assertEqual(self.bench("--programs", "01"), "01_a\n")


if __name__ == "__main__":
    unittest.main()
