#include <algorithm>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

/// A grid has few blocks in z: those with blockIdx.z = z take the matrices z, z + gridDim.z,
/// z + 2·gridDim.z, …
__global__ void batched_product_kernel(int64_t batch, int64_t M, int64_t N, int64_t K,
                                       const float* A, int64_t stride_a, const float* B,
                                       int64_t stride_b, float* C) {
  const int64_t row = int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const int64_t col = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  // ---- your code, about 7 lines: for each matrix of this block, where A, B and C begin; the sum

  // ----
}

}  // namespace

void batched_product(int64_t batch, int64_t M, int64_t N, int64_t K, const float* A,
                     int64_t stride_a, const float* B, int64_t stride_b, float* C) {
  if (batch == 0 || M == 0 || N == 0) return;
  const dim3 block(32, 8);
  const dim3 grid(ceil_div(N, block.x), ceil_div(M, block.y), std::min(batch, grid_limit.y));
  batched_product_kernel<<<grid, block>>>(batch, M, N, K, A, stride_a, B, stride_b, C);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
