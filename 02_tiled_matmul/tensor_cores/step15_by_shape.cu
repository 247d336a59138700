// Step 15 = step 14 + the tile with which the busiest multiprocessor is done first.
//
// FLOP            2·M·N·K
// global memory   2·K·(M·N/BN + N·M/BM) + E·M·N bytes; BM × BN elements of C a block
// asked for       loads 2·(M·LDA·⌈N/BN⌉ + K·LDB·⌈M/BM⌉) bytes, stores E·M·N bytes
// shared memory   as in step 14
// block           256 threads for 128 × 256 elements of C, or 128 for 64 × 128
// H200            0.042 ms at 2048³, 68 % of cuBLAS
#include <algorithm>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/mma.cuh"
#include "tensor_cores/bf16_tile.cuh"
#include "tensor_cores/launch_checks.hpp"
#include "tensor_cores/operands.hpp"
#include "tensor_cores/products.cuh"
#include "tensor_cores/tile_order.cuh"
#include "tensor_cores/wide_store.cuh"

namespace tutorial::tiled_matmul::tensor_cores {
namespace {

constexpr int BK = 64;    // elements of K at a time, as before
constexpr int GROUP = 8;  // tiles of C one below the other that come one after the other

/// What follows from the numbers that a tile chooses: BM × BN elements of C a block, WM × WN a
/// warp, and how many blocks shall share a multiprocessor.
template <int BM_, int BN_, int WM_, int WN_, int STAGES_, int BLOCKS_PER_SM_>
struct BlockTile {
  static constexpr int BM = BM_, BN = BN_, WM = WM_, WN = WN_, STAGES = STAGES_;
  static constexpr int BLOCKS_PER_SM = BLOCKS_PER_SM_;
  static constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
  using TileA = Swizzled<BM, BK>;
  using TileB = Swizzled<BK, BN>;
  static constexpr int STAGE = TileA::SIZE + TileB::SIZE;
  static constexpr int BYTES = STAGES * STAGE * sizeof(bf16);
};

/// Rows of A and B begin lda and ldb elements apart. What is behind a row of A are zeros.
template <class T, int WIDTH, class Out>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS_PER_SM)
    by_shape_kernel(const bf16* A, const bf16* B, Out* C, int64_t M, int64_t N, int64_t K,
                    int64_t lda, int64_t ldb, bool aligned_c) {
  using TileA = typename T::TileA;
  using TileB = typename T::TileB;
  constexpr int BM = T::BM, BN = T::BN, WM = T::WM, WN = T::WN;
  constexpr int THREADS = T::THREADS, STAGES = T::STAGES, STAGE = T::STAGE;
  extern __shared__ uint4 shared[];
  bf16* const tiles = reinterpret_cast<bf16*>(shared);  // (STAGES, STAGE): of A, and behind it of B
  const Place place = place_of<GROUP>(int64_t{blockIdx.x}, ceil_div(M, BM), ceil_div(N, BN));
  const int64_t row0 = place.down * BM, col0 = place.across * BN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int m = warp / T::WARPS_N * WM, n = warp % T::WARPS_N * WN;  // the warp's, in the block's

  float sum[WM / 16][WN / 8][4] = {};
  const TileCopies<TileA, THREADS, WIDTH, Depth::cols> copies_of_a(A, M, lda, row0);
  const TileCopies<TileB, THREADS, WIDTH, Depth::rows> copies_of_b(B, K, ldb, col0);
  // Copies of the tiles from k0 on; of none, where K has ended, but a group all the same: so the
  // number of groups says which tiles have come.
  const auto begin_copies = [&](int stage, int64_t k0) {
    if (k0 < K) {
      bf16* As = tiles + stage * STAGE;
      copies_of_a.begin(As, k0);
      copies_of_b.begin(As + TileA::SIZE, k0);
    }
    __pipeline_commit();
  };
  const auto wait_for_stage = [&] {
    __pipeline_wait_prior(STAGES - 2);  // this thread's copies of the next stage have come …
    __syncthreads();  // … and all threads', and nobody reads the stage before it any more
  };
  uint32_t a[2][WM / 16][4], b[2][WN / 16][4];  // for these products, and for the next ones
  // Where the rows begin that this lane points to, from the first tile on: 16 rows further down
  // chunks change places in the same way.
  int from_a[BK / 16], from_b[WN / 16];
#pragma unroll
  for (int k = 0; k < BK; k += 16) from_a[k / 16] = TileA::at(m + lane % 16, k + lane / 16 * 8);
#pragma unroll
  for (int j = 0; j < WN / 16; ++j)
    from_b[j] = TileA::SIZE + TileB::at(lane % 16, n + 16 * j + lane / 16 * 8);
  const auto read_fragments = [&](int which, int stage, int k) {
    const bf16* const from = tiles + stage * STAGE;
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) ldmatrix(a[which][i], from + from_a[k / 16] + 16 * i * BK);
#pragma unroll
    for (int j = 0; j < WN / 16; ++j) ldmatrix_trans(b[which][j], from + from_b[j] + k * BN);
  };

  for (int s = 0; s < STAGES - 1; ++s) begin_copies(s, s * BK);
  if (K > 0) {
    wait_for_stage();
    read_fragments(0, 0, 0);
  }
  int stage = 0;
  for (int64_t k0 = 0; k0 < K; k0 += BK) {
    // After the last tile comes none: its own first fragments are read once more.
    const int next = k0 + BK < K ? stage_after<STAGES>(stage) : stage;
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
      const int which = k / 16 % 2;
      if (k + 16 < BK) {
        read_fragments(1 - which, stage, k + 16);
      } else {
        wait_for_stage();
        read_fragments(1 - which, next, 0);
      }
      // Not with the first products: just after a barrier all warps would begin copies at once.
      if (k == 16) begin_copies(stage_before<STAGES>(stage), k0 + (STAGES - 1) * BK);
      multiply(sum, a[which], b[which]);
    }
    stage = next;
  }
  __syncthreads();  // nobody reads the tiles any more
  static_assert(THREADS / 32 * STAGED<WN / 8> * sizeof(float) <= T::BYTES);
  store_wide(C, M, N, row0 + m, col0 + n, sum,
             reinterpret_cast<Out*>(shared) + warp * STAGED<WN / 8>, aligned_c);
}

using Large = BlockTile<128, 256, 64, 64, 3, 1>;      // step 5's …
using TwoStages = BlockTile<128, 256, 64, 64, 2, 1>;  // … and where a block has 99 KB
using Small = BlockTile<64, 128, 64, 32, 4, 2>;

/// How long the busiest multiprocessor works, in units of the time that a Large block takes.
double rounds(int64_t blocks, int multiprocessors, int blocks_per_sm, double alone,
              double together) {
  const int64_t most = ceil_div(blocks, multiprocessors);  // that one of them gets
  const double full = together * static_cast<double>(most / blocks_per_sm);
  return full + (most % blocks_per_sm == 0 ? 0 : alone);
}

}  // namespace

// Measured on an H200: a small block has a quarter of a large one's work. It takes 0.36 of its
// time, and two at once take 0.65. (A multiprocessor has 1 KB more than one block may have.)
bool takes_small_tiles(int64_t M, int64_t N, int multiprocessors, int64_t shared_bytes,
                       int64_t batch) {
  const bool share = 2 * Small::BYTES <= shared_bytes;
  const int64_t large = batch * ceil_div(M, Large::BM) * ceil_div(N, Large::BN);
  const int64_t small = batch * ceil_div(M, Small::BM) * ceil_div(N, Small::BN);
  return rounds(small, multiprocessors, share ? 2 : 1, 0.36, share ? 0.65 : 0.36) <
         rounds(large, multiprocessors, 1, 1, 1);
}

// The rule: the tile with which the busiest multiprocessor is done first; of the large one as many
// stages as fit, as in step 5; and step 13's for rows that are not aligned.
void by_shape(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
              Workspace workspace, cudaStream_t stream) {
  require_device("by_shape", Small::BYTES);
  require_plain(product, "by_shape");
  const int64_t M = product.M, N = product.N, K = product.K;
  if (M == 0 || N == 0) return;
  const Operands x = aligned_operands(product, A, B, workspace, stream);
  const int width = std::min(copy_width(x.A, x.lda), copy_width(x.B, x.ldb));
  const auto launch = [&]<class T>() {
    const int64_t blocks = ceil_div(M, T::BM) * ceil_div(N, T::BN);
    std::visit(
        [&]<class Out>(Out* to) {
          const auto kernel = width == 8   ? by_shape_kernel<T, 8, Out>
                              : width == 4 ? by_shape_kernel<T, 4, Out>
                              : width == 2 ? by_shape_kernel<T, 2, Out>
                                           : by_shape_kernel<T, 1, Out>;
          allow_shared_memory(kernel, T::BYTES);
          kernel<<<blocks, T::THREADS, T::BYTES, stream>>>(x.A, x.B, to, M, N, K, x.lda, x.ldb,
                                                           rows_are_aligned(to, N));
        },
        C);
  };
  if (takes_small_tiles(M, N, multiprocessors(), shared_memory_limit()))
    launch.operator()<Small>();
  else
    with_first_that_fits<Large, TwoStages>(shared_memory_limit(), launch);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::tensor_cores
