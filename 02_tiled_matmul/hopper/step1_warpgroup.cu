// Step 1: TMA brings the tiles, and one instruction of four warps multiplies them where they lie.
//
// FLOP            2·M·N·K
// global memory   2·K·(M·N/256 + N·M/64) + E·M·N bytes; E = 4 or 2, the bytes of an element of C
// asked for       loads 2·K·(M·⌈N/256⌉ + N·⌈M/64⌉) bytes, stores E·M·N bytes
// shared memory   40 KB a block
// block           128 threads, a warpgroup, for 64 × 256 elements of C
// H200            0.281 ms at 4096³, 64 % of cuBLAS
//
// Part tensor_cores needs an instruction for each 16 × 8 elements of C and 16 of K, and others that
// bring its operands from shared memory into registers. wgmma takes 64 × 256 at a time, and reads
// both tiles from shared memory by itself. And no thread copies: one says which tile it wants.
#include "common/kernel/tma.cuh"
#include "common/kernel/wgmma.cuh"
#include "hopper/launch.hpp"
#include "hopper/tiles.cuh"

namespace tutorial::tiled_matmul::hopper {
namespace {

constexpr int BM = 64, BN = 256;  // the widest product that one instruction makes

struct Shared {
  Tiles<BM, BN> tiles;
  Barrier full;
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
    warpgroup_kernel(const __grid_constant__ CUtensorMap A_map,
                     const __grid_constant__ CUtensorMap B_map, Out* C, int M, int N, int K) {
  extern __shared__ unsigned char memory[];
  Shared& shared = aligned_shared<Shared>(memory);
  const int across = ceil_div(N, BN);
  const int row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
  if (threadIdx.x == 0) {
    barrier_init(shared.full, 1);
    barrier_init_fence();
  }
  __syncthreads();

  float d[BN / 2];
  int parity = 0;
  for (int k0 = 0; k0 < K; k0 += BK, parity ^= 1) {
    if (threadIdx.x == 0) {
      barrier_arrive_expect(shared.full, sizeof shared.tiles);
      tma_load(shared.tiles.A, A_map, shared.full, {k0, row0});
      for (int i = 0; i < BN / COLS; ++i)
        tma_load(shared.tiles.B[i], B_map, shared.full, {col0 + i * COLS, k0});
    }
    barrier_wait(shared.full, parity);
    begin_products(d, shared.tiles, k0 > 0);
    wgmma_wait<0>(d);
    __syncthreads();  // all four warps' products are done: the tiles may be overwritten
  }
  store_sums(C, M, N, row0, col0, d);
}

}  // namespace

void warpgroup(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
               Workspace workspace, cudaStream_t stream) {
  require_sm_90a("warpgroup");
  require_plain(product, "warpgroup");
  if (!tma_takes(product, A, B, C))
    return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  const int64_t M = product.M, N = product.N, K = product.K;
  const CUtensorMap A_map = map_of(A, M, K, BM, BK), B_map = map_of(B, K, N, BK, COLS);
  const int64_t blocks = ceil_div(M, BM) * ceil_div(N, BN);
  const int m = static_cast<int>(M), n = static_cast<int>(N), k = static_cast<int>(K);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = warpgroup_kernel<Out>;
        allow_shared_memory(kernel, SHARED_BYTES);
        kernel<<<blocks, WARPGROUP, SHARED_BYTES, stream>>>(A_map, B_map, to, m, n, k);
      },
      C);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::hopper
