// Step 2 = step 1 + a ring of stages: the next tiles are on their way while one is multiplied.
//
// FLOP            2·M·N·K
// global memory   as in step 1
// asked for       loads 2·K·(M·⌈N/256⌉ + N·⌈M/64⌉) bytes, stores E·M·N bytes
// shared memory   160 KB a block: four stages of 40 KB
// block           128 threads, a warpgroup, for 64 × 256 elements of C
//
// In step 1 the tensor cores wait for each copy, and each copy for the tensor cores. Here there are
// four places for tiles, each with a barrier: when one has been multiplied, thread 0 asks for the
// tile four further on, and the next three are there or under way.
#include "common/kernel/tma.cuh"
#include "common/kernel/wgmma.cuh"
#include "hopper/launch.hpp"
#include "hopper/tiles.cuh"

namespace tutorial::tiled_matmul::hopper {
namespace {

constexpr int BM = 64, BN = 256;  // the widest product that one instruction makes
constexpr int STAGES = 4;         // tiles of K that are there or on their way

struct Shared {
  Tiles<BM, BN> tiles[STAGES];
  Barrier full[STAGES];
};
constexpr int SHARED_BYTES = aligned_bytes<Shared>;

/// Begins d (64, BN) += A's tile · B's tile, or d = … without `add`, 16 of K at a time.
__device__ void begin_products(float (&d)[BN / 2], const Tiles<BM, BN>& tiles, bool add) {
  const WgmmaOperand a({.start = tiles.A}), b({.start = tiles.B, .leading = sizeof tiles.B[0]});
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < BK; k += 16)  // of A 32 bytes further right, of B 16 rows further down
    wgmma<BN, bf16, Major::k, Major::mn>(d, a + k * 2, b + k * 128, add || k > 0);
  wgmma_commit();
}

template <class Out>
__global__ void __launch_bounds__(WARPGROUP)
    ring_kernel(const __grid_constant__ CUtensorMap A_map,
                const __grid_constant__ CUtensorMap B_map, Out* C, int M, int N, int K) {
  extern __shared__ unsigned char memory[];
  Shared& shared = aligned_shared<Shared>(memory);
  const int across = ceil_div(N, BN);
  const int row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
  if (threadIdx.x == 0) {
    for (Barrier& full : shared.full) barrier_init(full, 1);
    barrier_init_fence();
  }
  __syncthreads();

  const auto load = [&](int stage, int k0) {
    Tiles<BM, BN>& tiles = shared.tiles[stage];
    Barrier& full = shared.full[stage];
    barrier_arrive_expect(full, sizeof tiles);
    tma_load(tiles.A, A_map, full, {k0, row0});
    for (int i = 0; i < BN / COLS; ++i) tma_load(tiles.B[i], B_map, full, {col0 + i * COLS, k0});
  };
  if (threadIdx.x == 0)
    for (int stage = 0; stage < STAGES && stage * BK < K; ++stage) load(stage, stage * BK);

  float d[BN / 2];
  Ring<STAGES> turn;
  for (int k0 = 0; k0 < K; k0 += BK, turn.next()) {
    barrier_wait(shared.full[turn.stage], turn.parity);
    begin_products(d, shared.tiles[turn.stage], k0 > 0);
    wgmma_wait<0>(d);
    __syncthreads();  // all four warps' products are done: the stage may be overwritten
    const int next = k0 + STAGES * BK;  // what comes into this stage
    if (threadIdx.x == 0 && next < K) load(turn.stage, next);
  }
  store_sums(C, M, N, row0, col0, d);
}

}  // namespace

void ring(const Bf16Product& product, const bf16* A, const bf16* B, Output C, Workspace workspace,
          cudaStream_t stream) {
  require_sm_90a("ring");
  require_plain(product, "ring");
  if (!tma_takes(product, A, B, C))
    return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  const int64_t M = product.M, N = product.N, K = product.K;
  const CUtensorMap A_map = map_of(A, M, K, BM, BK), B_map = map_of(B, K, N, BK, COLS);
  const int64_t blocks = ceil_div(M, BM) * ceil_div(N, BN);
  const int m = static_cast<int>(M), n = static_cast<int>(N), k = static_cast<int>(K);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = ring_kernel<Out>;
        allow_shared_memory(kernel, SHARED_BYTES);
        kernel<<<blocks, WARPGROUP, SHARED_BYTES, stream>>>(A_map, B_map, to, m, n, k);
      },
      C);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::hopper
