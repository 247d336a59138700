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
  __shared__ float tile[TILE][TILE + 1];  // the padding parts a column's banks
  if (row0 + ty < rows && col0 + tx < cols) tile[ty][tx] = A[(row0 + ty) * cols + col0 + tx];
  __syncthreads();  // nobody reads before all have written

  // A row of B is a column of A. tx counts along it, so that a warp writes neighbours.
  if (col0 + ty < cols && row0 + tx < rows) B[(col0 + ty) * rows + row0 + tx] = tile[tx][ty];
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
