// Step 16 = step 15 + layouts: B or its transpose, rows with gaps, several products in one launch.
//
// FLOP            2·P·M·N·K; P is the number of products, `batch`
// global memory   2·P·K·(M·N/BN + N·M/BM) + E·P·M·N bytes
// asked for       loads 2·P·K·(M·⌈N/BN⌉ + N·⌈M/BM⌉) bytes, stores E·P·M·N bytes
// shared memory   as in step 14
// block           256 threads for 128 × 256 elements of C, or 128 for 64 × 128
//
// Where B lies as Bᵀ (N, K), its tile has rows along K, as A's: it is copied as A's is, and
// ldmatrix reads pairs along K without .trans.
#include <algorithm>
#include <string>
#include <type_traits>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/mma.cuh"
#include "tensor_cores/bf16_tile.cuh"
#include "tensor_cores/launch_checks.hpp"
#include "tensor_cores/operands.hpp"
#include "tensor_cores/products.cuh"
#include "tensor_cores/row_copies.cuh"
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
  using TransposedB = Swizzled<BN, BK>;
  static constexpr int STAGE = TileA::SIZE + TileB::SIZE;
  static constexpr int BYTES = STAGES * STAGE * sizeof(bf16);
};

/// The product of all that `p` spells out; B lies as Bᵀ if TRANSPOSED.
template <class T, int WIDTH, bool TRANSPOSED, class Out>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS_PER_SM)
    layouts_kernel(const bf16* A, const bf16* B, Out* C, const __grid_constant__ Bf16Product p,
                   bool aligned_c) {
  using TileA = typename T::TileA;
  using TileB = std::conditional_t<TRANSPOSED, typename T::TransposedB, typename T::TileB>;
  constexpr int BM = T::BM, BN = T::BN, WM = T::WM, WN = T::WN;
  constexpr int THREADS = T::THREADS, STAGES = T::STAGES, STAGE = T::STAGE;
  extern __shared__ uint4 shared[];
  bf16* const tiles = reinterpret_cast<bf16*>(shared);  // (STAGES, STAGE): of A, and behind it of B
  const int64_t M = p.M, N = p.N, K = p.K, down = ceil_div(M, BM), across = ceil_div(N, BN);
  const int64_t number = blockIdx.x / (down * across);  // of the product
  const Place place = place_of<GROUP>(blockIdx.x % (down * across), down, across);
  const int64_t row0 = place.down * BM, col0 = place.across * BN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int m = warp / T::WARPS_N * WM, n = warp % T::WARPS_N * WN;  // the warp's, in the block's

  float sum[WM / 16][WN / 8][4] = {};
  const RowCopies<TileA, THREADS, WIDTH, Depth::cols> copies_of_a(A + number * p.stride_a, M, K,
                                                                  p.lda, row0);
  const RowCopies<TileB, THREADS, WIDTH, TRANSPOSED ? Depth::cols : Depth::rows> copies_of_b(
      B + number * p.stride_b, TRANSPOSED ? N : K, TRANSPOSED ? K : N, p.ldb, col0);
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
  int from_a[BK / 16], from_b[TRANSPOSED ? BK / 16 : WN / 16];
#pragma unroll
  for (int k = 0; k < BK; k += 16) from_a[k / 16] = TileA::at(m + lane % 16, k + lane / 16 * 8);
  // The first two 8 × 8 are b0 and b1 of the left fragment. Along a row of Bᵀ b1 is beside b0, and
  // the right fragment is 8 rows further down; in B it is the other way round.
  const int beside = lane / 8 % 2 * 8, further = lane / 16 * 8;
  if constexpr (TRANSPOSED) {
#pragma unroll
    for (int k = 0; k < BK; k += 16)
      from_b[k / 16] = TileA::SIZE + TileB::at(n + further + lane % 8, k + beside);
  } else {
#pragma unroll
    for (int j = 0; j < WN / 16; ++j)
      from_b[j] = TileA::SIZE + TileB::at(beside + lane % 8, n + 16 * j + further);
  }
  const auto read_fragments = [&](int which, int stage, int k) {
    const bf16* const from = tiles + stage * STAGE;
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) ldmatrix(a[which][i], from + from_a[k / 16] + 16 * i * BK);
#pragma unroll
    for (int j = 0; j < WN / 16; ++j)
      if constexpr (TRANSPOSED)
        ldmatrix(b[which][j], from + from_b[k / 16] + 16 * j * BK);
      else
        ldmatrix_trans(b[which][j], from + from_b[j] + k * BN);
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
  store_wide(C + number * p.stride_c, M, N, p.ldc, row0 + m, col0 + n, sum,
             reinterpret_cast<Out*>(shared) + warp * STAGED<WN / 8>, aligned_c);
}

using Large = BlockTile<128, 256, 64, 64, 3, 1>;      // step 5's …
using TwoStages = BlockTile<128, 256, 64, 64, 2, 1>;  // … and where a block has 99 KB
using Small = BlockTile<64, 128, 64, 32, 4, 2>;

}  // namespace

// The rules: step 15's for the tile. Copies are as wide as addresses, rows and strides allow.
void layouts(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
             Workspace workspace, cudaStream_t stream) {
  require_device("layouts", Small::BYTES);
  require_no_epilogue(product, "layouts");
  const Bf16Product p = spelled_out(product);
  const int64_t M = p.M, N = p.N;
  if (p.batch * M * N == 0) return;
  if (is_plain(p) && copies_pay(p, A, B))  // step 13's: into rows that allow wider copies
    return by_shape(p, A, B, C, workspace, stream);
  // A multiple of both is what has the zeros of both at its end, in binary: so is their OR.
  const int width = std::min(copy_width(A, p.lda | p.stride_a), copy_width(B, p.ldb | p.stride_b));
  const auto launch = [&]<class T>() {
    const int64_t blocks = p.batch * ceil_div(M, T::BM) * ceil_div(N, T::BN);
    if (blocks > grid_limit.x)
      throw Error("layouts has no more than " + std::to_string(grid_limit.x) +
                  " tiles of C in a launch; give it fewer products at a time");
    const auto with_width = [&]<int WIDTH, bool TRANSPOSED, class Out>(Out* to) {
      const auto kernel = layouts_kernel<T, WIDTH, TRANSPOSED, Out>;
      allow_shared_memory(kernel, T::BYTES);
      kernel<<<blocks, T::THREADS, T::BYTES, stream>>>(
          A, B, to, p, rows_are_aligned(to, p.ldc | p.stride_c | N));
    };
    std::visit(
        [&]<class Out>(Out* to) {
          const auto with_layout = [&]<bool TRANSPOSED>() {
            if (width == 8) return with_width.template operator()<8, TRANSPOSED>(to);
            if (width == 4) return with_width.template operator()<4, TRANSPOSED>(to);
            if (width == 2) return with_width.template operator()<2, TRANSPOSED>(to);
            return with_width.template operator()<1, TRANSPOSED>(to);
          };
          p.b_transposed ? with_layout.template operator()<true>()
                         : with_layout.template operator()<false>();
        },
        C);
  };
  if (takes_small_tiles(M, N, multiprocessors(), shared_memory_limit(), p.batch))
    launch.operator()<Small>();
  else
    with_first_that_fits<Large, TwoStages>(shared_memory_limit(), launch);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::tensor_cores
