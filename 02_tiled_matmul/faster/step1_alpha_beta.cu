// Step 1 = pipelined + C = alpha·A·B + beta·C, as SGEMM: the sums pass through an epilogue.
//
// FLOP            2·M·N·K
// global memory   as in pipelined: M·N·K / 16 + 4·M·N bytes, 32 FLOP a byte. beta ≠ 0 reads C:
//                 4·M·N bytes more
// asked for       loads 4·K·(M·⌈N/128⌉ + N·⌈M/128⌉) bytes, stores 4·M·N bytes (beta = 0)
// shared memory   16.3 KB a block: two pairs of tiles
// block           16 × 16 threads for 128 × 128 elements of C
// H200            3.43 ms at 4096³, 78 % of cuBLAS
#include <algorithm>

#include "common/kernel/async_copy.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"
#include "faster/epilogue.cuh"
#include "faster/faster.hpp"

namespace tutorial::tiled_matmul::faster {
namespace {

constexpr int BM = 128, BN = 128, BK = 8;  // a block's tiles: BM×BN of C, BM×BK of A, BK×BN of B
constexpr int TM = 8, TN = 8;              // a thread's elements of C
constexpr int THREADS = (BM / TM) * (BN / TN);
constexpr int PAD = 4;  // floats at the end of each row of As: rows begin 4 banks apart
static_assert(BM % TM == 0 && BN % TN == 0, "whole patches must fill the block's tile of C");
static_assert(TM % 4 == 0 && TN % 4 == 0, "a thread reads four neighbours at a time: use 4, 8, …");
static_assert(BK == 8, "8 rows of As, 4 banks apart, take a warp's 32 stores without a conflict");
static_assert(BM * BK % (4 * THREADS) == 0 && BK * BN % (4 * THREADS) == 0,
              "all threads must bring the same number of groups of four elements: change BM or BN");
static_assert(THREADS <= 1024, "CUDA allows 1024 threads a block: make the patches larger");
static_assert(2 * (BM + PAD + BN) * BK * sizeof(float) <= 48 * 1024,
              "two pairs of tiles must fit into 48 KB of shared memory: make BM or BN smaller");

template <bool ALIGNED_B, bool ALIGNED_C>
__global__ void __launch_bounds__(THREADS)
    alpha_beta_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                      float alpha, float beta, int64_t first_row) {
  alignas(16) __shared__ float As[2][BK][BM + PAD];  // two of each: one that comes, one in use
  alignas(16) __shared__ float Bs[2][BK][BN];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int thread = ty * (BN / TN) + tx;
  const int64_t row0 = int64_t{blockIdx.y} * BM + first_row;
  const int64_t col0 = int64_t{blockIdx.x} * BN;

  constexpr int WIDTH_B = ALIGNED_B ? 4 : 1;  // floats in one copy
  const auto begin_copies = [&](int buffer, int64_t k0) {
    // A tile is transposed on its way, so its elements go one by one.
    for (int first = 0; first < BM * BK; first += THREADS) {
      const int row = (first + thread) / BK, k = (first + thread) % BK;
      copy_async<1>(&As[buffer][k][row], A + (row0 + row) * K + k0 + k,
                    row0 + row < M && k0 + k < K);
    }
    for (int first = 0; first < BK * BN; first += WIDTH_B * THREADS) {
      const int k = (first + WIDTH_B * thread) / BN, col = (first + WIDTH_B * thread) % BN;
      copy_async<WIDTH_B>(&Bs[buffer][k][col], B + (k0 + k) * N + col0 + col,
                          k0 + k < K && col0 + col < N);
    }
  };

  float sum[TM][TN] = {};
  begin_copies(0, 0);
  for (int64_t k0 = 0; k0 < K; k0 += BK) {
    const int buffer = k0 / BK % 2;
    __pipeline_commit();
    __pipeline_wait_prior(0);  // this thread's copies have come …
    __syncthreads();           // … and all threads', and nobody reads the other buffer any more
    if (k0 + BK < K) begin_copies(1 - buffer, k0 + BK);

    for (int k = 0; k < BK; ++k) {
      // A thread's columns come in groups of four, one group in each of TN / 4 parts of the tile:
      // the 16 threads of a row read 16 groups side by side, which lie in different banks.
      float a[TM], b[TN];
      for (int i = 0; i < TM; i += 4) load4(&a[i], &As[buffer][k][ty * TM + i]);
      for (int j = 0; j < TN; j += 4) load4(&b[j], &Bs[buffer][k][j * (BN / TN) + tx * 4]);
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
    }
  }

  constexpr int WIDTH_C = ALIGNED_C ? 4 : 1;  // floats in one access
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; j += WIDTH_C) {
      const int64_t row = row0 + ty * TM + i;
      const int64_t col = col0 + j / 4 * 4 * (BN / TN) + tx * 4 + j % 4;
      if (row >= M || col >= N) continue;
      store_scaled<WIDTH_C>(C + row * N + col, &sum[i][j], alpha, beta);
    }
  }
}

}  // namespace

// B and C each take the 16-byte path if they can; A's elements go one by one whatever its address.
void alpha_beta(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                float alpha, float beta) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // as in SGEMM: what A and B hold does not matter
  constexpr decltype(&alpha_beta_kernel<true, true>) kernels[2][2] = {
      {alpha_beta_kernel<false, false>, alpha_beta_kernel<false, true>},
      {alpha_beta_kernel<true, false>, alpha_beta_kernel<true, true>}};
  const auto kernel = kernels[rows_are_aligned(B, N)][rows_are_aligned(C, N)];
  const dim3 block(BN / TN, BM / TM);
  for (int64_t first_row = 0; first_row < M; first_row += grid_limit.y * BM) {
    const dim3 grid(ceil_div(N, BN), std::min(ceil_div(M - first_row, BM), grid_limit.y));
    kernel<<<grid, block>>>(A, B, C, M, N, K, alpha, beta, first_row);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace tutorial::tiled_matmul::faster
