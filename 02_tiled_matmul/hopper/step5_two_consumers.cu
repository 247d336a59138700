// Step 5 = step 4 + a second consumer: a tile of B serves 128 rows of C.
//
// FLOP            2·M·N·K
// global memory   2·K·(M·N/256 + N·M/128) + E·M·N bytes
// asked for       loads 2·K·(M·⌈N/256⌉ + N·⌈M/128⌉) bytes, stores E·M·N bytes
// shared memory   192 KB a block: four stages of 48 KB
// block           288 threads for 128 × 256 elements of C: two consumers and a producer's warp
//
//   producer     load 0│load 1│load 2│load 3│·· empty 0 ··│load 4│ …
//   consumer 0   ·· full 0 ··│products 0│products 1│ …           rows  0 … 63  of each tile
//   consumer 1   ·· full 0 ··│products 0│products 1│ …           rows 64 … 127
//
// One warpgroup cannot hold the sums of 128 × 256 elements: 256 a thread. Two have 128 each.
#include "common/kernel/tma.cuh"
#include "common/kernel/wgmma.cuh"
#include "hopper/launch.hpp"
#include "hopper/tiles.cuh"

namespace tutorial::tiled_matmul::hopper {
namespace {

constexpr int CONSUMERS = 2, THREADS = CONSUMERS * WARPGROUP + 32;
constexpr int BM = 64 * CONSUMERS, BN = 256;
constexpr int STAGES = 4;  // as many as 227 KB hold

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
    two_consumers_kernel(const __grid_constant__ CUtensorMap A_map,
                         const __grid_constant__ CUtensorMap B_map, Out* C, int M, int N, int K) {
  extern __shared__ unsigned char memory[];
  Shared& shared = aligned_shared<Shared>(memory);
  const int across = ceil_div(N, BN);
  const int row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
  const int group = warpgroup_number();
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(shared.full[stage], 1);
      barrier_init(shared.empty[stage], CONSUMERS);
    }
    barrier_init_fence();
  }
  __syncthreads();

  Ring<STAGES> turn;
  if (group == CONSUMERS) {  // the producer: one thread of its warp
    if (elect_one()) {
      for (int k0 = 0; k0 < K; k0 += BK, turn.next()) {
        Tiles<BM, BN>& tiles = shared.tiles[turn.stage];
        Barrier& full = shared.full[turn.stage];
        barrier_wait(shared.empty[turn.stage], turn.parity ^ 1);
        barrier_arrive_expect(full, sizeof tiles);
        tma_load(tiles.A, A_map, full, {k0, row0});
        for (int i = 0; i < BN / COLS; ++i)
          tma_load(tiles.B[i], B_map, full, {col0 + i * COLS, k0});
      }
    }
  } else {
    const int m = group * 64;
    const auto release = [&](int stage) {
      if (threadIdx.x % WARPGROUP == 0) barrier_arrive(shared.empty[stage]);
    };
    float d[BN / 2];
    for (int k0 = 0; k0 < K; k0 += BK, turn.next()) {
      barrier_wait(shared.full[turn.stage], turn.parity);
      begin_products(d, shared.tiles[turn.stage], m, k0 > 0);
      // Waits for all but these products, which go on while the next tile is waited for.
      wgmma_wait<1>();
      if (k0 > 0) release((turn.stage + STAGES - 1) % STAGES);
    }
    wgmma_wait<0>(d);
    store_sums(C, M, N, row0 + m, col0, d);
  }
}

}  // namespace

void two_consumers(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
                   Workspace workspace, cudaStream_t stream) {
  require_sm_90a("two_consumers");
  require_plain(product, "two_consumers");
  if (!tma_takes(product, A, B, C))
    return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  const int64_t M = product.M, N = product.N, K = product.K;
  const CUtensorMap A_map = map_of(A, M, K, BM, BK), B_map = map_of(B, K, N, BK, COLS);
  const int64_t blocks = ceil_div(M, BM) * ceil_div(N, BN);
  const int m = static_cast<int>(M), n = static_cast<int>(N), k = static_cast<int>(K);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = two_consumers_kernel<Out>;
        allow_shared_memory(kernel, SHARED_BYTES);
        kernel<<<blocks, THREADS, SHARED_BYTES, stream>>>(A_map, B_map, to, m, n, k);
      },
      C);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::hopper
