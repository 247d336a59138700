#!/usr/bin/env python3
"""common/tools/learn/diff_steps.py in a project of one small chapter with a part."""
import json
import os
import pty
import subprocess
import unittest

from scratch import Scratch


STEP = """// Step {number}: {idea}
//
// FLOP            2·M·N·K
#include "01_a.hpp"

namespace tutorial::a {{
namespace {{

constexpr int BM = {bm};  // {{ "

/// A word.
__device__ float load(const float* p) {{
  return *p;
}}

// The kernel.
template <int N>
__global__ void {name}_kernel(const float* A,
                              float* C) {{
{body}
}}

int host_only() {{ return 1; }}

}}  // namespace

void {name}(const float* A, float* C) {{
  {name}_kernel<1><<<1, BM>>>(A, C);
}}

}}  // namespace tutorial::a
"""


def step(number, name, idea, body, bm=8):
    return STEP.format(number=number, name=name, idea=idea, body=body, bm=bm)


class Diff(Scratch):
    def setUp(self):
        super().setUp()
        chapter = self.root / "01_a"
        (chapter / "other").mkdir(parents=True)
        (chapter / "step1_plain.cu").write_text(step(1, "plain", "one", "  C[0] = load(A);"))
        twice = "  // both\n  C[0] = 2 * load(A);\n  C[1] = 0;"
        (chapter / "step2_twice.cu").write_text(step(2, "twice", "two", twice))
        (chapter / "step10_far.cpp").write_text(step(10, "far", "two", "  C[0] = 0;", bm=16))
        (chapter / "other/step1_solo.cu").write_text("int x;\n")
        (self.root / "02_b").mkdir()

    def diff(self, *words, status=0):
        done = subprocess.run([self.root / "common/tools/learn/diff_steps.py", *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_as_data_for_the_site(self):
        data = json.loads(self.diff("--json"))
        self.assertEqual(list(data), ["01_a", "01_a/other", "02_b"])
        self.assertEqual([step["name"] for step in data["01_a"]], ["plain", "twice", "far"])
        for step in data["01_a"] + data["01_a/other"]:
            new = [row for row in step["rows"] if row["mark"] != "-"]
            text = (self.root / step["path"]).read_text().splitlines()
            self.assertEqual(["".join(piece for piece, _ in row["pieces"]) for row in new], text)
            self.assertEqual([row["new"] for row in new], list(range(1, len(text) + 1)))
        first, second, _ = data["01_a"]
        self.assertIsNone(first["before"])
        self.assertFalse(any(row["near"] for row in first["rows"]))
        self.assertEqual(second["before"], "01_a/step1_plain.cu")
        before = (self.root / second["before"]).read_text().splitlines()
        gone = [row for row in second["rows"] if row["mark"] == "-"]
        self.assertIn("  C[0] = load(A);", [before[row["old"] - 1] for row in gone])
        self.assertIn("  C[1] = 0;", ["".join(piece for piece, _ in row["pieces"]) for row in second["rows"]
                                      if row["mark"] == "+"])
        self.assertEqual(len(before) - len(gone), sum(row["mark"] == " " for row in second["rows"]))

    def on_terminal(self, columns, *words, **env):
        mine, its = pty.openpty()
        process = subprocess.Popen([self.root / "common/tools/learn/diff_steps.py", *words], stdout=its,
                                   env={**os.environ, "COLUMNS": str(columns), "NO_COLOR": "", **env})
        os.close(its)
        text = b""
        while True:
            try:
                more = os.read(mine, 65536)
            except OSError:  # the other end is closed
                more = b""
            if not more:
                break
            text += more
        process.wait()
        os.close(mine)
        return text.decode().replace("\r\n", "\n")

    def test_step_beside_the_one_before(self):
        for chapter, name in (("01", "twice"), ("1", "2"), ("01_a", "step2_twice.cu")):
            said = self.diff(chapter, name)
            self.assertTrue(said.startswith("01_a/step1_plain.cu → 01_a/step2_twice.cu\n"))
            self.assertIn("\n-   C[0] = load(A);\n", said)
            self.assertIn("\n+   C[0] = 2 * load(A);\n", said)
            self.assertNotIn("\033", said)
            # the head of the kernel, 1 line for 2 in it, the launcher and its call; the heading, "// both"
            self.assertTrue(said.endswith("\n9 lines of code changed (removed and added), "
                                          "and 3 that are comments or blank\n"), said)

    def test_order_is_by_number_and_any_two_can_be_compared(self):
        self.assertIn("01_a/step2_twice.cu → 01_a/step10_far.cpp", self.diff("01", "far"))
        self.assertIn("01_a/step1_plain.cu → 01_a/step10_far.cpp", self.diff("01", "far", "plain"))
        self.assertIn("plain is the first step", self.diff("01", "plain"))
        self.assertIn("solo is the first step", self.diff("01/other", "solo"))

    def test_step_of_a_part(self):
        part = self.root / "01_a/other"
        (part / "step2_duo.cu").write_text("int y;\n")
        for words in (("01", "duo"), ("1/other", "2"), ("01", "duo", "solo"), ("01_a/other/", "duo"),
                      ("01", "other/duo", "solo"), ("01", "step2_duo.cu")):
            self.assertIn("01_a/other/step1_solo.cu → 01_a/other/step2_duo.cu", self.diff(*words))
        self.assertIn("01_a/step2_twice.cu", self.diff("01", "2"))  # the chapter's own comes first
        (self.root / "01_a/more").mkdir()
        (self.root / "01_a/more/step1_duo.cu").write_text("int z;\n")
        self.assertEqual(self.diff("01", "duo", status=2), "learn diff: 'duo' is a step of 01/more and of 01/other: "
                                                           "say ./learn diff 01/more duo\n")

    def test_the_border_of_a_part(self):
        header = self.root / "01_a/other/other.hpp"
        for after, place in (("far", "01_a/step10_far.cpp"), ("more/duo", "01_a/more/step1_duo.cu")):
            (self.root / "01_a/more").mkdir(exist_ok=True)
            (self.root / "01_a/more/step1_duo.cu").write_text("int z;\n")
            header.write_text(f'inline constexpr const char* after = "{after}";\n')
            self.assertIn(f"{place} → 01_a/other/step1_solo.cu", self.diff("01/other", "solo"))
            self.assertIn(f"{place} → 01_a/other/step1_solo.cu", self.diff("01", "solo"))
        self.assertIn("01_a/other, which goes on from 01/more duo\n", self.diff("01/other"))
        self.assertEqual(json.loads(self.diff("--json"))["01_a/other"][0]["before"], "01_a/more/step1_duo.cu")

    def test_kernel_leaves_out_header_and_launcher(self):
        said = self.diff("01", "far", "--kernel")
        self.assertIn("- constexpr int BM = 8;", said)
        self.assertIn("far_kernel", said)
        for line in ("Step", "void far(", "host_only", "#include"):
            self.assertNotIn(line, said)

    def test_table(self):
        said = self.diff("1")
        rows = [line.split() for line in said.splitlines()]
        self.assertEqual(rows[2], ["1", "plain", "31", "5"])
        self.assertEqual(rows[3], ["2", "twice", "33", "7", "9", "3"])
        self.assertEqual(rows[4][:4], ["10", "far", "31", "5"])
        self.assertIn(["1", "solo", "1", "–"], rows)
        long = "".join(f"int x{i};\n" for i in range(160))
        (self.root / "01_a/step11_long.cu").write_text(long)
        self.assertIn("← over 150 lines, and over 120 changed", self.diff("1"))

    def test_terminal(self):
        narrow = self.on_terminal(100, "01", "twice")
        self.assertIn("\033[32m+   C[0] = \033[7m2 * \033[0m\033[32mload(A);\033[0m\n", narrow)
        wide = self.on_terminal(160, "01", "twice", NO_COLOR="1")
        self.assertNotIn("\033", wide)
        self.assertRegex(wide, r"-   C\[0\] = load\(A\);  +│ \+   C\[0\] = 2 \* load\(A\);\n")
        self.assertTrue(all(len(line) <= 160 for line in wide.splitlines()))

    def test_refusals(self):
        self.assertEqual(self.diff("9", "x", status=2),
                         "learn diff: there is no chapter '9'; choose from 01_a, 02_b\n")
        self.assertEqual(self.diff("01", "x", status=2),
                         "learn diff: there is no step 'x' in 01_a; choose from plain, twice, far\n")
        self.assertIn("; it is a part, so say ./learn diff 01/other, or choose",
                      self.diff("01", "other", status=2))
        self.assertEqual(self.diff("01/x", status=2), "learn diff: 01_a has no part 'x'; it has other\n")
        self.assertEqual(self.diff("02/x", status=2), "learn diff: 02_b has no part 'x'; write 02\n")


if __name__ == "__main__":
    unittest.main()
