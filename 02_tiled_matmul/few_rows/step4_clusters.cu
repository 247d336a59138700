// Step 4 = step 3 + the blocks that share a K are a cluster: they add up in each other's shared
// memory, with no second kernel and no workspace.
//
// FLOP            2·M·N·K, and (S − 1)·M·N for S parts
// global memory   2·(M·K + K·N) + E·M·N bytes for up to 16 rows
// asked for       loads 2·K·(M·⌈N/128⌉ + N·⌈M/16⌉) bytes, stores E·M·N bytes
// shared memory   as in step 3
// block           128 threads for 16 × 128 elements of C and a part of K; up to 8 are a cluster
// H200            0.0139 ms at 8×4096×4096, 102 % of cuBLAS; step 3 has 88 %
#include "common/kernel/cluster.cuh"
#include "common/kernel/grid.hpp"
#include "common/kernel/mma.cuh"
#include "few_rows/few_rows.hpp"
#include "few_rows/parts.hpp"
#include "few_rows/sums.cuh"
#include "tensor_cores/bf16_tile.cuh"
#include "tensor_cores/launch_checks.hpp"

namespace tutorial::tiled_matmul::few_rows {
namespace {

using namespace tensor_cores;  // tiles, and how they are copied

constexpr int ROWS = ROWS_OF_MMA, BN = COLS_OF_MMA, BK = 64;
constexpr int WARPS = 4, THREADS = WARPS * 32, WN = BN / WARPS;  // a warp has WN columns
constexpr int STAGES = 4;
using TileA = Swizzled<ROWS, BK>;
using TileB = Swizzled<BK, BN>;
constexpr int STAGE = TileA::SIZE + TileB::SIZE, BYTES = STAGES * STAGE * sizeof(bf16);
using BlockSums = Sums<ROWS, BN>;
static_assert(sizeof(BlockSums) <= BYTES);

/// sum (WN columns of C, ROWS rows) += Bᵀ·Aᵀ, from the block's column n on.
__device__ void multiply_tiles(float (&sum)[WN / 16][ROWS / 8][4], const bf16* As, const bf16* Bs,
                               int n) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < BK; k += 16) {
    uint32_t a[4], b[4];  // a: two fragments of 8 rows each
    ldmatrix(a, As + TileA::at(lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8));
#pragma unroll
    for (int i = 0; i < WN / 16; ++i) {
      // B lies with K down. Transposed, its columns are the fragment's rows.
      ldmatrix_trans(b,
                     Bs + TileB::at(k + lane / 16 * 8 + lane % 8, n + 16 * i + lane / 8 % 2 * 8));
#pragma unroll
      for (int j = 0; j < ROWS / 8; ++j) mma_m16n8k16<bf16>(sum[i][j], b, a[2 * j], a[2 * j + 1]);
    }
  }
}

/// A cluster has the parts of a tile of C.
template <class Out>
__global__ void __launch_bounds__(THREADS)
    clusters_kernel(const bf16* A, const bf16* B, Out* C, int64_t M, int64_t N, int64_t K,
                    int64_t depth_of_part) {
  extern __shared__ uint4 shared[];
  bf16* const tiles = reinterpret_cast<bf16*>(shared);  // (STAGES, STAGE): of A, and then of B
  const int64_t across = ceil_div(N, BN);
  const int64_t part = cluster_rank(), tile = blockIdx.x / cluster_size();
  const int64_t row0 = tile / across * ROWS, col0 = tile % across * BN;
  const int64_t k_begin = part * depth_of_part, k_end = min(K, k_begin + depth_of_part);
  const int n = threadIdx.x / 32 * WN;

  const TileCopies<TileA, THREADS, CHUNK, Depth::cols> copies_of_a(A, M, K, row0);
  const TileCopies<TileB, THREADS, CHUNK, Depth::rows> copies_of_b(B, K, N, col0);
  // Copies of the tiles from k0 on; of none, where the part has ended, but a group all the same.
  const auto begin_copies = [&](int stage, int64_t k0) {
    if (k0 < k_end) {
      copies_of_a.begin(tiles + stage * STAGE, k0);
      copies_of_b.begin(tiles + stage * STAGE + TileA::SIZE, k0);
    }
    __pipeline_commit();
  };
  float sum[WN / 16][ROWS / 8][4] = {};
  for (int s = 0; s < STAGES - 1; ++s) begin_copies(s, k_begin + s * BK);
  int stage = 0;
  for (int64_t k0 = k_begin; k0 < k_end; k0 += BK) {
    __pipeline_wait_prior(STAGES - 2);  // this thread's copies of this stage have come …
    __syncthreads();  // … and all threads', and nobody reads the stage before it any more
    begin_copies(stage_before<STAGES>(stage), k0 + (STAGES - 1) * BK);
    const bf16* const As = tiles + stage * STAGE;
    multiply_tiles(sum, As, As + TileA::SIZE, n);
    stage = stage_after<STAGES>(stage);
  }
  __syncthreads();  // nobody reads the tiles any more
  BlockSums& sums = *reinterpret_cast<BlockSums*>(shared);
#pragma unroll
  for (int i = 0; i < WN / 16; ++i) {
#pragma unroll
    for (int j = 0; j < ROWS / 8; ++j) sums.put(8 * j, n + 16 * i, sum[i][j]);
  }
  store_sums_of_cluster(sums, C, M, N, row0, col0);
}

}  // namespace

void clusters(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
              Workspace workspace, cudaStream_t stream) {
  if (compute_capability() < 90)
    throw Error("clusters needs clusters, of compute capability 9.0 or newer; take transposed");
  if (!hopper::tma_takes(product, A, B, C))
    return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  const int64_t M = product.M, N = product.N, K = product.K;
  const int64_t count = parts_of_mma(product, multiprocessors());
  const int64_t depth = depth_of_parts(K, count, BK);
  const int64_t tiles = ceil_div(M, ROWS) * ceil_div(N, BN);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = clusters_kernel<Out>;
        allow_shared_memory(kernel, BYTES);
        launch_clusters(kernel, static_cast<int>(count), dim3(tiles * count), dim3(THREADS), BYTES,
                        stream, A, B, to, M, N, K, depth);
      },
      C);
}

}  // namespace tutorial::tiled_matmul::few_rows
