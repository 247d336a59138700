// Step 3 = step 2 + where C has too few tiles for all multiprocessors, several blocks share a
// tile's sums: each takes a part of K, and a second kernel adds the parts in their order.
//
// FLOP            2·M·N·K, and (S − 1)·M·N for S parts
// global memory   12·M·N·K / 128 + 8·S·M·N + 4·M·N bytes without the caches' help
// asked for by split_k_kernel  loads 768·K·⌈M/64⌉·⌈N/128⌉ bytes, stores 16·S·M·⌈N/4⌉ bytes
// asked for by add_parts_kernel  loads 16·S·M·⌈N/4⌉ bytes, stores 4·M·N bytes (beta = 0)
// workspace       16·S·M·⌈N/4⌉ bytes for the parts
// shared memory   24.5 KB a block; a product reads 1/4 float on average
// block           128 threads for 64 × 128 elements of C and a part of K
// H200            0.093 ms at 100×100×100000, 96 % of cuBLAS
// long diff       step 2 has no product of its own: compare the first kernel with step 1's small
//                 tile; new are the part of K, and the second kernel
#include <algorithm>
#include <type_traits>

#include "any_shape/any_shape.hpp"
#include "any_shape/parts.hpp"
#include "any_shape/patch.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"
#include "faster/warp_tile.cuh"

namespace tutorial::tiled_matmul::any_shape {
namespace {

using faster::Copies, faster::store, faster::store_scaled, faster::WarpTile;

struct SmallNumbers {
  static constexpr int WARPS_M = 2, WARPS_N = 2;
  static constexpr int BLOCKS_PER_SM = 3;  // of 128 threads: 168 registers
  static constexpr int TM = 8, TN = 8;
  static constexpr int BK = 16;
};
using T = WarpTile<SmallNumbers>;  // 64 × 128 elements of C a block
constexpr int BM = T::BM, BN = T::BN, BK = T::BK, TM = T::TM, TN = T::TN;
constexpr int PAD = T::PAD, THREADS = T::THREADS;
constexpr int64_t LEAST_DEPTH = 128;  // of a part: with less, beginning and end cost more than it

/// parts (S, M, ld) are the sums over `depth` elements of K each; rows of a part are ld >= N apart.
template <bool ALIGNED_B>
__global__ void __launch_bounds__(THREADS, T::BLOCKS_PER_SM)
    split_k_kernel(const float* A, const float* B, float* parts, int64_t M, int64_t N, int64_t K,
                   int64_t ld, int64_t depth_of_part) {
  alignas(16) __shared__ float As[2][BK][BM + PAD];  // two of each: one that comes, one in use
  alignas(16) __shared__ float Bs[2][BK][BN];
  const int64_t across = ceil_div(N, BN), tiles_of_c = ceil_div(M, BM) * across;
  const int64_t part = blockIdx.x / tiles_of_c, tile_of_c = blockIdx.x % tiles_of_c;
  const int64_t row0 = tile_of_c / across * BM, col0 = tile_of_c % across * BN;
  // This block's part of K: the last one may be shorter.
  const int64_t k0 = part * depth_of_part;
  const int64_t k_count = K - k0 < depth_of_part ? K - k0 : depth_of_part;

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

  // The tiles at the start hold what is left of the part when whole tiles are taken from its end:
  // so all others are whole, and the loop below has no test for it.
  using CopiesOfTile = Copies<T, ALIGNED_B ? 4 : 1>;
  constexpr int PER_K = 4 * CopiesOfTile::COUNT / BK;  // with each k: all in a tile's first quarter
  CopiesOfTile copies(A + k0, B + k0 * N, M, K, N, row0, col0, &As[0][0][0], &Bs[0][0][0]);
  const int64_t tiles = ceil_div(k_count, BK);
  const int depth = static_cast<int>(k_count - (tiles - 1) * BK);
#pragma unroll
  for (int c = 0; c < CopiesOfTile::COUNT; ++c) copies.begin(c, 0, depth);
  copies.advance(depth);
  wait_for_copies();
  read_fragments(0, 0, 0);

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
      multiply_patch(sum, a[k % 2], b[k % 2]);
    }
  };
  int buffer = 0;
  for (int64_t tile = 1; tile < tiles; ++tile, buffer = 1 - buffer)
    multiply_tiles(buffer, std::true_type());
  multiply_tiles(buffer, std::false_type());
  store<T, true>(parts + part * M * ld, M, ld, row0 + m, col0 + n, sum, 1, 0);
}

/// C = alpha · (part 0 + part 1 + …) + beta·C, always in this order: the same bits every time. A
/// thread adds four neighbours.
template <bool ALIGNED_C>
__global__ void add_parts_kernel(const float* parts, float* C, int64_t M, int64_t N, int64_t ld,
                                 int64_t count, float alpha, float beta) {
  const int64_t group = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t row = group / (ld / 4), col = group % (ld / 4) * 4;
  if (row >= M) return;
  float sum[4] = {}, part[4];
#pragma unroll 8  // so that several loads are on their way
  for (int64_t p = 0; p < count; ++p) {
    load4(part, parts + (p * M + row) * ld + col);
    for (int j = 0; j < 4; ++j) sum[j] += part[j];
  }
  if (ALIGNED_C) {
    store_scaled<4>(C + row * N + col, sum, alpha, beta);
  } else {
    for (int j = 0; j < 4; ++j)
      if (col + j < N) store_scaled<1>(C + row * N + col + j, &sum[j], alpha, beta);
  }
}

}  // namespace

void add_parts(const ScaledProduct& product, const float* parts, float* C, int64_t count,
               cudaStream_t stream) {
  constexpr int ADDERS = 128;  // threads a block: few, for even a small C shall have many blocks
  const int64_t M = product.M, N = product.N;
  const auto kernel = rows_are_aligned(C, N) ? add_parts_kernel<true> : add_parts_kernel<false>;
  const int64_t ld = aligned_ld(N), blocks = ceil_div(M * ld / 4, ADDERS);
  kernel<<<blocks, ADDERS, 0, stream>>>(parts, C, M, N, ld, count, product.alpha, product.beta);
  CUDA_CHECK_LAUNCH();
}

// The rule: as many parts as there is room for at once, where that is more than one.
int64_t parts_of_k(int64_t M, int64_t N, int64_t K, int multiprocessors) {
  const int64_t room = multiprocessors * int64_t{T::BLOCKS_PER_SM};
  const int64_t most = std::min(room / std::max(T::blocks(M, N), int64_t{1}), K / LEAST_DEPTH);
  // Parts of whole tiles, so that all but the last one are equally deep.
  return most > 1 ? ceil_div(K, depth_of_parts(K, most, BK)) : 1;
}

void split_k(const ScaledProduct& product, const float* A, const float* B, float* C,
             Workspace workspace, cudaStream_t stream) {
  const int64_t M = product.M, N = product.N, K = depth_of(product);
  if (M == 0 || N == 0) return;
  const int64_t count = parts_of_k(M, N, K, multiprocessors());
  float* parts = count > 1 ? workspace.take<float>(floats_of_parts(product, count)) : nullptr;
  if (parts == nullptr) return padded_rows(product, A, B, C, workspace, stream);
  const auto kernel = rows_are_aligned(B, N) ? split_k_kernel<true> : split_k_kernel<false>;
  const int64_t blocks = T::blocks(M, N) * count, depth = depth_of_parts(K, count, BK);
  kernel<<<blocks, THREADS, 0, stream>>>(A, B, parts, M, N, K, aligned_ld(N), depth);
  CUDA_CHECK_LAUNCH();
  add_parts(product, parts, C, count, stream);
}

}  // namespace tutorial::tiled_matmul::any_shape
