// Step 1 = faster/spread_copies + a small tile where the large one would leave multiprocessors
// idle.
//
// FLOP            2·M·N·K
// global memory   with the large tile as there: 3·M·N·K / 64 + 4·M·N bytes, 43 FLOP a byte
// asked for by tile_by_size_large  loads 1536·K·⌈M/128⌉·⌈N/256⌉ bytes, stores 4·M·N bytes
// asked for by tile_by_size_small  loads 768·K·⌈M/64⌉·⌈N/128⌉ bytes, stores 4·M·N bytes
//                 (beta = 0; a tile at the edge is brought whole)
// shared memory   large: 24.3 KB a block, a product reads 3/16 float on average; small: 24.5 KB
//                 a block and 1/4 float
// block           large: 256 threads for 128 × 256 elements of C; small: 128 for 64 × 128
// H200            2.59 ms at 4096³, 103 % of cuBLAS
#include <type_traits>

#include "any_shape/any_shape.hpp"
#include "any_shape/parts.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"
#include "faster/warp_tile.cuh"

namespace tutorial::tiled_matmul::any_shape {
namespace {

using faster::Copies, faster::store, faster::WarpTile;

struct LargeNumbers {
  static constexpr int WARPS_M = 2, WARPS_N = 4;  // two warps for each scheduler of an SM
  static constexpr int BLOCKS_PER_SM = 1;  // of 256 threads: 255 registers, the most CUDA allows
  static constexpr int TM = 16, TN = 8;    // 128 sums: half of these registers
  static constexpr int BK = 8;             // 16 would need more than 48 KB of shared memory
};
struct SmallNumbers {
  static constexpr int WARPS_M = 2, WARPS_N = 2;  // half as many warps, of half the size each
  static constexpr int BLOCKS_PER_SM = 3;         // of 128 threads: 168 registers
  static constexpr int TM = 8, TN = 8;
  static constexpr int BK = 16;  // half as many barriers, in the same shared memory
};
using Large = WarpTile<LargeNumbers>;  // 128 × 256 elements of C a block
using Small = WarpTile<SmallNumbers>;  // 64 × 128

/// sum (TM, TN) += a (TM) times b (TN). To and fro: from one product to the next, a or b stays. A
/// product reads three registers, and the register file gives two a cycle; the one that stays need
/// not be read again.
template <int TM, int TN>
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

template <class T, bool ALIGNED_B, bool ALIGNED_C>
__device__ void tile_by_size_block(const float* A, const float* B, float* C, int64_t M, int64_t N,
                                   int64_t K, int64_t ldb, float alpha, float beta) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, TM = T::TM, TN = T::TN, PAD = T::PAD;
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

  // The tiles at the start hold what is left of K when whole tiles are taken from its end: so all
  // others are whole, and the loop below has no test for it.
  using CopiesOfTile = Copies<T, ALIGNED_B ? 4 : 1>;
  constexpr int PER_K = 4 * CopiesOfTile::COUNT / BK;  // with each k: all in a tile's first quarter
  CopiesOfTile copies(A, B, M, K, ldb, row0, col0, &As[0][0][0], &Bs[0][0][0]);
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

template <bool ALIGNED_B, bool ALIGNED_C>
__global__ void __launch_bounds__(Large::THREADS, Large::BLOCKS_PER_SM)
    tile_by_size_large(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                       int64_t ldb, float alpha, float beta) {
  tile_by_size_block<Large, ALIGNED_B, ALIGNED_C>(A, B, C, M, N, K, ldb, alpha, beta);
}
template <bool ALIGNED_B, bool ALIGNED_C>
__global__ void __launch_bounds__(Small::THREADS, Small::BLOCKS_PER_SM)
    tile_by_size_small(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                       int64_t ldb, float alpha, float beta) {
  tile_by_size_block<Small, ALIGNED_B, ALIGNED_C>(A, B, C, M, N, K, ldb, alpha, beta);
}

/// The elements of C that the busiest multiprocessor has to compute: they decide when all is done.
template <class T>
int64_t most_work(int64_t M, int64_t N, int multiprocessors) {
  return ceil_div(T::blocks(M, N), multiprocessors) * T::BM * T::BN;
}
// … and how much longer the small tile takes for as many: it reads shared memory more.
constexpr double SMALL_TAKES = 1.05;

}  // namespace

// The rule for the tile: the one whose busiest multiprocessor is done earlier. That is the small
// one where the large one leaves multiprocessors idle, from the start or at the end, or reaches far
// over C's edge. And for the accesses: B and C each take the 16-byte path if they can.
void tile_by_size_strided(const ScaledProduct& product, const float* A, const float* B, float* C,
                          int64_t ldb, cudaStream_t stream) {
  const int64_t M = product.M, N = product.N, K = depth_of(product);
  if (M == 0 || N == 0) return;
  constexpr decltype(&tile_by_size_large<true, true>) kernels[2][2][2] = {
      {{tile_by_size_large<false, false>, tile_by_size_large<false, true>},
       {tile_by_size_large<true, false>, tile_by_size_large<true, true>}},
      {{tile_by_size_small<false, false>, tile_by_size_small<false, true>},
       {tile_by_size_small<true, false>, tile_by_size_small<true, true>}}};
  const bool small = SMALL_TAKES * most_work<Small>(M, N, multiprocessors()) <
                     most_work<Large>(M, N, multiprocessors());
  const auto kernel = kernels[small][rows_are_aligned(B, ldb)][rows_are_aligned(C, N)];
  const int64_t blocks = small ? Small::blocks(M, N) : Large::blocks(M, N);
  const int threads = small ? Small::THREADS : Large::THREADS;
  kernel<<<blocks, threads, 0, stream>>>(A, B, C, M, N, K, ldb, product.alpha, product.beta);
  CUDA_CHECK_LAUNCH();
}

void tile_by_size(const ScaledProduct& product, const float* A, const float* B, float* C, Workspace,
                  cudaStream_t stream) {
  tile_by_size_strided(product, A, B, C, product.N, stream);
}

}  // namespace tutorial::tiled_matmul::any_shape
