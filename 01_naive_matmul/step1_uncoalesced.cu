// Step 1 = one thread for each element of C; threadIdx.x counts rows. Slow on purpose: see step 2.
//
// FLOP            2·M·N·K
// global memory   each product loads two floats: 8·M·N·K bytes asked for, 0.25 FLOP a byte. The 32
//                 threads of a warp ask for 32 rows of A at once: 32 sectors of 32 bytes, of which
//                 they use 4 bytes each. All want the same element of B: 1 sector.
// asked for       loads 8·M·N·K bytes, stores 4·M·N bytes
// shared memory   none
// block           32 rows × 8 columns = 256 threads
#include <algorithm>

#include "01_naive_matmul.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial {
namespace {

__global__ void uncoalesced_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N,
                                   int64_t K, int64_t first_col) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t col = int64_t{blockIdx.y} * blockDim.y + threadIdx.y + first_col;
  if (row >= M || col >= N) return;  // the last blocks reach over the edge of C

  float sum = 0;
  for (int64_t k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}

}  // namespace

void uncoalesced(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  if (M == 0 || N == 0) return;  // a grid of 0 blocks is an error
  const dim3 block(32, 8);
  // A grid has few blocks in y: a C with more columns than they cover takes several launches.
  for (int64_t first_col = 0; first_col < N; first_col += MAX_GRID_Y * block.y) {
    const dim3 grid(ceil_div(M, block.x), std::min(ceil_div(N - first_col, block.y), MAX_GRID_Y));
    uncoalesced_kernel<<<grid, block>>>(A, B, C, M, N, K, first_col);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace tutorial
