#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/mma.cuh"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

using bf16 = __nv_bfloat16;

constexpr int SIDE = 64;  // of a block's tiles of A, B and C
constexpr int CHUNK = 8;  // elements in 16 bytes
constexpr int WARPS = 4;  // of a block; each has 16 rows of the tile of C
constexpr int THREADS = WARPS * 32;

/// Where element (row, col) of a tile lies in shared memory. A row has 128 bytes, 8 chunks. The 8
/// rows that ldmatrix reads at once, of one chunk, must lie in different banks.
__device__ int place(int row, int col) {
  int chunk = col / CHUNK;
  // ---- your code, about 3 lines: the chunks of a row in another order, which depends on the row

  // ----
  return row * SIDE + chunk * CHUNK + col % CHUNK;
}

/// The tile (SIDE, SIDE) of X (rows, cols) from X[row0][col0] on; zeros where X ends.
__device__ void load(bf16* tile, const bf16* X, int64_t rows, int64_t cols, int64_t row0,
                     int64_t col0) {
  for (int e = threadIdx.x * 2; e < SIDE * SIDE; e += THREADS * 2) {
    const int64_t row = row0 + e / SIDE, col = col0 + e % SIDE;
    const bf16 zero = __float2bfloat16(0);
    const bf16 first = row < rows && col < cols ? X[row * cols + col] : zero;
    const bf16 second = row < rows && col + 1 < cols ? X[row * cols + col + 1] : zero;
    *reinterpret_cast<uint32_t*>(tile + place(e / SIDE, e % SIDE)) = pack<bf16>(first, second);
  }
}

__global__ void fragment_product_kernel(const bf16* A, const bf16* B, float* C, int64_t M,
                                        int64_t N, int64_t K) {
  alignas(16) __shared__ bf16 As[SIDE * SIDE];
  alignas(16) __shared__ bf16 Bs[SIDE * SIDE];
  const int64_t row0 = int64_t{blockIdx.y} * SIDE, col0 = int64_t{blockIdx.x} * SIDE;
  const int lane = threadIdx.x % 32, m = threadIdx.x / 32 * 16;  // the warp's first row

  float sum[SIDE / 8][4] = {};  // of 16 × 8 elements each: this lane's
  for (int64_t k0 = 0; k0 < K; k0 += SIDE) {
    load(As, A, M, K, row0, k0);
    load(Bs, B, K, N, k0, col0);
    __syncthreads();
    for (int k = 0; k < SIDE; k += 16) {
      uint32_t a[4] = {};  // of A, rows m … m + 15 and columns k … k + 15
      // ---- your code, about 3 lines: what this lane gives to ldmatrix

      // ----
      for (int n = 0; n < SIDE; n += 16) {
        uint32_t b[4] =
            {};  // of B, rows k … k + 15: b[0] b[1] columns n … n + 7, b[2] b[3] the next
        // ---- your code, about 3 lines: what this lane gives to ldmatrix_trans

        // ----
        mma_m16n8k16<bf16>(sum[n / 8], a, b[0], b[1]);
        mma_m16n8k16<bf16>(sum[n / 8 + 1], a, b[2], b[3]);
      }
    }
    __syncthreads();
  }
  for (int n = 0; n < SIDE; n += 8) {
    for (int e = 0; e < 4; ++e) {
      // ---- your code, about 3 lines: the row and the column of C that sum[n / 8][e] belongs to

      // ----
    }
  }
}

}  // namespace

void fragment_product(const bf16* A, const bf16* B, float* C, int64_t M, int64_t N, int64_t K) {
  if (M == 0 || N == 0) return;
  const dim3 grid(ceil_div(N, SIDE), ceil_div(M, SIDE));
  fragment_product_kernel<<<grid, THREADS>>>(A, B, C, M, N, K);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
