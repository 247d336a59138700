// Step 8 = step 7 + TMA stores C while the next tile is multiplied.
//
// FLOP            2·M·N·K
// global memory   as in step 7
// asked for       loads 2·K·(M·⌈N/256⌉ + N·⌈M/256⌉) bytes, stores E·M·N bytes
// shared memory   224 KB a block: four stages of 48 KB, and 4 KB a consumer's warp for C
// block           288 threads for several times 128 × 256 elements of C; a cluster is two blocks
// H200            0.181 ms at 4096³, 100 % of cuBLAS
//
// A lane's sums lie all over 16 rows of C. A warp writes 128 bytes of each row into a box in shared
// memory, and TMA copies the box: whole lines of C, and no thread waits for memory. It has two
// boxes; it fills one while the other is copied.
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
constexpr int BOXES = 2;             // of a warp: it fills one while the other is copied

struct Shared {
  Tiles<BM, BN> tiles[STAGES];
  Box boxes[CONSUMERS * 4][BOXES];  // (warp, …)
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

/// A warp's sums (16, 2·COUNT), whose first element is C[row0][col0], by way of its boxes.
template <class Out, int COUNT>
__device__ void begin_stores(const CUtensorMap& C_map, int row0, int col0, const float (&d)[COUNT],
                             Box (&boxes)[BOXES], int& next) {
#pragma unroll
  for (int i = 0; i < 2 * COUNT / BOX_COLS<Out>; ++i) {
    Box& box = boxes[next];
    next = (next + 1) % BOXES;
    if (threadIdx.x % 32 == 0) tma_wait_read<BOXES - 1>();  // TMA has read what the box held …
    __syncwarp();                                           // … and all lanes know
    fill_box(box, d + i * BOX_COLS<Out> / 2, Out{});
    fence_async_proxy();  // TMA may read what this lane has written …
    __syncwarp();         // … and what the others have
    if (threadIdx.x % 32 == 0) {
      tma_store(C_map, &box, {col0 + i * BOX_COLS<Out>, row0});
      tma_commit();
    }
  }
}

template <class Out>
__global__ void __launch_bounds__(THREADS, 1)
    stored_behind_kernel(const __grid_constant__ CUtensorMap A_map,
                         const __grid_constant__ CUtensorMap B_map,
                         const __grid_constant__ CUtensorMap C_map, int M, int N, int K) {
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
    const int m = group * 64, warp = threadIdx.x % WARPGROUP / 32;
    const auto release = [&](int stage) {
      const int target = threadIdx.x % WARPGROUP;  // thread 0 tells block 0, thread 1 block 1
      if (target < CLUSTER) barrier_arrive_at(shared.empty[stage], target);
    };
    float d[BN / 2];
    int next_box = 0;
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
      begin_stores<Out>(C_map, (place.down * CLUSTER + rank) * BM + m + warp * 16,
                        place.across * BN, d, shared.boxes[m / 16 + warp], next_box);
    }
    if (threadIdx.x % 32 == 0) tma_wait<0>();
  }
  __syncwarp();    // cluster_sync() is for whole warps, and some lanes had other work
  cluster_sync();  // nobody leaves while the other may still arrive at its barriers
}

}  // namespace

void stored_behind(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
                   Workspace workspace, cudaStream_t stream) {
  require_sm_90a("stored_behind");
  require_plain(product, "stored_behind");
  if (!tma_takes(product, A, B, C))
    return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  const int64_t M = product.M, N = product.N, K = product.K;
  const CUtensorMap A_map = map_of(A, M, K, BM, BK), B_map = map_of(B, K, N, SHARE, COLS);
  const int64_t tiles = ceil_div(M, CLUSTER * BM) * ceil_div(N, BN);
  const int64_t count = std::min<int64_t>(tiles, multiprocessors() / CLUSTER);
  const int m = static_cast<int>(M), n = static_cast<int>(N), k = static_cast<int>(K);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = stored_behind_kernel<Out>;
        allow_shared_memory(kernel, SHARED_BYTES);
        const CUtensorMap C_map = map_of(to, M, N, 16, BOX_COLS<Out>);
        launch_clusters(kernel, CLUSTER, dim3(count * CLUSTER), dim3(THREADS), SHARED_BYTES, stream,
                        A_map, B_map, C_map, m, n, k);
      },
      C);
}

}  // namespace tutorial::tiled_matmul::hopper
