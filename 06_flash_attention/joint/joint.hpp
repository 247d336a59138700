// Part joint of chapter 6: two products as one, attention without the softmax.
//
//   y = ỹ·C,   ỹ = A·B        A (m, k), B (k, n), C (n, k), y (m, k), ỹ (m, n)
//
// In attention A is Q, B is Kᵀ and C is V; m and n are sequence lengths, k is the head size. ỹ is
// by far the largest of them. All are float32, row-major, in global memory, at any address that a
// float* can have, and do not overlap. Any sizes >= 0.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/shared_memory.hpp"
#include "common/kernel/step.hpp"

namespace tutorial::flash_attention::joint {

/// The road's step that these go on from: the same loops, without the softmax.
inline constexpr const char* after = "q_outer";

// ---- the steps

/// Writes y. `y_tilde` is m·n floats that a kernel may use as it likes. Does nothing when y is
/// empty. Waits for nothing.
using Launcher = void(const float* A, const float* B, const float* C, float* y, float* y_tilde,
                      int64_t m, int64_t n, int64_t k);

Launcher two_products, joint_tiling;

Asks<Launcher> two_products_ask, joint_tiling_asks;

inline const std::vector<Step<Launcher>> steps = {
    {.name = "two_products",
     .launch = two_products,
     .asked = two_products_ask,
     .idea = "one product after the other; the first goes through global memory"},
    {.name = "joint_tiling",
     .launch = joint_tiling,
     .asked = joint_tiling_asks,
     .idea = "two products as one; the first one's tiles never leave the chip"},
};

inline constexpr int TILES[] = {16, 32, 64};  // the tile sizes b to choose from
inline constexpr int64_t MAX_STRIP = 128;  // columns of A that a block can keep: 32 KB for b = 64
/// Shared memory of a block of joint_tiling: strips of A and B, and tiles of C and ỹ.
inline int64_t joint_bytes(int64_t k, int64_t b) {
  return int64_t{sizeof(float)} * (2 * b * std::min(k, MAX_STRIP) + 2 * b * b);
}
/// The smallest of TILES that covers a row of y, else the largest for which this device has the
/// shared memory. Both steps take the same.
inline int tile_for(int64_t k) {
  int tile = TILES[0];
  for (int b : TILES)
    if (tile < k && joint_bytes(k, b) <= shared_memory_limit()) tile = b;
  return tile;
}

// ---- what they do, counted

struct Tally {
  int64_t flop = 0;      // a multiply-add is two
  int64_t accesses = 0;  // floats read from or written to global memory by the kernel's threads
  bool operator==(const Tally&) const = default;
};

/// Runs the same kernel with tile size b, counting at the very place where an element is read,
/// written or multiplied. Waits for it.
Tally count_two_products(const float* A, const float* B, const float* C, float* y, float* y_tilde,
                         int64_t m, int64_t n, int64_t k, int b);
Tally count_joint_tiling(const float* A, const float* B, const float* C, float* y, int64_t m,
                         int64_t n, int64_t k, int b);

/// The formulas of the article "When to tile two matrix multiplies".
inline Tally article_two_products(int64_t m, int64_t n, int64_t k, int b) {
  return {.flop = 4 * m * n * k, .accesses = 4 * m * n * k / b + m * n + m * k};
}
inline Tally article_joint_tiling(int64_t m, int64_t n, int64_t k, int b) {
  return {.flop = 2 * m * n * k * (ceil_div(k, b) + 1),
          .accesses = ceil_div(m, b) * (2 * b * k + 2 * b * k * ceil_div(n, b))};
}

// ---- the reference

/// The rows `rows` of y, in double.
Expected reference(std::span<const float> A, std::span<const float> B, std::span<const float> C,
                   int64_t n, int64_t k, std::span<const int64_t> rows);

}  // namespace tutorial::flash_attention::joint
