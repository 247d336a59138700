#!/usr/bin/env python3
"""common/tools/learn/take.py: what it writes of all steps, and in a project of one small chapter what it takes and
leaves out, and what it refuses. take_all.py compiles and runs it."""
import os
import re
import shutil
import subprocess
import sys
import unittest

from scratch import PROJECT, Scratch

sys.path[:0] = map(str, (PROJECT / "common/tools").glob("**/"))
import project  # noqa: E402
import take  # noqa: E402
import take_all  # noqa: E402

MOST_LINES, MOST_LINES_OF_CODE = 850, 600  # of a step of the road


class EveryStep(unittest.TestCase):
    def test_every_step_is_one_file(self):
        # One step in six, each day others; with TUTORIAL_ALL (./learn test --all) all of them.
        for folder, step in take_all.chosen(1 if "TUTORIAL_ALL" in os.environ else 6):
            with self.subTest(f"{project.short_name(folder)} {step.name}"):
                taken = take.take(folder, step, "my.cu")
                lines = taken.text.splitlines()
                main = taken.text[taken.text.index("\n// ---- main "):]
                for gone in (r'^#include "', "^#pragma once", r"// (only|but): "):
                    self.assertFalse(re.search(gone, taken.text, re.M), gone)
                self.assertNotIn("STEP", main)
                self.assertIn(f'print_time("{step.name}"', main)
                included = re.findall("^#include (<.*>)$", taken.text, re.M)
                self.assertEqual(len(included), len(set(included)))
                titles = re.findall("^// ---- ([^ ]+)", taken.text, re.M)
                self.assertEqual(len(titles), len(set(titles)))
                self.assertEqual(len(re.findall(r"^int main\(", taken.text, re.M)), 1)
                own = step.path.read_text()
                self.assertTrue(own[own.index("\nnamespace "):] in taken.text, "the step is not as in its file")
                self.assertRegex(taken.flags, r"^-O3 -arch=sm_\d+a?( -std=c\+\+20)?$")
                if folder in project.chapters():
                    code = [line for line in lines if not re.match(r"\s*(//|$)", line)]
                    self.assertLessEqual(len(lines), MOST_LINES)
                    self.assertLessEqual(len(code), MOST_LINES_OF_CODE)

    def test_the_architecture_is_what_a_step_needs(self):
        for ladder, name, flags in (("02", "pipelined", "sm_75"), ("02/tensor_cores", "wmma", "sm_80"),
                                    ("02/hopper", "producer", "sm_90a"), ("02/few_rows", "by_shape", "sm_90a"),
                                    ("04/long_rows", "cluster", "sm_90"),
                                    ("04/long_rows", "any_row", "sm_90")):
            folder = project.find_ladder(ladder)
            step = next(step for step in project.steps(folder) if step.name == name)
            self.assertIn(f"-arch={flags}", take.take(folder, step, "my.cu").flags.split())

    def test_what_the_mains_say_of_steps(self):
        for folder in project.ladders():
            names = {step.name for step in project.steps(folder)}
            said = re.findall(r"// (?:only|but): ([\w, ]+)$", (folder / "take.cu").read_text(), re.M)
            self.assertLessEqual({name for each in said for name in each.split(", ")}, names, folder.name)


HEADER = """\
// Chapter 01: what it is about.
#pragma once

#include <vector>

#include "common/kernel/words.cuh"

namespace tutorial::a {

/// Doubles.
using Launcher = void(float* x, int n);

Launcher plain, twice;

/// How large.
int size_of(int n);
int nobody_asks(int n);

inline const std::vector<Step> steps = {
    {.name = "plain", .launch = plain},
    {.name = "twice", .launch = twice, .needs = "sm_80"},
};

}  // namespace tutorial::a
"""
WORDS = """\
// Words.
#pragma once

#include <cuda_runtime.h>
#include <string>

#define CHECK(x) ::tutorial::check(x)
#define MADE(N) inline int made() { return N; }

namespace tutorial {

inline void check(int status) {
  if (status != 0) throw status;
}
MADE(1)
/// Is left out.
inline int unused(const std::string& text) { return text.size(); }

enum class Mode { one, two };

struct Base {
  Base();
  int size = 0;
};
static_assert(sizeof(Base) == sizeof(int), "as small as that");

}  // namespace tutorial
"""
PLAIN = """\
// Step 1: plain.
#include "01_a.hpp"

namespace tutorial::a {
namespace {

constexpr int BLOCK = 32;

__global__ void plain_kernel(float* x, int n) {
  extern __shared__ float memory[];
  if (threadIdx.x < n) x[threadIdx.x] *= 2;
}

}  // namespace

void plain(float* x, int n) {
  plain_kernel<<<1, BLOCK>>>(x, size_of(n));
  CHECK(0);
}

}  // namespace tutorial::a
"""
TWICE = PLAIN.replace("plain", "twice").replace("Step 1", "Step 2").replace("CHECK(0);", "plain(x, n);")
SIZE = """\
#include <limits>

#include "01_a.hpp"

namespace tutorial::a {
namespace {

int BLOCK_and_more(int n) {
  return n + (Mode::one == Mode::two);
}

}  // namespace

int size_of(int n) {
  return BLOCK_and_more(n);
}

int nobody_asks(int n) {
  return n;
}

}  // namespace tutorial::a
"""
MAIN = """\
// The main() of ./learn take 01 STEP FILE.
// words: n, in the simulator 10
#include "01_a.hpp"

int main() {
  float x[4] = {};
  tutorial::a::STEP(x, 1);  // only: plain
  tutorial::a::STEP(x, 2);  // but: plain
  const char* name = "STEP";
}
"""


class Command(Scratch):
    def setUp(self):
        super().setUp()
        chapter = self.root / "01_a"
        (chapter / "more").mkdir(parents=True)
        (self.root / "common/kernel").mkdir()
        shutil.copy(PROJECT / "LICENSE", self.root)
        for path, text in (("01_a/01_a.hpp", HEADER), ("common/kernel/words.cuh", WORDS), ("01_a/size.cpp", SIZE),
                           ("01_a/step1_plain.cu", PLAIN), ("01_a/step2_twice.cu", TWICE), ("01_a/take.cu", MAIN),
                           ("01_a/more/step1_other.cu", PLAIN)):
            (self.root / path).write_text(text)

    def take(self, *words, status=0):
        done = subprocess.run([self.root / "learn", "take", *words], cwd=self.root, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def taken(self, *words):
        self.take(*words, "my.cu")
        text = (self.root / "my.cu").read_text()
        (self.root / "my.cu").unlink()
        return text

    def test_it_takes_what_is_used_and_nothing_else(self):
        text = self.taken("01", "plain")
        for there in ("// Chapter 01: what it is about.\n", "/// Doubles.\nusing Launcher", "Launcher plain;",
                      "int size_of(int n);", "return BLOCK_and_more(n);", "#define CHECK(x)", "enum class Mode",
                      "inline void check(int status)", "plain_kernel<<<1, BLOCK>>>", "tutorial::a::plain(x, 1);\n",
                      'name = "plain";', "#include <cuda_runtime.h>\n", "nvcc -O3 -arch=sm_75 my.cu -o my && ./my",
                      "./learn try my.cu --cpu 10"):
            self.assertIn(there, text)
        for gone in ("steps", "nobody_asks", "unused", "struct Base", "static_assert", "twice", "(x, 2)", "// Words.",
                     "made", "<string>", "<vector>", "<limits>", "pragma once", '#include "'):
            self.assertNotIn(gone, text)
        self.assertLess(text.index("inline void check"), text.index("return BLOCK_and_more"))
        self.assertLess(text.index("return BLOCK_and_more"), text.index("plain_kernel"))
        self.assertLess(text.index("plain_kernel"), text.index("int main"))

    def test_another_step_comes_along_under_names_of_its_own(self):
        text = self.taken("01_a", "2")
        self.assertIn("constexpr int plain_BLOCK = 32;", text)
        self.assertIn("plain_kernel<<<1, plain_BLOCK>>>", text)
        self.assertIn("extern __shared__ float plain_memory[];", text)
        self.assertIn("twice_kernel<<<1, BLOCK>>>", text)
        self.assertIn("Launcher plain, twice;", text)
        self.assertIn("tutorial::a::twice(x, 2);\n", text)
        self.assertIn("-arch=sm_80", text)

    def test_the_constants_of_a_class_keep_their_names(self):
        (self.root / "01_a/step1_plain.cu").write_text(PLAIN.replace(
            "constexpr int BLOCK = 32;",
            "struct Sizes {\n  static constexpr int BLOCK = 32;\n};\nconstexpr int BLOCK = Sizes::BLOCK;"))
        text = self.taken("01", "twice")
        self.assertIn("  static constexpr int BLOCK = 32;", text)
        self.assertIn("\nconstexpr int plain_BLOCK = Sizes::BLOCK;", text)

    def test_what_is_for_another_step_alone_stays_there(self):
        asks = "  int more = 0;\n  if (step == &plain) more = 1;\n  if (step == &twice) more = 2;\n  return more;\n"
        (self.root / "01_a/01_a.hpp").write_text(HEADER.replace(
            "/// How large.", f"inline int more_of(Launcher* step) {{\n{asks}}}\n/// How large."))
        (self.root / "01_a/step1_plain.cu").write_text(PLAIN.replace("size_of(n)", "size_of(n) + more_of(plain)"))
        text = self.taken("01", "plain")
        self.assertIn("if (step == &plain) more = 1;\n  return more;\n", text)
        self.assertNotIn("twice", text)

    def test_members_and_what_follows_from_a_class(self):
        main = self.root / "01_a/take.cu"
        main.write_text(MAIN.replace("float x", "tutorial::Base base;\n  int one = tutorial::made();\n  float x"))
        (self.root / "common/kernel/words.cpp").write_text(
            '#include "common/kernel/words.cuh"\nnamespace tutorial {\nBase::Base() {\n  size = 1;\n}\n}\n')
        text = self.taken("01", "plain")
        for there in ("struct Base", "Base::Base() {", "static_assert(sizeof(Base)", "#define MADE(N)", "\nMADE(1)"):
            self.assertIn(there, text)

    def test_a_template_for_a_type_of_another_header(self):
        words = self.root / "common/kernel/words.cuh"
        words.write_text(WORDS.replace("}  // namespace tutorial\n", "template <class T>\nint kind_of() {\n  return 0;\n}\n"
                                       "template <class T>\nint call() {\n  return kind_of<T>();\n}\n"
                                       "template <class T>\nint unused_of();\n}  // namespace tutorial\n"))
        (self.root / "common/kernel/small.cuh").write_text(
            '#pragma once\n#include "common/kernel/words.cuh"\nnamespace tutorial {\nstruct Small {};\n'
            "template <>\ninline int kind_of<Small>() {\n  return 8;\n}\n"
            "template <>\ninline int unused_of<Small>() {\n  return 9;\n}\n}\n")
        (self.root / "01_a/step1_plain.cu").write_text(PLAIN.replace('"01_a.hpp"', '"01_a.hpp"\n#include "common/kernel/small.cuh"').replace(
            "CHECK(0);", "CHECK(0);\n  call<Small>();"))
        text = self.taken("01", "plain")
        self.assertIn("inline int kind_of<Small>() {", text)
        self.assertNotIn("unused_of", text)

    def test_the_step_of_a_part_needs_a_main(self):
        self.assertEqual(self.take("01/more", "other", "my.cu", status=2),
                         "learn take: there is no 01_a/more/take.cu, which would hold the main() for its steps\n")
        self.assertFalse((self.root / "my.cu").exists())

    def test_it_says_how_to_go_on(self):
        said = self.take("01", "plain", "a b.cu")
        self.assertIn("  nvcc -O3 -arch=sm_75 'a b.cu' -o 'a b' && './a b'\n", said)
        self.assertIn("  ./learn try 'a b.cu' --cpu 10\n", said)

    def test_refusals(self):
        (self.root / "there.cu").write_text("mine")
        for words, told in ((("01", "plian", "my.cu"), "did you mean 'plain'? choose from plain, twice"),
                            (("01", "more", "my.cu"), "it is a part, so say ./learn take 01/more"),
                            (("03", "plain", "my.cu"), "there is no chapter '03'"),
                            (("01", "plain", "my.c"), "my.c is no name for a CUDA file: it must end in .cu"),
                            (("01", "plain", "there.cu"), "there.cu is there already: take another name, or remove it"),
                            (("01", "plain", "no/my.cu"), "no/my.cu cannot be written: No such file or directory"),
                            (("01", "plain"), "into which file? For example: ./learn take 01 plain my.cu"),
                            (("01",), "take which step? For example: ./learn take 01 plain my.cu"),
                            ((), "take which step? For example: ./learn take 02 register_tile tile.cu")):
            said = self.take(*words, status=2)
            self.assertTrue(said.startswith("learn take: "), said)
            self.assertIn(told, said)
            self.assertEqual(said.count("\n"), 1)
        self.assertEqual((self.root / "there.cu").read_text(), "mine")
        self.assertEqual(list(self.root.glob("my.*")), [])


if __name__ == "__main__":
    unittest.main()
