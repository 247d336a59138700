// Step 2 = step 1 + 16×8 elements a thread, and warps whose neighbouring lanes read the same.
//
// FLOP            2·M·N·K
// global memory   each element serves 128 rows or 256 columns: 3·M·N·K / 64 bytes, plus 4·M·N for
//                 C; 43 FLOP a byte
// asked for       loads 4·K·(M·⌈N/256⌉ + N·⌈M/128⌉) bytes, stores 4·M·N bytes (beta = 0)
// shared memory   24.3 KB a block; a product reads 3/16 float on average instead of 1/4
// block           256 threads for 128 × 256 elements of C
// H200            3.40 ms at 4096³, 79 % of cuBLAS
#include "common/kernel/async_copy.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"
#include "faster/faster.hpp"
#include "faster/warp_tile.cuh"

namespace tutorial::tiled_matmul::faster {
namespace {

struct LargeNumbers {
  static constexpr int WARPS_M = 2, WARPS_N = 4;  // two warps for each scheduler of an SM
  static constexpr int BLOCKS_PER_SM = 1;  // of 256 threads: 255 registers, the most CUDA allows
  static constexpr int TM = 16, TN = 8;    // 128 sums: half of these registers
  static constexpr int BK = 8;             // 16 would need more than 48 KB of shared memory
};
using T = WarpTile<LargeNumbers>;  // 128 × 256 elements of C a block
constexpr int BM = T::BM, BN = T::BN, BK = T::BK, TM = T::TM, TN = T::TN;
constexpr int PAD = T::PAD, THREADS = T::THREADS;

template <bool ALIGNED_B, bool ALIGNED_C>
__global__ void __launch_bounds__(THREADS, T::BLOCKS_PER_SM)
    warp_tile_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                     float alpha, float beta) {
  alignas(16) __shared__ float As[2][BK][BM + PAD];  // two of each: one that comes, one in use
  alignas(16) __shared__ float Bs[2][BK][BN];
  const int thread = threadIdx.x;
  const int64_t across = ceil_div(N, BN);  // blocks side by side
  const int64_t row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;

  // A warp's 4 × 8 threads. Lanes l and l + 1 (l even) have the same columns; l and l + 2, in the
  // same half of the warp, the same rows. So neighbours ask shared memory for the same 16 bytes.
  const int lane = thread % 32, warp = thread / 32;
  const int lane_m = lane / 16 * 2 + lane % 2, lane_n = lane / 2 % 8;
  const int m = warp / T::WARPS_N * T::WM + lane_m * 4;  // the first of its rows: 4 of each 16
  const int n = warp % T::WARPS_N * T::WN + lane_n * 4;  // … and columns: 4 of each 32

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
      float a[TM], b[TN];
      for (int i = 0; i < TM; i += 4) load4(&a[i], &As[buffer][k][m + i * T::LANES_M]);
      for (int j = 0; j < TN; j += 4) load4(&b[j], &Bs[buffer][k][n + j * T::LANES_N]);
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
    }
  }
  store<T, ALIGNED_C>(C, M, N, row0 + m, col0 + n, sum, alpha, beta);
}

}  // namespace

// B and C each take the 16-byte path if they can; A's elements go one by one whatever its address.
void warp_tile(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
               float alpha, float beta) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // as in SGEMM: what A and B hold does not matter
  constexpr decltype(&warp_tile_kernel<true, true>) kernels[2][2] = {
      {warp_tile_kernel<false, false>, warp_tile_kernel<false, true>},
      {warp_tile_kernel<true, false>, warp_tile_kernel<true, true>}};
  const auto kernel = kernels[rows_are_aligned(B, N)][rows_are_aligned(C, N)];
  // The blocks stand in one row: it may be as long as it likes, unlike a grid's y.
  kernel<<<T::blocks(M, N), THREADS>>>(A, B, C, M, N, K, alpha, beta);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::faster
