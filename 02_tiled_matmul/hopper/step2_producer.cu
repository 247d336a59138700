// Step 2 = step 1 + one thread that only loads and two warpgroups that only multiply, in a ring of
// stages.
//
// FLOP            2·M·N·K
// global memory   2·K·(M·N/256 + N·M/128) + E·M·N bytes
// asked for       loads 2·K·(M·⌈N/256⌉ + N·⌈M/128⌉) bytes, stores E·M·N bytes
// shared memory   192 KB a block: four stages of 48 KB
// block           384 threads for 128 × 256 elements of C: a producer and two consumers
// H200            0.193 ms at 4096³, 93 % of cuBLAS
//
// In step 1 the tensor cores wait for each tile. Here four tiles are on their way, and nobody stops
// for anybody but at a stage's two barriers (barrier.cuh): consumers wait for full ones, the
// producer for empty ones.
//
//   producer     load 0│load 1│load 2│load 3│·· empty 0 ··│load 4│ …
//   consumer 1   ·· full 0 ··│products 0│products 1│ …           rows  0 … 63  of each tile
//   consumer 2   ·· full 0 ··│products 0│products 1│ …           rows 64 … 127
//
// The two share the tile of B, so an element of it is loaded for 128 rows of C.
#include "common/kernel/tma.cuh"
#include "common/kernel/wgmma.cuh"
#include "hopper/launch.hpp"
#include "hopper/tiles.cuh"

namespace tutorial::tiled_matmul::hopper {
namespace {

constexpr int CONSUMERS = 2, THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int BM = 64 * CONSUMERS, BN = 256;
constexpr int STAGES = 4;  // as many as 227 KB hold

// 128 of a consumer's registers are sums; the producer needs few (warpgroup.cuh has the picture).
constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;

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
    producer_kernel(const __grid_constant__ CUtensorMap A_map,
                    const __grid_constant__ CUtensorMap B_map, Out* C, int M, int N, int K) {
  extern __shared__ unsigned char memory[];
  Shared& shared = aligned_shared<Shared>(memory);
  const int across = ceil_div(N, BN);
  const int row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
  const int group = threadIdx.x / WARPGROUP;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(shared.full[stage], 1);
      barrier_init(shared.empty[stage], CONSUMERS);
    }
    barrier_init_fence();
  }
  __syncthreads();

  Ring<STAGES> turn;
  if (group == 0) {  // the producer: one thread; all four warps give registers
    give_registers<PRODUCER_REGISTERS>();
    if (threadIdx.x < 32 && elect_one()) {
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
    take_registers<CONSUMER_REGISTERS>();
    const int m = (group - 1) * 64;
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

void producer(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
              Workspace workspace, cudaStream_t stream) {
  require_sm_90a("producer");
  if (!tma_takes(product, A, B, C))
    return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  const int64_t M = product.M, N = product.N, K = product.K;
  const CUtensorMap A_map = map_of(A, M, K, BM, BK), B_map = map_of(B, K, N, BK, COLS);
  const int64_t blocks = ceil_div(M, BM) * ceil_div(N, BN);
  const int m = static_cast<int>(M), n = static_cast<int>(N), k = static_cast<int>(K);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = producer_kernel<Out>;
        allow_shared_memory(kernel, SHARED_BYTES);
        kernel<<<blocks, THREADS, SHARED_BYTES, stream>>>(A_map, B_map, to, m, n, k);
      },
      C);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::hopper
