#!/usr/bin/env python3
"""common/tools/mutants/branches.py: which lines are a kernel's, which branches are conditions, and is its list as it should be."""
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "tools/mutants"), str(Path(__file__).resolve().parents[2] / "tools")]
import branches

SOURCE = """template <int BM>
__global__ void __launch_bounds__(BM)
    kernel(const float* A) {
  if (A) {
  }
}
// __device__ code is above
__device__ float declared(int);
__host__ __device__ int both(int i) {
  return i;
}
int host(int i) { return i; }
"""


def arc(count, throws=False):
    return {"count": count, "throw": throws, "fallthrough": True}


class Branches(unittest.TestCase):
    def test_lines_of_kernels_are_not_the_hosts(self):
        self.assertEqual(branches.device_lines(SOURCE) & set(range(9, 13)), set())
        self.assertLessEqual({2, 3, 4, 5, 6}, branches.device_lines(SOURCE))

    def test_a_call_that_may_throw_is_no_condition(self):
        arcs = [arc(7), arc(0, throws=True), arc(3), arc(4), arc(0), arc(7)]
        self.assertEqual(branches.without_exceptions(arcs), [(3, 4), (0, 7)])

    def test_instances_on_a_line_add_up(self):
        ways = [(0, 4), (3, 5), (2, 0), (1, 0)]
        self.assertEqual(branches.folded(ways, "if (a && b) {"), [(2, 4), (4, 5)])
        self.assertEqual(branches.folded(ways, "return small ? a : b;"), [(6, 9)])
        self.assertEqual(branches.folded(ways, "f(a);"), ways)

    def test_a_switch_has_cases_and_no_condition(self):
        text = "switch (way) {\n  case Way::one:\n    return 1;\n  case 2: return b;\n  default:  // none\n    a = b;\n}\n"
        self.assertEqual(branches.switches(text), ({1}, {3, 4, 6}))
        self.assertEqual(branches.switches("switch (\n    way_of(a)) {\n}\n")[0], {1, 2})

    def test_each_reason_names_a_line(self):
        for path, piece, why in branches.reasons():
            text = (branches.project.ROOT / path).read_text()
            self.assertTrue(any(piece in line for line in text.splitlines()), f"{path} | {piece}")
            self.assertTrue(why)


if __name__ == "__main__":
    unittest.main()
