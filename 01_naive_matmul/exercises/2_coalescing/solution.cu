#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int TILE = 32;

/// Block (x, y) has the tile of C that begins at row y·TILE and column x·TILE, a thread for each
/// element.
__global__ void transposed_product_kernel(const float* A, const float* B, float* C, int64_t M,
                                          int64_t N, int64_t K) {
  const int tx = threadIdx.x, ty = threadIdx.y;  // 0 … 31 each; a warp has one ty
  const int64_t row0 = int64_t{blockIdx.y} * TILE, col0 = int64_t{blockIdx.x} * TILE;
  // ---- your code, about 5 lines: which element of the tile is this thread's; its sum; its store
  const int64_t row = row0 + ty, col = col0 + tx;  // a warp has 32 neighbours in a row of C
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int64_t k = 0; k < K; ++k) sum += A[k * M + row] * B[k * N + col];
  C[row * N + col] = sum;
  // ----
}

}  // namespace

void transposed_product(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  if (M == 0 || N == 0) return;  // a grid of 0 blocks is an error
  const dim3 grid(ceil_div(N, TILE), ceil_div(M, TILE));
  transposed_product_kernel<<<grid, dim3(TILE, TILE)>>>(A, B, C, M, N, K);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
