// Step 6 = step 5 + tiles of 128 columns and up to 256 rows; more rows go to even shares.
//
// FLOP            2·M·N·K, and (S − 1)·M·N for S parts
// asked for       loads 2·K·(R·S·⌈N/128⌉ + N·S) bytes for S shares of R rows, stores E·M·N bytes
// shared memory   up to 224 KB a block: stages of 32, 40 or 48 KB
// block           288 threads for ROWS × 128 elements of C and a part of K: ROWS is 128, 192 or 256
// H200            0.0448 ms at 192×4096×14336, 99 % of cuBLAS; step 5 has 48 %
#include <algorithm>

#include "common/kernel/cluster.cuh"
#include "common/kernel/grid.hpp"
#include "common/kernel/tma.cuh"
#include "common/kernel/wgmma.cuh"
#include "few_rows/few_rows.hpp"
#include "few_rows/parts.hpp"
#include "few_rows/sums.cuh"
#include "hopper/launch.hpp"
#include "hopper/tiles.cuh"

namespace tutorial::tiled_matmul::few_rows {
namespace {

using hopper::map_of, hopper::warpgroup_number;

constexpr int CONSUMERS = 2, BN = COLS_OF_LARGER, BK = 64;
constexpr int COLS = BN / CONSUMERS;  // of a warpgroup
constexpr int THREADS = CONSUMERS * WARPGROUP + 32;

/// What follows from a block's rows of C.
template <int ROWS_>
struct Shape {
  static constexpr int ROWS = ROWS_;
  struct Tiles {
    bf16 B[CONSUMERS][BK * COLS], A[ROWS * BK];
  };
  static constexpr int STAGES = 224 * 1024 / sizeof(Tiles);
  using BlockSums = Sums<ROWS, BN>;
  struct Shared {
    Tiles tiles[STAGES];
    Barrier full[STAGES], empty[STAGES];
  };
  static_assert(sizeof(BlockSums) <= sizeof(Shared::tiles));
  static constexpr int SHARED_BYTES = aligned_bytes<Shared>;
};

template <class S, class Out>
__global__ void __launch_bounds__(THREADS)
    larger_tiles_kernel(const __grid_constant__ CUtensorMap A_map,
                        const __grid_constant__ CUtensorMap B_map, Out* C, int M, int N, int K,
                        int rows, int depth_of_part) {
  constexpr int ROWS = S::ROWS, STAGES = S::STAGES;
  extern __shared__ unsigned char memory[];
  typename S::Shared& shared = aligned_shared<typename S::Shared>(memory);
  const int shares = static_cast<int>(ceil_div(M, rows));
  const int part = cluster_rank(), tile = static_cast<int>(blockIdx.x) / cluster_size();
  // The last share begins so early that its box, too, ends with the matrix. What it has of the
  // share before, only that one stores.
  const int first = tile % shares * rows, row0 = min(first, M - rows), col0 = tile / shares * BN;
  const int k_begin = part * depth_of_part, k_end = min(K, k_begin + depth_of_part);
  const int group = warpgroup_number();
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(shared.full[stage], 1);
      barrier_init(shared.empty[stage], CONSUMERS);
    }
    barrier_init_fence();
  }
  for (int stage = 0; stage < STAGES; ++stage) zero_rows<ROWS, BK>(shared.tiles[stage].A, rows);
  fence_async_proxy();  // wgmma may read the zeros
  __syncthreads();

  Ring<STAGES> turn;
  float d[ROWS / 2] = {};
  if (group == CONSUMERS) {  // the producer: one thread of its warp
    if (elect_one()) {
      for (int k0 = k_begin; k0 < k_end; k0 += BK, turn.next()) {
        typename S::Tiles& tiles = shared.tiles[turn.stage];
        Barrier& full = shared.full[turn.stage];
        barrier_wait(shared.empty[turn.stage], turn.parity ^ 1);
        barrier_arrive_expect(full, sizeof tiles.B + rows * BK * sizeof(bf16));
        for (int i = 0; i < CONSUMERS; ++i)
          tma_load(tiles.B[i], B_map, full, {col0 + i * COLS, k0});
        tma_load(tiles.A, A_map, full, {k0, row0});
      }
    }
    __syncwarp();
  } else {
    for (int k0 = k_begin; k0 < k_end; k0 += BK, turn.next()) {
      barrier_wait(shared.full[turn.stage], turn.parity);
      const typename S::Tiles& tiles = shared.tiles[turn.stage];
      const WgmmaOperand b({.start = tiles.B[group]}), a({.start = tiles.A});
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < BK; k += 16)
        wgmma<ROWS, bf16, Major::mn, Major::k>(d, b + k * 128, a + k * 2);
      wgmma_commit();
      wgmma_wait<1>();  // all but these products
      if (k0 > k_begin && threadIdx.x % WARPGROUP == 0)
        barrier_arrive(shared.empty[(turn.stage + STAGES - 1) % STAGES]);
    }
    wgmma_wait<0>(d);
  }
  __syncthreads();  // nobody reads the tiles any more
  auto& sums = reinterpret_cast<typename S::BlockSums&>(shared);
  if (group < CONSUMERS) {
    const int n = static_cast<int>(threadIdx.x) / 32 * 16;  // the warp's columns
#pragma unroll
    for (int j = 0; j < ROWS / 8; ++j) sums.put(8 * j, n, &d[4 * j]);
  }
  store_sums_of_cluster(sums, C, row0 + rows, N, row0, col0, first);  // no row of another share
}

template <class S>
void launch(const Bf16Product& product, const bf16* A, const bf16* B, Output C, Larger larger,
            cudaStream_t stream) {
  const int64_t M = product.M, N = product.N, K = product.K;
  const int rows = static_cast<int>(larger.rows), count = static_cast<int>(larger.parts);
  const CUtensorMap A_map = map_of(A, M, K, rows, BK), B_map = map_of(B, K, N, BK, COLS);
  const int64_t tiles = ceil_div(M, larger.rows) * ceil_div(N, BN);
  const int m = static_cast<int>(M), n = static_cast<int>(N), k = static_cast<int>(K);
  const int depth = static_cast<int>(depth_of_parts(K, larger.parts, BK));
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = larger_tiles_kernel<S, Out>;
        allow_shared_memory(kernel, S::SHARED_BYTES);
        launch_clusters(kernel, count, dim3(tiles * count), dim3(THREADS), S::SHARED_BYTES, stream,
                        A_map, B_map, to, m, n, k, rows, depth);
      },
      C);
}

}  // namespace

void larger_tiles(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
                  Workspace workspace, cudaStream_t stream) {
  hopper::require_sm_90a("larger_tiles");
  if (!hopper::tma_takes(product, A, B, C))
    return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  const Larger larger = larger_tiles_of(product, multiprocessors());
  switch (rows_of_larger(larger.rows)) {
    case 128:
      return launch<Shape<128>>(product, A, B, C, larger, stream);
    case 192:
      return launch<Shape<192>>(product, A, B, C, larger, stream);
    default:
      return launch<Shape<MOST_ROWS_OF_LARGER>>(product, A, B, C, larger, stream);
  }
}

}  // namespace tutorial::tiled_matmul::few_rows
