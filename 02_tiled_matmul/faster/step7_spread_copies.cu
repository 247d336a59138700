// Step 7 = step 6 + a few copies with each k, not all at the start of a tile.
//
// FLOP            2·M·N·K
// global memory   as in step 2: 3·M·N·K / 64 + 4·M·N bytes, 43 FLOP a byte
// asked for       loads 1536·K·⌈M/128⌉·⌈N/256⌉ bytes, stores 4·M·N bytes (beta = 0; a tile at the
//                 edge is brought whole)
// shared memory   24.3 KB a block; a product reads 3/16 float on average, as in step 2
// block           256 threads for 128 × 256 elements of C
// H200            2.59 ms at 4096³, 103 % of cuBLAS
#include <type_traits>

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

/// sum (TM, TN) += a (TM) times b (TN). To and fro: from one product to the next, a or b stays. A
/// product reads three registers, and the register file gives two a cycle; the one that stays need
/// not be read again.
__device__ void multiply(float (&sum)[TM][TN], const float (&a)[TM], const float (&b)[TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const int turn = i % 2 == 0 ? j : TN - 1 - j;
      sum[i][turn] += a[i] * b[turn];
    }
  }
}

template <bool ALIGNED_B, bool ALIGNED_C>
__global__ void __launch_bounds__(THREADS, T::BLOCKS_PER_SM)
    spread_copies_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                         float alpha, float beta) {
  alignas(16) __shared__ float As[2][BK][BM + PAD];  // two of each: one that comes, one in use
  alignas(16) __shared__ float Bs[2][BK][BN];
  const int64_t across = ceil_div(N, BN);  // blocks side by side
  const int64_t row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;

  // A warp's 4 × 8 threads. Lanes l and l + 1 (l even) have the same columns; l and l + 2, in the
  // same half of the warp, the same rows. So neighbours ask shared memory for the same 16 bytes.
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int lane_m = lane / 16 * 2 + lane % 2, lane_n = lane / 2 % 8;
  const int m = warp / T::WARPS_N * T::WM + lane_m * 4;  // the first of its rows: 4 of each 16
  const int n = warp % T::WARPS_N * T::WN + lane_n * 4;  // … and columns: 4 of each 32

  const auto wait_for_copies = [&] {
    __pipeline_commit();
    __pipeline_wait_prior(0);  // this thread's copies have come …
    __syncthreads();           // … and all threads', and nobody reads the other buffer any more
  };

  float a[2][TM], b[2][TN], sum[TM][TN] = {};
  const auto read_fragments = [&](int which, int buffer, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4) load4(&a[which][i], &As[buffer][k][m + i * T::LANES_M]);
#pragma unroll
    for (int j = 0; j < TN; j += 4) load4(&b[which][j], &Bs[buffer][k][n + j * T::LANES_N]);
  };

  using CopiesOfTile = Copies<T, ALIGNED_B ? 4 : 1>;
  constexpr int PER_K = 4 * CopiesOfTile::COUNT / BK;  // with each k: all in a tile's first quarter
  CopiesOfTile copies(A, B, M, K, N, row0, col0, &As[0][0][0], &Bs[0][0][0]);

  // The tiles at the start hold what is left of K when whole tiles are taken from its end: so all
  // others are whole, and the copies in the loop below have no test for it.
  const int64_t tiles = ceil_div(K, BK);
  if (tiles > 0) {
    const int depth = static_cast<int>(K - (tiles - 1) * BK);
#pragma unroll
    for (int c = 0; c < CopiesOfTile::COUNT; ++c) copies.begin(c, 0, depth);
    copies.advance(depth);
    wait_for_copies();
    read_fragments(0, 0, 0);
  }
  // The products of one pair of tiles, whose first elements were read already. While there are more
  // to come, they are copied into the other buffer; the last pair has its own code, without tests.
  const auto multiply_tiles = [&](int buffer, auto more_tiles) {
    constexpr bool MORE = decltype(more_tiles)::value;
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      // Before the last products the next tiles must have come: their first elements are read now.
      if (k == BK - 1 && MORE) {
        wait_for_copies();
        copies.advance();
        read_fragments(0, 1 - buffer, 0);
      }
      if (k < BK - 1) read_fragments((k + 1) % 2, buffer, k + 1);
#pragma unroll  // a few copies with each k, not all at the start of the tile
      for (int c = k * PER_K; MORE && c < CopiesOfTile::COUNT && c < (k + 1) * PER_K; ++c)
        copies.begin(c, 1 - buffer);
      multiply(sum, a[k % 2], b[k % 2]);
    }
  };
  int buffer = 0;
  for (int64_t tile = 1; tile < tiles; ++tile, buffer = 1 - buffer)
    multiply_tiles(buffer, std::true_type());
  if (tiles > 0) multiply_tiles(buffer, std::false_type());
  store<T, ALIGNED_C>(C, M, N, row0 + m, col0 + n, sum, alpha, beta);
}

}  // namespace

// B and C each take the 16-byte path if they can; A's elements go one by one whatever its address.
void spread_copies(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                   float alpha, float beta) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // as in SGEMM: what A and B hold does not matter
  constexpr decltype(&spread_copies_kernel<true, true>) kernels[2][2] = {
      {spread_copies_kernel<false, false>, spread_copies_kernel<false, true>},
      {spread_copies_kernel<true, false>, spread_copies_kernel<true, true>}};
  const auto kernel = kernels[rows_are_aligned(B, N)][rows_are_aligned(C, N)];
  // The blocks stand in one row: it may be as long as it likes, unlike a grid's y.
  kernel<<<T::blocks(M, N), THREADS>>>(A, B, C, M, N, K, alpha, beta);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::faster
