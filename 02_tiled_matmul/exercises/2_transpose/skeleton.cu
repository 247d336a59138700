#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int TILE = 32;

/// Block (x, y) takes the tile of A that begins at row y·TILE and column x·TILE.
__global__ void transpose_kernel(const float* A, float* B, int64_t rows, int64_t cols) {
  const int tx = threadIdx.x, ty = threadIdx.y;  // 0 … 31 each; a warp has one ty
  const int64_t row0 = int64_t{blockIdx.y} * TILE, col0 = int64_t{blockIdx.x} * TILE;
  // ---- your code, about 6 lines: the tile in shared memory, its load, its store

  // ----
}

}  // namespace

void transpose(const float* A, float* B, int64_t rows, int64_t cols) {
  if (rows == 0 || cols == 0) return;
  const dim3 grid(ceil_div(cols, TILE), ceil_div(rows, TILE));
  transpose_kernel<<<grid, dim3(TILE, TILE)>>>(A, B, rows, cols);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
