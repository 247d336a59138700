// Chapter 04: the softmax of every row of a matrix.
//
//   y[r][c] = exp(x[r][c] - m) / Σ_j exp(x[r][j] - m),   m = max_j x[r][j]
//
// x and y are rows × cols, row-major float32 without gaps.
//
// Special values follow PyTorch's torch.softmax:
//   -infinity beside finite values   gives 0 there
//   a row of -infinity alone         gives a row of NaN
//   any NaN, or any +infinity        gives a row of NaN
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/compare.hpp"
#include "common/step.hpp"

namespace tutorial {

/// Computes y. Both are in device memory and do not overlap; the pointers need no more alignment
/// than a float has. Any sizes >= 0: an empty matrix is left alone. Throws CudaError when the
/// launch is refused.
using Launcher = void(const float* x, float* y, int64_t rows, int64_t cols);

inline constexpr int WHOLE_ROW = 1 << 30;  // columns of a tile that is as wide as any row

#define STEPS(STEP)                                                            \
  STEP(thread_per_row, "a thread walks its row three times (slow on purpose)", \
       Tile{256, WHOLE_ROW, 1, WHOLE_ROW, true})                               \
  STEP(block_per_row, "a block shares a row; shuffles join its threads",       \
       Tile{.rows = 1, .cols = WHOLE_ROW, .thread_rows = 0, .x_down = true})   \
  STEP(online, "maximum and sum in one pass",                                  \
       Tile{.rows = 1, .cols = WHOLE_ROW, .thread_rows = 0, .x_down = true})   \
  STEP(row_on_chip, "the row stays in registers: each element is read once",   \
       Tile{.rows = 1, .cols = WHOLE_ROW, .thread_rows = 0, .x_down = true})   \
  STEP(warp_per_row, "a short row belongs to a warp: no barrier")              \
  STEP(row_in_shared, "a long row waits in shared memory",                     \
       Tile{.rows = 1, .cols = WHOLE_ROW, .thread_rows = 0, .x_down = true})   \
  STEP(cluster, "eight blocks share a row", Tile{}, "sm_90")                   \
  STEP(any_row, "the fastest of these for each length of row")
TUTORIAL_STEPS(Launcher, STEPS)

/// Threads of a block that shares a row of any length: no more warps than the row has work for.
inline int threads_for(int64_t cols) {
  return static_cast<int>(std::min<int64_t>((cols + 31) / 32 * 32, 256));
}

/// The softmax of some rows, in double: row i of the result is row rows[i] of x. The bound is that
/// of a float32 kernel (common/softmax_error.hpp).
Expected reference(std::span<const float> x, int64_t cols, std::span<const int64_t> rows);

/// What each row of y adds up to: 1, or NaN. Cheap enough for all rows of a large matrix.
Expected expected_row_sums(std::span<const float> x, int64_t cols);
/// The sum of each row of y, added up in double.
std::vector<float> row_sums(std::span<const float> y, int64_t cols);

}  // namespace tutorial
