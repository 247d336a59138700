// Step 1 = one thread for each element of C; threadIdx.x counts rows. Slow on purpose: see step 2.
//
// FLOP            2·M·N·K
// global memory   each product loads two floats: 8·M·N·K bytes asked for, 0.25 FLOP a byte. The 32
//                 threads of a warp ask for 32 rows of A at once: 32 sectors of 32 bytes, of which
//                 they use 4 bytes each. All want the same element of B: 1 sector.
// asked for       loads 8·M·N·K bytes, stores 4·M·N bytes
// shared memory   none
// block           32 rows × 8 columns = 256 threads
// H200            274 ms at 4096³, 1.0 % of cuBLAS
#include "01_naive_matmul.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial::naive_matmul {
namespace {

__global__ void uncoalesced_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N,
                                   int64_t K) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t col = int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  if (row >= M || col >= N) return;  // the last blocks reach over the edge of C

  float sum = 0;
  for (int64_t k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}

}  // namespace

void uncoalesced(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  const dim3 block(32, 8);
  // A grid has at most 65535 blocks in y. Chapter 02 covers the rest with more launches.
  require_at_most(grid_limit.x * block.x, M, "rows", "uncoalesced");
  require_at_most(grid_limit.y * block.y, N, "columns", "uncoalesced");
  if (M == 0 || N == 0) return;  // a grid of 0 blocks is an error
  const dim3 grid(ceil_div(M, block.x), ceil_div(N, block.y));
  uncoalesced_kernel<<<grid, block>>>(A, B, C, M, N, K);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::naive_matmul
