#!/usr/bin/env python3
"""common/tools/pages/page_formulas.py beside the same thing counted one by one, at sizes that a loop can count."""
import sys
import unittest

from scratch import PROJECT

sys.path[:0] = map(str, (PROJECT / "common/tools").glob("**/"))
import page_formulas as formulas  # noqa: E402


def blocks(length, b):
    """How long each tile of side b is."""
    return [min(b, length - first) for first in range(0, length, b)]


class Formulas(unittest.TestCase):
    def test_product(self):
        for m, n, k in ((1, 1, 1), (3, 4, 5), (7, 1, 6)):
            flop = sum(2 for _ in range(m) for _ in range(n) for _ in range(k))
            numbers = {*(("A", i, x) for i in range(m) for x in range(k)),
                       *(("B", x, j) for x in range(k) for j in range(n)),
                       *(("C", i, j) for i in range(m) for j in range(n))}
            self.assertEqual(formulas.product_flop(m, n, k), flop)
            self.assertEqual(formulas.product_bytes(m, n, k, 2), 2 * len(numbers))
            self.assertEqual(formulas.intensity(m, n, k, 4), flop / 4 / len(numbers))

    def test_layer_of_gpt3(self):
        flop = formulas.gpt3_layer_flop()
        weights = (flop["projections"] + flop["feed-forward"]) / (2 * formulas.GPT3_TOKENS)
        # 175 billion with the embeddings, which are 0.6 of them
        self.assertAlmostEqual(formulas.GPT3_LAYERS * weights / 1e9, 174, delta=0.5)
        head = formulas.GPT3_WIDTH // formulas.GPT3_HEADS
        self.assertEqual(flop["attention"], 2 * formulas.GPT3_HEADS * formulas.product_flop(2048, 2048, head))
        self.assertAlmostEqual(sum(map(formulas.gpt3_share, flop)), 1)

    def test_accesses_of_two_products_and_of_one(self):
        for m, n, k, b in ((8, 8, 4, 4), (8, 12, 8, 4), (5, 7, 6, 4), (3, 2, 5, 8), (1, 9, 3, 2)):
            two = sum(rows * k + k * cols + rows * cols for rows in blocks(m, b) for cols in blocks(n, b))
            two += sum(rows * n + n * cols + rows * cols for rows in blocks(m, b) for cols in blocks(k, b))
            one = sum(rows * k + sum(k * between + between * cols for between in blocks(n, b)) + rows * cols
                      for rows in blocks(m, b) for cols in blocks(k, b))
            self.assertEqual(formulas.two_accesses(m, n, k, b), two, (m, n, k, b))
            self.assertEqual(formulas.joint_accesses(m, n, k, b), one, (m, n, k, b))

    def test_the_articles_formulas_for_whole_tiles(self):
        self.assertEqual(formulas.two_accesses_claimed(16, 8, 12, 4), formulas.two_accesses(16, 8, 12, 4))
        self.assertEqual(formulas.joint_accesses_claimed(16, 8, 4, 4), formulas.joint_accesses(16, 8, 4, 4))
        self.assertLess(formulas.joint_accesses_claimed(16, 8, 12, 4), formulas.joint_accesses(16, 8, 12, 4))
        self.assertEqual(formulas.joint_flop(16, 8, 12, 12), 2 * formulas.product_flop(16, 8, 12))
        self.assertEqual(formulas.joint_flop(16, 8, 12, 4), 4 * formulas.product_flop(16, 8, 12))

    def test_scores(self):
        for d in (16, 64):
            self.assertAlmostEqual(formulas.score_variance(d) / d, 1, delta=0.06)
            for scale in (1, d**-0.5):
                weights = formulas.attention_weights(d, scale)
                self.assertEqual(len(weights), formulas.QUERIES)
                for row in weights:
                    self.assertEqual(len(row), formulas.KEYS)
                    self.assertAlmostEqual(sum(row), 1)
                by_hand = sum(1 - sum(p * p for p in row) for row in weights) / len(weights)
                self.assertAlmostEqual(formulas.weight_slopes(d, scale), by_hand)
            self.assertGreater(formulas.largest_weight(d, 1), 5 * formulas.largest_weight(d, d**-0.5))
        self.assertEqual(formulas.attention_weights(16, 0), [[1 / formulas.KEYS] * formulas.KEYS] * formulas.QUERIES)

    def test_scores_are_the_same_each_time(self):
        before = formulas.scores(16)
        formulas.scores.cache_clear()
        self.assertEqual(formulas.scores(16), before)

    def test_occupancy(self):
        """As the CUDA runtime said of kernels on an H200."""
        for blocks, part in (((128, 66), 7 / 16), ((256, 32, 33408), 3 / 4), ((256, 32, 66176), 3 / 8), ((256, 120), 1 / 4),
                             ((256, 31, 2048), 1), ((128, 154, 41976), 3 / 16),
                             ((32, 32, 896), 1 / 2)):
            self.assertEqual(formulas.occupancy(*blocks), part, blocks)


if __name__ == "__main__":
    unittest.main()
