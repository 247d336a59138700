// Step 4 = step 3 + global memory is read and written 16 bytes at a time, too.
//
// FLOP            2·M·N·K
// global memory   as in step 2: M·N·K / 16 + 4·M·N bytes, 32 FLOP a byte, but a quarter of the
//                 instructions
// asked for       loads 4·K·(M·⌈N/128⌉ + N·⌈M/128⌉) bytes, stores 4·M·N bytes
// shared memory   8.1 KB a block, read as in step 3
// block           16 × 16 threads for 128 × 128 elements of C
// H200            3.99 ms at 4096³, 67 % of cuBLAS
#include <algorithm>

#include "02_tiled_matmul.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"

namespace tutorial::tiled_matmul {
namespace {

constexpr int BM = 128, BN = 128, BK = 8;  // a block's tiles: BM×BN of C, BM×BK of A, BK×BN of B
constexpr int TM = 8, TN = 8;              // a thread's elements of C
constexpr int THREADS = (BM / TM) * (BN / TN);
constexpr int PAD = 4;  // floats at the end of each row of As: rows begin 4 banks apart
static_assert(BM % TM == 0 && BN % TN == 0, "whole patches must fill the block's tile of C");
static_assert(TM % 4 == 0 && TN % 4 == 0, "a thread reads four neighbours at a time: use 4, 8, …");
static_assert(BK == 8, "2 rows of As, 16 banks apart, take a warp's 32 stores without a conflict");
static_assert(BM * BK % (4 * THREADS) == 0 && BK * BN % (4 * THREADS) == 0,
              "all threads must bring the same number of groups of four elements: change BM or BN");
static_assert(THREADS <= 1024, "CUDA allows 1024 threads a block: make the patches larger");
static_assert((BM + PAD + BN) * BK * sizeof(float) <= 48 * 1024,
              "the tiles of A and B must fit into 48 KB of shared memory: make BM or BN smaller");

template <bool ALIGNED_A, bool ALIGNED_B, bool ALIGNED_C>
__global__ void __launch_bounds__(THREADS)
    vectorised_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                      int64_t first_row) {
  alignas(16) __shared__ float As[BK][BM + PAD];  // transposed: a thread's rows are neighbours
  alignas(16) __shared__ float Bs[BK][BN];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int thread = ty * (BN / TN) + tx;
  const int64_t row0 = int64_t{blockIdx.y} * BM + first_row;
  const int64_t col0 = int64_t{blockIdx.x} * BN;

  float sum[TM][TN] = {};
  for (int64_t k0 = 0; k0 < K; k0 += BK) {
    // Each thread brings four neighbours at a time, from a row of A and from a row of B.
    float four[4];
    for (int first = 0; first < BM * BK; first += 4 * THREADS) {
      const int row = (first + 4 * thread) / BK, k = (first + 4 * thread) % BK;
      load4_guarded<ALIGNED_A>(four, A + (row0 + row) * K + k0 + k,
                               row0 + row < M ? K - (k0 + k) : 0);
      for (int i = 0; i < 4; ++i) As[k + i][row] = four[i];
    }
    for (int first = 0; first < BK * BN; first += 4 * THREADS) {
      const int k = (first + 4 * thread) / BN, col = (first + 4 * thread) % BN;
      load4_guarded<ALIGNED_B>(four, B + (k0 + k) * N + col0 + col,
                               k0 + k < K ? N - (col0 + col) : 0);
      store4(&Bs[k][col], four);
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      // A thread's columns come in groups of four, one group in each of TN / 4 parts of the tile:
      // the 16 threads of a row read 16 groups side by side, which lie in different banks.
      float a[TM], b[TN];
      for (int i = 0; i < TM; i += 4) load4(&a[i], &As[k][ty * TM + i]);
      for (int j = 0; j < TN; j += 4) load4(&b[j], &Bs[k][j * (BN / TN) + tx * 4]);
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; j += 4) {
      const int64_t row = row0 + ty * TM + i;
      const int64_t col = col0 + j * (BN / TN) + tx * 4;
      store4_guarded<ALIGNED_C>(C + row * N + col, &sum[i][j], row < M ? N - col : 0);
    }
  }
}

}  // namespace

// A, B and C each take the 16-byte path if they can, else the path of four single floats.
void vectorised(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  if (M == 0 || N == 0) return;
  constexpr decltype(&vectorised_kernel<true, true, true>) kernels[2][2][2] = {
      {{vectorised_kernel<false, false, false>, vectorised_kernel<false, false, true>},
       {vectorised_kernel<false, true, false>, vectorised_kernel<false, true, true>}},
      {{vectorised_kernel<true, false, false>, vectorised_kernel<true, false, true>},
       {vectorised_kernel<true, true, false>, vectorised_kernel<true, true, true>}}};
  const auto kernel =
      kernels[rows_are_aligned(A, K)][rows_are_aligned(B, N)][rows_are_aligned(C, N)];
  const dim3 block(BN / TN, BM / TM);
  for (int64_t first_row = 0; first_row < M; first_row += grid_limit.y * BM) {
    const dim3 grid(ceil_div(N, BN), std::min(ceil_div(M - first_row, BM), grid_limit.y));
    kernel<<<grid, block>>>(A, B, C, M, N, K, first_row);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace tutorial::tiled_matmul
