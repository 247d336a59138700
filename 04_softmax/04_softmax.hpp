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
//
// Rows that the registers of a block do not hold are the matter of part long_rows/.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/kernel/step.hpp"

namespace tutorial::softmax {

/// Computes y. Both are in global memory and do not overlap; the pointers need no more alignment
/// than a float has. Any sizes >= 0: an empty matrix is left alone. Throws CudaError when the
/// launch is refused.
using Launcher = void(const float* x, float* y, int64_t rows, int64_t cols);

inline constexpr int WHOLE_ROW = 1 << 30;  // columns of a tile that is as wide as any row

Launcher thread_per_row, block_per_row, online, row_on_chip, warp_per_row;

/// The last three in a stream, for part long_rows.
void online_on(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream);
void row_on_chip_on(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream);
void warp_per_row_on(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream);

/// A block has one row; which of its elements a thread has depends on the length.
inline constexpr Tile ROW_A_BLOCK = {
    .rows = 1, .cols = WHOLE_ROW, .thread_rows = 0, .x_down = true};

/// y is written once, and x read so often. Where no step has room to keep a row, online reads it.
inline std::vector<Asked> reads_three_times(const float*, float*, int64_t rows, int64_t cols) {
  return {{.loads = 12 * rows * cols, .stores = 4 * rows * cols}};
}
inline std::vector<Asked> reads_twice(const float*, float*, int64_t rows, int64_t cols) {
  return {{.kernel = "online_kernel", .loads = 8 * rows * cols, .stores = 4 * rows * cols}};
}
inline std::vector<Asked> reads_once(const float* x, float* y, int64_t rows, int64_t cols) {
  return {{.loads = 4 * rows * cols, .stores = 4 * rows * cols}, reads_twice(x, y, rows, cols)[0]};
}

inline const std::vector<Step<Launcher>> steps = {
    {.name = "thread_per_row",
     .launch = thread_per_row,
     .asked = reads_three_times,
     .idea = "a thread walks its row three times (slow on purpose)",
     .tile = {.rows = 256,
              .cols = WHOLE_ROW,
              .thread_rows = 1,
              .thread_cols = WHOLE_ROW,
              .x_down = true}},
    {.name = "block_per_row",
     .launch = block_per_row,
     .asked = reads_three_times,
     .idea = "a block shares a row; shuffles join its threads",
     .tile = ROW_A_BLOCK},
    {.name = "online",
     .launch = online,
     .asked = reads_twice,
     .idea = "maximum and sum in one pass",
     .tile = ROW_A_BLOCK},
    {.name = "row_on_chip",
     .launch = row_on_chip,
     .asked = reads_once,
     .idea = "the row stays in registers: each element is read once",
     .tile = ROW_A_BLOCK},
    {.name = "warp_per_row",
     .launch = warp_per_row,
     .asked = reads_once,
     .idea = "a short row belongs to a warp: no barrier"},
};

/// Threads of a block of steps 2 and 3, which shares a row of any length: no more warps than the
/// row has work for.
inline int threads_for(int64_t cols) {
  return static_cast<int>(std::min<int64_t>((cols + 31) / 32 * 32, 256));
}

/// The softmax of some rows, in double: row i of the result is row rows[i] of x. The bound is that
/// of a float32 kernel (common/compare/softmax_error.hpp).
Expected reference(std::span<const float> x, int64_t cols, std::span<const int64_t> rows);

/// What each row of y adds up to: 1, or NaN. Cheap enough for all rows of a large matrix.
Expected expected_row_sums(std::span<const float> x, int64_t cols);
/// The sum of each row of y, added up in double.
std::vector<float> row_sums(std::span<const float> y, int64_t cols);

}  // namespace tutorial::softmax
