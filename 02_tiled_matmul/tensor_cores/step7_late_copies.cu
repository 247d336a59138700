// Step 7 = step 6 + copies begin with the second quarter of a tile, not before the first.
//
// FLOP            2·M·N·K
// global memory   as in step 5
// asked for       loads 2·K·(M·⌈N/256⌉ + N·⌈M/128⌉) bytes, stores E·M·N bytes
// shared memory   as in step 5
// block           256 threads for 128 × 256 elements of C
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/mma.cuh"
#include "tensor_cores/bf16_tile.cuh"
#include "tensor_cores/launch_checks.hpp"
#include "tensor_cores/products.cuh"

namespace tutorial::tiled_matmul::tensor_cores {
namespace {

constexpr int BM = 128, BN = 256;  // the block's tile of C …
constexpr int WM = 64, WN = 64;    // … and a warp's: 128 sums a thread, half of its registers
constexpr int BK = 64;             // elements of K at a time: 48 KB for both tiles
constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;

using TileA = Swizzled<BM, BK>;
using TileB = Swizzled<BK, BN>;
constexpr int STAGE = TileA::SIZE + TileB::SIZE;
using ThreeStages = Stages<3, STAGE>;  // 144 of 227 KB
using TwoStages = Stages<2, STAGE>;    // 96 of 99 KB

template <int STAGES, int WIDTH, class Out>
__global__ void __launch_bounds__(THREADS, 1)
    late_copies_kernel(const bf16* A, const bf16* B, Out* C, int64_t M, int64_t N, int64_t K) {
  extern __shared__ uint4 shared[];
  bf16* const tiles = reinterpret_cast<bf16*>(shared);  // (STAGES, STAGE): of A, and behind it of B
  const int64_t across = ceil_div(N, BN);               // blocks side by side
  const int64_t row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int m = warp / WARPS_N * WM, n = warp % WARPS_N * WN;  // the warp's tile in the block's

  float sum[WM / 16][WN / 8][4] = {};
  const TileCopies<TileA, THREADS, WIDTH, Depth::cols> copies_of_a(A, M, K, row0);
  const TileCopies<TileB, THREADS, WIDTH, Depth::rows> copies_of_b(B, K, N, col0);
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
  const auto read_fragments = [&](int which, int stage, int k) {
    const bf16 *As = tiles + stage * STAGE, *Bs = As + TileA::SIZE;
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
      ldmatrix(a[which][i], &As[TileA::at(m + 16 * i + lane % 16, k + lane / 16 * 8)]);
#pragma unroll
    for (int j = 0; j < WN / 16; ++j)
      ldmatrix_trans(b[which][j], &Bs[TileB::at(k + lane % 16, n + 16 * j + lane / 16 * 8)]);
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
  store_sums(C, M, N, row0 + m, col0 + n, sum);
}

}  // namespace

// The 16-byte path if the rows of A and of B both allow it, else an element at a time.
void late_copies(const Bf16Product& product, const bf16* A, const bf16* B, Output C, Workspace,
                 cudaStream_t stream) {
  require_device("late_copies", TwoStages::BYTES);
  require_plain(product, "late_copies");
  const int64_t M = product.M, N = product.N, K = product.K;
  if (M == 0 || N == 0) return;
  const bool aligned = rows_are_aligned(A, K) && rows_are_aligned(B, N);
  const int64_t blocks = ceil_div(M, BM) * ceil_div(N, BN);
  with_first_that_fits<ThreeStages, TwoStages>(shared_memory_limit(), [&]<class R>() {
    std::visit(
        [&]<class Out>(Out* to) {
          const auto kernel = aligned ? late_copies_kernel<R::STAGES, CHUNK, Out>
                                      : late_copies_kernel<R::STAGES, 1, Out>;
          allow_shared_memory(kernel, R::BYTES);
          kernel<<<blocks, THREADS, R::BYTES, stream>>>(A, B, to, M, N, K);
        },
        C);
  });
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::tensor_cores
