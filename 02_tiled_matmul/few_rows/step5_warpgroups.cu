// Step 5 = step 4 + for more rows TMA and warpgroups: 64 columns of B are the rows of wgmma, and up
// to 128 rows of A its columns.
//
// FLOP            2·M·N·K, and (S − 1)·M·N for S parts
// global memory   2·(M·K + K·N) + E·M·N bytes for up to 128 rows
// asked for       loads 2·K·(M·⌈N/64⌉ + N·⌈M/ROWS⌉) bytes, stores E·M·N bytes
// shared memory   48, 96 or 192 KB a block: stages of 12, 16 or 24 KB
// block           160 threads for ROWS × 64 elements of C and a part of K: ROWS is 32, 64 or 128
// H200            0.0154 ms at 64×4096×4096, 86 % of cuBLAS; step 4 has 48 %
// long diff       another kernel: part hopper's step 4 with the operands' places changed; the
//                 clusters are step 4's
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

constexpr int BN = COLS_OF_WARPGROUP, BK = 64;
constexpr int THREADS = WARPGROUP + 32;  // who multiplies, and the producer's warp

/// What follows from a block's rows of C and the stages of its ring.
template <int ROWS_, int STAGES_>
struct Shape {
  static constexpr int ROWS = ROWS_, STAGES = STAGES_;
  struct Tiles {
    bf16 B[BK * BN], A[ROWS * BK];
  };
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
    warpgroups_kernel(const __grid_constant__ CUtensorMap A_map,
                      const __grid_constant__ CUtensorMap B_map, Out* C, int M, int N, int K,
                      int depth_of_part) {
  constexpr int ROWS = S::ROWS, STAGES = S::STAGES;
  extern __shared__ unsigned char memory[];
  typename S::Shared& shared = aligned_shared<typename S::Shared>(memory);
  const int across = static_cast<int>(ceil_div(N, BN));
  const int part = cluster_rank(), tile = static_cast<int>(blockIdx.x) / cluster_size();
  const int row0 = tile / across * ROWS, col0 = tile % across * BN;
  const int k_begin = part * depth_of_part, k_end = min(K, k_begin + depth_of_part);
  const bool multiplies = warpgroup_number() == 0;
  const int rows = min(M, ROWS);  // of a box of A
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(shared.full[stage], 1);
      barrier_init(shared.empty[stage], 1);
    }
    barrier_init_fence();
  }
  for (int stage = 0; stage < STAGES; ++stage) zero_rows<ROWS, BK>(shared.tiles[stage].A, rows);
  fence_async_proxy();  // wgmma may read the zeros
  __syncthreads();

  Ring<STAGES> turn;
  float d[ROWS / 2] = {};
  if (!multiplies) {  // the producer: one thread of its warp
    if (elect_one()) {
      for (int k0 = k_begin; k0 < k_end; k0 += BK, turn.next()) {
        typename S::Tiles& tiles = shared.tiles[turn.stage];
        Barrier& full = shared.full[turn.stage];
        barrier_wait(shared.empty[turn.stage], turn.parity ^ 1);
        barrier_arrive_expect(full, sizeof tiles.B + rows * BK * sizeof(bf16));
        tma_load(tiles.B, B_map, full, {col0, k0});
        tma_load(tiles.A, A_map, full, {k0, row0});
      }
    }
    __syncwarp();
  } else {
    for (int k0 = k_begin; k0 < k_end; k0 += BK, turn.next()) {
      barrier_wait(shared.full[turn.stage], turn.parity);
      const typename S::Tiles& tiles = shared.tiles[turn.stage];
      const WgmmaOperand b({.start = tiles.B}), a({.start = tiles.A});
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < BK; k += 16)
        wgmma<ROWS, bf16, Major::mn, Major::k>(d, b + k * 128, a + k * 2);
      wgmma_commit();
      wgmma_wait<1>();  // all but these products
      if (k0 > k_begin && threadIdx.x == 0)
        barrier_arrive(shared.empty[(turn.stage + STAGES - 1) % STAGES]);
    }
    wgmma_wait<0>(d);
  }
  __syncthreads();  // nobody reads the tiles any more
  auto& sums = reinterpret_cast<typename S::BlockSums&>(shared);
  if (multiplies) {
    const int n = static_cast<int>(threadIdx.x) / 32 * 16;  // the warp's columns
#pragma unroll
    for (int j = 0; j < ROWS / 8; ++j) sums.put(8 * j, n, &d[4 * j]);
  }
  store_sums_of_cluster(sums, C, M, N, row0, col0);
}

template <class S>
void launch(const Bf16Product& product, const bf16* A, const bf16* B, Output C, int64_t count,
            int64_t depth_of_part, cudaStream_t stream) {
  const int64_t M = product.M, N = product.N, K = product.K;
  const int rows = static_cast<int>(std::min<int64_t>(M, S::ROWS));
  const CUtensorMap A_map = map_of(A, M, K, rows, BK), B_map = map_of(B, K, N, BK, BN);
  const int64_t tiles = ceil_div(M, S::ROWS) * ceil_div(N, BN);
  const int m = static_cast<int>(M), n = static_cast<int>(N), k = static_cast<int>(K);
  const int depth = static_cast<int>(depth_of_part);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = warpgroups_kernel<S, Out>;
        allow_shared_memory(kernel, S::SHARED_BYTES);
        launch_clusters(kernel, static_cast<int>(count), dim3(tiles * count), dim3(THREADS),
                        S::SHARED_BYTES, stream, A_map, B_map, to, m, n, k, depth);
      },
      C);
}

}  // namespace

void warpgroups(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
                Workspace workspace, cudaStream_t stream) {
  hopper::require_sm_90a("warpgroups");
  if (!hopper::tma_takes(product, A, B, C))
    return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  const int64_t count = parts_of_warpgroup(product, multiprocessors());
  const int64_t depth = depth_of_parts(product.K, count, BK);
  const bool is_small = takes_small_rings(product, multiprocessors());
  const auto launch_shape = [&]<class S>(S) { launch<S>(product, A, B, C, count, depth, stream); };
  switch (rows_of_warpgroup(product.M)) {
    case 32:
      return launch_shape(Shape<32, 4>());
    case 64:
      return is_small ? launch_shape(Shape<64, 3>()) : launch_shape(Shape<64, 6>());
    default:
      return launch_shape(Shape<128, 8>());
  }
}

}  // namespace tutorial::tiled_matmul::few_rows
