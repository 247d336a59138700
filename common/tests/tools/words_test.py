#!/usr/bin/env python3
"""The words after ./learn: what stands for a chapter, and what is said of a word that stands for nothing."""
import os
import subprocess
import sys
import unittest

from scratch import PROJECT, Scratch

sys.path[:0] = map(str, (PROJECT / "common/tools").glob("**/"))
import project  # noqa: E402


class Words(Scratch):
    def setUp(self):
        super().setUp()
        for name in ("01_naive/step1_first.cu", "02_tiled_matmul/step1_shared_tile.cu",
                     "02_tiled_matmul/step2_pipelined.cu", "02_tiled_matmul/joint/step1_both.cu",
                     "02_tiled_matmul/joint/main.cpp", "12_far/step1_a.cu"):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("int a;\n")

    def learn(self, status, *words):
        ran = subprocess.run(["./learn", *words], cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(status, ran.returncode, ran.stdout)
        return ran.stdout

    def test_what_stands_for_a_chapter(self):
        for word in ("2", "02", "02_", "02_tiled", "02_tiled_matmul", "02_tiled_matmul/"):
            self.assertIn("2 pipelined", self.learn(0, "diff", word))
        # What the shell takes for a chapter, it tells to `mistakes`; Python then finds no list there.
        for word in ("2", "02_tiled", "02_tiled_matmul/"):
            self.assertEqual(self.learn(1, "mistakes", word, "--list"), "02_tiled_matmul has no mistakes\n")
        for word in ("0", " ", "3", "tiled", "2_tiled", "02_tiled_matmul_"):
            for command in ("run", "diff", "break"):
                self.assertIn(f"there is no chapter '{word}'; ", self.learn(2, command, word))

    def test_what_stands_for_a_part(self):
        for word in ("2/joint", "02/joint", "02_tiled/joint/", "02_tiled_matmul/joint"):
            self.assertIn("1 both", self.learn(0, "diff", word))
            self.assertEqual(self.learn(1, "mistakes", word, "--list"), "02_tiled_matmul/joint has no mistakes\n")
        for command in ("run", "test", "diff", "break"):
            self.assertIn("12_far has no part 'x'; write 12\n", self.learn(2, command, "12/x").replace(
                "has no parts: write", "has no part 'x'; write"))

    def test_a_step_of_another_part(self):
        for words, said in ((("run", "02", "--kernel", "both"), "both is no step of 02: ./learn run 02/joint --kernel both"),
                            (("run", "02/joint", "--kernel=pipelined"),
                             "pipelined is no step of 02/joint: ./learn run 02 --kernel pipelined"),
                            (("trace", "02", "both", "file"), "both is no step of 02: ./learn trace 02/joint")):
            self.assertIn(said, self.learn(2, "--cpu", *words))

    def test_a_word_that_is_misspelt(self):
        for words, meant in (
                (("tset",), "test"), (("dif", "02"), "diff"), (("mistake",), "mistakes"), (("porfile", "02"), "profile"),
                (("run", "02_tield"), "02_tiled_matmul"), (("test", "tiled"), "02_tiled_matmul"),
                (("diff", "02_tled"), "02_tiled_matmul"), (("break", "02_tield"), "02_tiled_matmul"),
                (("diff", "02", "piplined"), "pipelined"), (("diff", "02", "shared"), "shared_tile"),
                (("diff", "02/jiont"), "joint"), (("run", "02/jiont"), "joint"), (("test", "2/join"), "joint"),
        ):
            said = self.learn(2, *words)
            self.assertIn(f"did you mean '{meant}'? ", said)
            self.assertEqual(said.count("\n"), 1, said)

    def test_a_word_that_is_like_nothing(self):
        for words in (("xyzzy",), ("run", "9"), ("diff", "02", "quux"), ("diff", "02/zz"), ("run", "02/zz"),
                      ("test", "12/zz")):
            said = self.learn(2, *words)
            self.assertNotIn("did you mean", said)
            self.assertRegex(said, "^learn.*: .*no ")

    def test_what_is_much_like_a_word(self):
        self.assertEqual("", project.did_you_mean("", ["a"]))
        self.assertEqual("", project.did_you_mean("x", ["kv_outer"]))
        self.assertEqual("did you mean 'q_outer'? ", project.did_you_mean("q_otuer", ["kv_outer", "q_outer"]))
        self.assertEqual("did you mean 'kv_outer'? ", project.did_you_mean("kv", ["kv_outer", "q_outer"]))


if __name__ == "__main__":
    unittest.main()
