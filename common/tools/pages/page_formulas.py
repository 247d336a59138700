"""What a formula gives, for the numbers in sentences (page_values.py). Used by pages.py.

FLOP are those of the mathematics, a multiply-add is two. Sizes are in numbers, and in bytes where `size` is a number's.
Products are (m×k)·(k×n), the pair of chapter 06's part joint is (m×k)·(k×n)·(n×k).
  product_flop(m, n, k), product_bytes(m, n, k, size), intensity(m, n, k, size)
  gpt3_layer_flop(), gpt3_share(PART)        one layer of GPT-3 at its 2048 tokens
  two_accesses(m, n, k, b), joint_accesses(…), joint_flop(…), two_accesses_claimed(…), joint_accesses_claimed(…)
  score_variance(d), largest_weight(d, scale), weight_slopes(d, scale)    of attention over random vectors
  occupancy(threads, registers, shared=0)    of a multiprocessor's places for threads the part that such blocks can
                                             fill: registers a thread, bytes of shared memory a block; on sm_90
  math                                       Python's
"""
import math
import random
import statistics
from functools import lru_cache

from registers import most_blocks


def product_flop(m, n, k):
    return 2 * m * n * k


def product_bytes(m, n, k, size):
    """Each input read once, the output written once."""
    return size * (m * k + k * n + m * n)


def intensity(m, n, k, size):
    return product_flop(m, n, k) / product_bytes(m, n, k, size)


# ---- a layer of GPT-3

GPT3_LAYERS, GPT3_WIDTH, GPT3_HEADS, GPT3_TOKENS = 96, 12288, 96, 2048


def gpt3_layer_flop():
    """By part. No mask is made use of. An exponential, a tanh, a division and a root count as one."""
    tokens, width = GPT3_TOKENS, GPT3_WIDTH
    weights = GPT3_HEADS * tokens * tokens
    return {
        "projections": 4 * product_flop(tokens, width, width),  # to q, k and v, and of the output
        "feed-forward": 2 * product_flop(tokens, 4 * width, width),
        "attention": 2 * product_flop(tokens, tokens, width),  # q·kᵀ and weights·v, over all heads
        "others": weights * 6  # of each score: scaled, compared, minus the maximum, exponential, added up, divided
        + tokens * width * (2 * 7  # two normalisations: mean, difference, its square added up, root, scale, shift
                            + 2  # two residuals
                            + 9  # biases: of q, k, v, the output, 4 of the hidden layer and 1 behind it
                            + 4 * 9),  # GELU of the hidden layer, with a tanh
    }


def gpt3_share(part):
    flop = gpt3_layer_flop()
    return flop[part] / sum(flop.values())


# ---- two products as one: accesses as chapter 06's kernels make them, and by the article's formulas

def tiles(length, b):
    return -(-length // b)


def two_accesses(m, n, k, b):
    return (m * k * tiles(n, b) + k * n * tiles(m, b) + m * n  # ỹ = A·B
            + m * n * tiles(k, b) + n * k * tiles(m, b) + m * k)  # y = ỹ·C


def joint_accesses(m, n, k, b):
    """A and B are read again for each column of tiles of y."""
    columns = tiles(k, b)
    return columns * m * k + columns * tiles(m, b) * k * n + tiles(m, b) * n * k + m * k


def joint_flop(m, n, k, b):
    return 2 * m * n * k * (tiles(k, b) + 1)


def two_accesses_claimed(m, n, k, b):
    return 4 * m * n * k / b + m * n + m * k


def joint_accesses_claimed(m, n, k, b):
    return tiles(m, b) * (2 * b * k + 2 * b * k * tiles(n, b))


# ---- why scores are divided by the root of the head size

QUERIES, KEYS = 100, 128


@lru_cache
def scores(d):
    """Of random queries and keys: d standard normal numbers each, the same at every call."""
    uniform, normal = random.Random(1).random, statistics.NormalDist()
    queries, keys = ([[normal.inv_cdf(uniform()) for _ in range(d)] for _ in range(count)] for count in (QUERIES, KEYS))
    return [[sum(map(float.__mul__, query, key)) for key in keys] for query in queries]


def score_variance(d):
    return statistics.pvariance([score for row in scores(d) for score in row])


@lru_cache
def attention_weights(d, scale):
    """A row for each query: the softmax of its scores."""
    def softmax(row):
        top = max(row)
        exponentials = [math.exp(scale * (score - top)) for score in row]
        total = sum(exponentials)
        return [x / total for x in exponentials]
    return [softmax(row) for row in scores(d)]


def largest_weight(d, scale):
    """The mean over the queries."""
    return statistics.mean(max(row) for row in attention_weights(d, scale))


def weight_slopes(d, scale):
    """The derivatives p·(1 − p) of all weights of a query by their own scores, added up; the mean over the queries. 0
    where one key has all the weight, almost 1 where many keys share it. The scores' gradient has them as a factor."""
    return statistics.mean(sum(p * (1 - p) for p in row) for row in attention_weights(d, scale))


# ---- what finds a place on a multiprocessor of compute capability 9.0

def occupancy(threads, registers, shared=0):
    return most_blocks("90a", registers, shared, threads)[0] * threads / 2048


KNOWN = {function.__name__: function for function in
         (product_flop, product_bytes, intensity, gpt3_layer_flop, gpt3_share, two_accesses, joint_accesses, joint_flop,
          two_accesses_claimed, joint_accesses_claimed, score_variance, largest_weight, weight_slopes, occupancy)} | {"math": math}
