// Step 4 = step 3 + tiles of six shapes, and an estimate of what each of them would take.
//
// FLOP            2·M·N·K, and (S − 1)·M·N for S parts
// global memory   depends on the tile; for the parts 8·S·M·N bytes
// asked for by thin_tiles_kernel  loads 4·K·(BM + BN)·⌈M/BM⌉·⌈N/BN⌉ bytes, stores 4·M·LDC·S bytes
//                 (beta = 0; BM × BN: the tile; LDC: N, or with parts 4·⌈N/4⌉)
// workspace       16·S·M·⌈N/4⌉ bytes for the parts, and step 2's copy
// shared memory   16 to 37 KB a block; a product reads 3/16 float (128 × 256), 5/24 (96 × 96), 3/8
//                 (16 × 256), else 1/4
// block           96 to 256 threads
// H200            0.181 ms at 257×4099×3001, 101 % of cuBLAS
// long diff       the kernel of step 3 becomes a template, and a table names its six tiles; the
//                 second kernel stays in step 3 and is called
#include <algorithm>
#include <type_traits>

#include "any_shape/any_shape.hpp"
#include "any_shape/parts.hpp"
#include "any_shape/patch.cuh"
#include "any_shape/plan.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"
#include "faster/warp_tile.cuh"

namespace tutorial::tiled_matmul::any_shape {
namespace {

using faster::Copies, faster::store, faster::WarpTile;

template <int WARPS_M_, int WARPS_N_, int BLOCKS_PER_SM_, int TM_, int TN_, int BK_>
struct Numbers {
  static constexpr int WARPS_M = WARPS_M_, WARPS_N = WARPS_N_;  // a block's
  static constexpr int BLOCKS_PER_SM = BLOCKS_PER_SM_;          // as registers allow
  static constexpr int TM = TM_, TN = TN_, BK = BK_;
};

/// B's rows begin ldb floats apart. Where one part is all of K, C gets alpha·A·B + beta·C. Else C
/// is (parts, M, ldc) and gets the sums over depth_of_part elements of K each, with alpha 1 and
/// beta 0.
template <class T, bool ALIGNED_B, bool STAGED>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS_PER_SM)
    thin_tiles_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                      int64_t ldb, int64_t ldc, int64_t depth_of_part, bool aligned_c, float alpha,
                      float beta) {
  constexpr int BM = T::BM, BN = T::BN, BK = T::BK, TM = T::TM, TN = T::TN, PAD = T::PAD;
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
  constexpr int PER_K =
      ceil_div(4 * CopiesOfTile::COUNT, BK);  // with each k: all in a tile's first quarter
  CopiesOfTile copies(A + k0, B + k0 * ldb, M, K, ldb, row0, col0, &As[0][0][0], &Bs[0][0][0]);
  const int64_t tiles = ceil_div(k_count, BK);
  if (tiles > 0) {
    const int depth = static_cast<int>(k_count - (tiles - 1) * BK);
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
      multiply_patch(sum, a[k % 2], b[k % 2]);
    }
  };
  int buffer = 0;
  for (int64_t tile = 1; tile < tiles; ++tile, buffer = 1 - buffer)
    multiply_tiles(buffer, std::true_type());
  if (tiles > 0) multiply_tiles(buffer, std::false_type());
  C += part * M * ldc;
  if (STAGED) {
    __syncthreads();  // nobody reads Bs any more
    static_assert(T::THREADS / 32 * 4 * STAGED_ROW<T> <= 2 * BK * BN, "a place for each warp");
    store_staged<T>(C, M, ldc, row0 + warp / T::WARPS_N * T::WM, col0 + warp % T::WARPS_N * T::WN,
                    sum, alpha, beta, &Bs[0][0][0] + warp * 4 * STAGED_ROW<T>);
  } else if (aligned_c) {
    store<T, true>(C, M, ldc, row0 + m, col0 + n, sum, alpha, beta);
  } else {
    store<T, false>(C, M, ldc, row0 + m, col0 + n, sum, alpha, beta);
  }
}

/// A tile of `tiles` in plan.hpp, and its kernels: [are rows of B aligned][and those of C].
struct TileKernels {
  decltype(&thin_tiles_kernel<WarpTile<Numbers<2, 2, 3, 8, 8, 16>>, true, false>) kernels[2][2];
  int BM, BN, BK, threads;
};
template <int... NUMBERS>
constexpr TileKernels kernels_of() {
  using T = WarpTile<Numbers<NUMBERS...>>;
  // Where a block has a multiprocessor for itself, nobody multiplies while it stores.
  constexpr bool STAGED = T::BLOCKS_PER_SM == 1;
  return {{{thin_tiles_kernel<T, false, STAGED>, thin_tiles_kernel<T, false, false>},
           {thin_tiles_kernel<T, true, STAGED>, thin_tiles_kernel<T, true, false>}},
          T::BM,
          T::BN,
          T::BK,
          T::THREADS};
}
constexpr TileKernels kernels[] = {
    kernels_of<2, 4, 1, 16, 8, 8>(),   // 128 × 256, faster/spread_copies's
    kernels_of<2, 2, 3, 8, 8, 16>(),   // 64 × 128, step 1's small one
    kernels_of<4, 1, 3, 8, 8, 16>(),   // 128 × 64, for few columns
    kernels_of<3, 1, 4, 8, 12, 16>(),  // 96 × 96
    kernels_of<1, 4, 3, 8, 8, 16>(),   // 32 × 256, for few rows
    kernels_of<1, 4, 4, 4, 8, 16>(),   // 16 × 256
};
constexpr bool are_the_planned() {
  for (size_t i = 0; i < std::size(tiles); ++i)
    if (kernels[i].BM != tiles[i].BM || kernels[i].BN != tiles[i].BN ||
        kernels[i].BK != tiles[i].BK || kernels[i].threads != 32 * tiles[i].warps)
      return false;
  return std::size(kernels) == std::size(tiles);
}
static_assert(are_the_planned(), "plan.hpp must have the same tiles in the same order");

}  // namespace

void thin_tiles_as(const Plan& plan, const ScaledProduct& product, const float* A, const float* B,
                   float* C, Workspace workspace, cudaStream_t stream) {
  if (workspace.bytes < workspace_bytes(plan, product))
    return tile_by_size(product, A, B, C, workspace, stream);
  const int64_t M = product.M, N = product.N, K = depth_of(product), ld = aligned_ld(N);
  float* parts = workspace.take<float>(floats_of_parts(product, plan.parts));
  const float* b = plan.copy_b ? aligned_copy(product, B, workspace, stream) : B;
  const TileKernels& tile = kernels[plan.tile];
  const int64_t ldb = plan.copy_b ? ld : N;
  const bool aligned_c = plan.parts > 1 || rows_are_aligned(C, N);
  const auto kernel = tile.kernels[rows_are_aligned(b, ldb)][aligned_c];
  const int64_t blocks = ceil_div(M, tile.BM) * ceil_div(N, tile.BN) * plan.parts;
  const int64_t depth = depth_of_parts(K, plan.parts, tile.BK);
  if (plan.parts == 1)
    kernel<<<blocks, tile.threads, 0, stream>>>(A, b, C, M, N, K, ldb, N, depth, aligned_c,
                                                product.alpha, product.beta);
  else
    kernel<<<blocks, tile.threads, 0, stream>>>(A, b, parts, M, N, K, ldb, ld, depth, true, 1, 0);
  CUDA_CHECK_LAUNCH();
  if (plan.parts > 1) add_parts(product, parts, C, plan.parts, stream);
}

// The rule is best_plan's, in plan.cpp.
void thin_tiles(const ScaledProduct& product, const float* A, const float* B, float* C,
                Workspace workspace, cudaStream_t stream) {
  if (product.M == 0 || product.N == 0) return;
  thin_tiles_as(plan_of(product, B), product, A, B, C, workspace, stream);
}

}  // namespace tutorial::tiled_matmul::any_shape
