#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int BM = 32, BN = 32, BK = 16;  // a block's tiles: BM×BN of C, BM×BK of A, BK×BN of B
constexpr int TM = 2, TN = 2;             // a thread's patch of C
constexpr int SIDE = 16;                  // a block has SIDE×SIDE threads
static_assert(SIDE * TM == BM && SIDE * TN == BN && SIDE == BK);

/// Block (x, y) has the tile of C that begins at row y·BM and column x·BN; thread (tx, ty) has the
/// patch that begins at row ty·TM and column tx·TN of this tile.
__global__ void register_product_kernel(const float* A, const float* B, float* C, int64_t M,
                                        int64_t N, int64_t K) {
  __shared__ float As[BM][BK];
  __shared__ float Bs[BK][BN];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int64_t row0 = int64_t{blockIdx.y} * BM, col0 = int64_t{blockIdx.x} * BN;

  float sum[TM][TN] = {};
  for (int64_t k0 = 0; k0 < K; k0 += BK) {
    for (int row = ty; row < BM; row += SIDE)
      As[row][tx] = row0 + row < M && k0 + tx < K ? A[(row0 + row) * K + k0 + tx] : 0;
    for (int col = tx; col < BN; col += SIDE)
      Bs[ty][col] = k0 + ty < K && col0 + col < N ? B[(k0 + ty) * N + col0 + col] : 0;
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      // ---- your code, about 5 lines: the floats that this k needs; their products, added to sum
      float a[TM], b[TN];  // registers
      for (int i = 0; i < TM; ++i) a[i] = As[ty * TM + i][k];
      for (int j = 0; j < TN; ++j) b[j] = Bs[k][tx * TN + j];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
      // ----
    }
    __syncthreads();
  }
  // ---- your code, about 4 lines: store those elements of the patch that are inside C
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      const int64_t row = row0 + ty * TM + i, col = col0 + tx * TN + j;
      if (row < M && col < N) C[row * N + col] = sum[i][j];
    }
  }
  // ----
}

}  // namespace

void register_product(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  if (M == 0 || N == 0) return;
  const dim3 grid(ceil_div(N, BN), ceil_div(M, BM));
  register_product_kernel<<<grid, dim3(SIDE, SIDE)>>>(A, B, C, M, N, K);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
