// Step 2 = step 1 + threadIdx.x counts columns, so that a warp reads and writes whole sectors.
//
// FLOP            2·M·N·K
// global memory   8·M·N·K bytes asked for, 0.25 FLOP a byte, as in step 1. But the 32 threads of a
//                 warp now want the same element of A, 1 sector, and 32 neighbours in a row of B:
//                 128 bytes, 4 sectors, all of it used. C is written 4 sectors at a time, too.
// asked for       loads 8·M·N·K bytes, stores 4·M·N bytes
// shared memory   none
// block           8 rows × 32 columns = 256 threads
// H200            47.1 ms at 4096³, 5.7 % of cuBLAS
#include "01_naive_matmul.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial::naive_matmul {
namespace {

__global__ void coalesced_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N,
                                 int64_t K) {
  const int64_t row = int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const int64_t col = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;  // the last blocks reach over the edge of C

  float sum = 0;
  for (int64_t k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}

}  // namespace

void coalesced(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  const dim3 block(32, 8);
  // A grid has at most 65535 blocks in y. Chapter 02 covers the rest with more launches.
  require_at_most(grid_limit.x * block.x, N, "columns", "coalesced");
  require_at_most(grid_limit.y * block.y, M, "rows", "coalesced");
  if (M == 0 || N == 0) return;  // a grid of 0 blocks is an error
  const dim3 grid(ceil_div(N, block.x), ceil_div(M, block.y));
  coalesced_kernel<<<grid, block>>>(A, B, C, M, N, K);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::naive_matmul
