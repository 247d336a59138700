#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int TILE = 16;  // a block has 16 × 16 threads, and as many elements of C

__global__ void linear_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N,
                              int64_t K) {
  // ---- your code, a whole kernel of about 17 lines: tiles in shared memory, the sum, the store
  __shared__ float As[TILE][TILE], Bs[TILE][TILE + 1];  // rows of A and of B, as they lie
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int64_t row0 = int64_t{blockIdx.y} * TILE, col0 = int64_t{blockIdx.x} * TILE;

  float sum = 0;
  for (int64_t k0 = 0; k0 < K; k0 += TILE) {
    const bool inside = k0 + tx < K;
    As[ty][tx] = inside && row0 + ty < M ? A[(row0 + ty) * K + k0 + tx] : 0;
    Bs[ty][tx] = inside && col0 + ty < N ? B[(col0 + ty) * K + k0 + tx] : 0;
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[tx][k];
    __syncthreads();
  }
  if (row0 + ty < M && col0 + tx < N) C[(row0 + ty) * N + col0 + tx] = sum;
  // ----
}

}  // namespace

void linear(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  if (M == 0 || N == 0) return;
  linear_kernel<<<dim3(ceil_div(N, TILE), ceil_div(M, TILE)), dim3(TILE, TILE)>>>(A, B, C, M, N, K);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
