// Step 7 = step 6 + clusters: two blocks need the same tile of B, and each loads half of it for
// both.
//
// FLOP            2·M·N·K
// global memory   2·K·(M·N/256 + N·M/256) + E·M·N bytes
// asked for       loads 2·K·(M·⌈N/256⌉ + N·⌈M/256⌉) bytes, stores E·M·N bytes
// shared memory   as in step 5
// block           288 threads for several times 128 × 256 elements of C; a cluster is two blocks
// H200            0.186 ms at 4096³, 97 % of cuBLAS
//
//   block 0   rows   0 … 127 of A ─┐              B's tile   upper 32 rows: block 0 loads them
//   block 1   rows 128 … 255 of A ─┴─ one below              lower 32 rows: block 1 loads them
//                                     the other              and both get all 64
//
// A stage is empty when the consumers of both blocks have released it, since the copies of either
// block's producer write to both.
#include "common/kernel/cluster.cuh"
#include "common/kernel/tma.cuh"
#include "common/kernel/wgmma.cuh"
#include "hopper/launch.hpp"
#include "hopper/tiles.cuh"

namespace tutorial::tiled_matmul::hopper {
namespace {

constexpr int CONSUMERS = 2, THREADS = CONSUMERS * WARPGROUP + 32;
constexpr int BM = 64 * CONSUMERS, BN = 256;
constexpr int STAGES = 4;   // as many as 227 KB hold
constexpr int CLUSTER = 2;  // blocks, whose tiles of C lie one below the other
constexpr unsigned EVERY_BLOCK = (1u << CLUSTER) - 1;
constexpr int SHARE = BK / CLUSTER;  // of the rows of B's tile, a block's
constexpr int GROUP = 8;             // pairs of tiles one below the other: 2048 rows, as before

struct Shared {
  Tiles<BM, BN> tiles[STAGES];
  Barrier full[STAGES], empty[STAGES];
};
constexpr int SHARED_BYTES = aligned_bytes<Shared>;

/// Begins d (64, BN) += 64 rows of A's tile, from row m on, · B's tile, or d = … without `add`.
__device__ void begin_products(float (&d)[BN / 2], const Tiles<BM, BN>& tiles, int m, bool add) {
  const WgmmaOperand a({.start = tiles.A + m * BK}),
      b({.start = tiles.B, .leading = sizeof tiles.B[0]});
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < BK; k += 16)
    wgmma<BN, bf16, Major::k, Major::mn>(d, a + k * 2, b + k * 128, add || k > 0);
  wgmma_commit();
}

template <class Out>
__global__ void __launch_bounds__(THREADS, 1)
    clusters_kernel(const __grid_constant__ CUtensorMap A_map,
                    const __grid_constant__ CUtensorMap B_map, Out* C, int M, int N, int K) {
  extern __shared__ unsigned char memory[];
  Shared& shared = aligned_shared<Shared>(memory);
  const int down = ceil_div(M, CLUSTER * BM), across = ceil_div(N, BN);
  const int group = warpgroup_number(), rank = cluster_rank();
  const int first = blockIdx.x / CLUSTER, stride = gridDim.x / CLUSTER;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(shared.full[stage], 1);
      barrier_init(shared.empty[stage], CLUSTER * CONSUMERS);
    }
    barrier_init_fence();
  }
  cluster_sync();

  Ring<STAGES> turn;
  if (group == CONSUMERS) {  // the producer: one thread of its warp
    if (elect_one()) {
      for (int tile = first; tile < down * across; tile += stride) {
        const Place place = place_of<GROUP>(tile, down, across);
        for (int k0 = 0; k0 < K; k0 += BK, turn.next()) {
          Tiles<BM, BN>& tiles = shared.tiles[turn.stage];
          Barrier& full = shared.full[turn.stage];
          barrier_wait(shared.empty[turn.stage], turn.parity ^ 1);
          barrier_arrive_expect(full, sizeof tiles);
          tma_load(tiles.A, A_map, full, {k0, (place.down * CLUSTER + rank) * BM});
          for (int i = 0; i < BN / COLS; ++i)
            tma_load_multicast(tiles.B[i] + rank * SHARE * COLS, B_map, full,
                               {place.across * BN + i * COLS, k0 + rank * SHARE}, EVERY_BLOCK);
        }
      }
    }
  } else {
    const int m = group * 64;
    const auto release = [&](int stage) {
      const int target = threadIdx.x % WARPGROUP;  // thread 0 tells block 0, thread 1 block 1
      if (target < CLUSTER) barrier_arrive_at(shared.empty[stage], target);
    };
    float d[BN / 2];
    for (int tile = first; tile < down * across; tile += stride) {
      const Place place = place_of<GROUP>(tile, down, across);
      for (int k0 = 0; k0 < K; k0 += BK, turn.next()) {
        barrier_wait(shared.full[turn.stage], turn.parity);
        begin_products(d, shared.tiles[turn.stage], m, k0 > 0);
        // Waits for all but these products, which go on while the next tile is waited for.
        wgmma_wait<1>();
        if (k0 > 0) release((turn.stage + STAGES - 1) % STAGES);
      }
      wgmma_wait<0>(d);
      release((turn.stage + STAGES - 1) % STAGES);
      store_sums(C, M, N, (place.down * CLUSTER + rank) * BM + m, place.across * BN, d);
    }
  }
  __syncwarp();    // cluster_sync() is for whole warps, and some lanes had other work
  cluster_sync();  // nobody leaves while the other may still arrive at its barriers
}

}  // namespace

void clusters(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
              Workspace workspace, cudaStream_t stream) {
  require_sm_90a("clusters");
  require_plain(product, "clusters");
  if (!tma_takes(product, A, B, C))
    return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  const int64_t M = product.M, N = product.N, K = product.K;
  const CUtensorMap A_map = map_of(A, M, K, BM, BK), B_map = map_of(B, K, N, SHARE, COLS);
  const int64_t tiles = ceil_div(M, CLUSTER * BM) * ceil_div(N, BN);
  const int64_t count = std::min<int64_t>(tiles, multiprocessors() / CLUSTER);
  const int m = static_cast<int>(M), n = static_cast<int>(N), k = static_cast<int>(K);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = clusters_kernel<Out>;
        allow_shared_memory(kernel, SHARED_BYTES);
        launch_clusters(kernel, CLUSTER, dim3(count * CLUSTER), dim3(THREADS), SHARED_BYTES, stream,
                        A_map, B_map, to, m, n, k);
      },
      C);
}

}  // namespace tutorial::tiled_matmul::hopper
