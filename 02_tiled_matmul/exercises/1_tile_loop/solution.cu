#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int TILE = 16;

/// Block (x, y) has the tile of C that begins at row y·TILE and column x·TILE, a thread for each
/// element.
__global__ void tiled_product_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N,
                                     int64_t K) {
  __shared__ float As[TILE][TILE];               // rows of C × k
  __shared__ float Bs[TILE][TILE];               // k × columns of C
  const int tx = threadIdx.x, ty = threadIdx.y;  // 0 … 15 each
  const int64_t row = int64_t{blockIdx.y} * TILE + ty, col = int64_t{blockIdx.x} * TILE + tx;

  float sum = 0;
  for (int64_t k0 = 0; k0 < K; k0 += TILE) {  // the tiles hold k0 … k0 + TILE - 1
    // ---- your code, about 5 lines: bring an element of both tiles, then multiply; two barriers
    As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0;
    Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0;
    __syncthreads();  // nobody reads before all have written

    for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
    __syncthreads();  // nobody writes the next tiles before all have read these
    // ----
  }
  if (row < M && col < N) C[row * N + col] = sum;
}

}  // namespace

void tiled_product(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  if (M == 0 || N == 0) return;
  const dim3 grid(ceil_div(N, TILE), ceil_div(M, TILE));
  tiled_product_kernel<<<grid, dim3(TILE, TILE)>>>(A, B, C, M, N, K);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
