// Step 2 = step 1 + a scale for each row of A, and of B.
//
// FLOP            2·M·N·K
// global memory   as in step 1, and 4·(M + N) bytes of scales
// asked for       loads K·(M·⌈N/256⌉ + N·⌈M/256⌉) + scales bytes, stores 2·M·N bytes
// shared memory   224 KB a block: four stages of 48 KB, and 4 KB a consumer's warp for C
// block           288 threads for several times 128 × 256 elements of C; a cluster is two blocks
//
// One number that is 10 million times as large as all others makes the scale of its matrix so much
// larger, and the others smaller: they fall below e4m3's 2^−9. Here it spoils its own row.
// Rows of B are columns of C. Both scales are constant along K, so they still come in at the end.
#include "fp8/tiles.cuh"

namespace tutorial::tiled_matmul::fp8 {
namespace {

using Memory = Shared<256, 4>;
constexpr int SHARED_BYTES = aligned_bytes<Memory>;

__global__ void __launch_bounds__(THREADS, 1)
    row_scales_kernel(const __grid_constant__ CUtensorMap A_map,
                      const __grid_constant__ CUtensorMap B_map,
                      const __grid_constant__ CUtensorMap C_map, Problem p) {
  extern __shared__ unsigned char memory[];
  Memory& shared = aligned_shared<Memory>(memory);
  if (threadIdx.x == 0) make_barriers(shared);
  cluster_sync();

  const int group = warpgroup_number();
  if (group == CONSUMERS) {
    if (elect_one()) produce(shared, A_map, B_map, p);
  } else {
    const int m = group * 64, warp = threadIdx.x % WARPGROUP / 32;
    float d[Memory::BN / 2];
    Ring<Memory::STAGES> turn;
    int next_box = 0;
    Turns(p, Memory::BN).for_each_tile(Memory::BN, [&](int row0, int col0) {
      for (int k0 = 0; k0 < p.K; k0 += BK, turn.next()) {
        barrier_wait(shared.full[turn.stage], turn.parity);
        const auto& tiles = shared.tiles[turn.stage];
        begin_products<Memory::BN>(d, tiles.A + m * BK, tiles.B, k0 > 0);
        wgmma_wait<1>();
        if (k0 > 0) release(shared, (turn.stage + Memory::STAGES - 1) % Memory::STAGES);
      }
      wgmma_wait<0>(d);
      release(shared, (turn.stage + Memory::STAGES - 1) % Memory::STAGES);
      scale_sums(d, p, row0 + m + warp * 16, col0);
      begin_stores(C_map, p, row0 + m + warp * 16, col0, d, shared.boxes[group * 4 + warp],
                   next_box);
    });
    if (threadIdx.x % 32 == 0) tma_wait<0>();
  }
  __syncwarp();    // cluster_sync() is for whole warps, and some lanes had other work
  cluster_sync();  // nobody leaves while the other may still arrive at its barriers
}

}  // namespace

void row_scales(const Fp8Product& product, const e4m3* A, const e4m3* B, Scales scales, bf16* C,
                Workspace workspace, cudaStream_t stream) {
  const auto [a, b, pitch] = for_tma("row_scales", product, A, B, workspace, stream);
  if (is_done_without(product, C, stream)) return;
  const auto [M, N, K] = product;
  const CUtensorMap A_map = map_of(a, M, K, pitch, BM),
                    B_map = map_of(b, N, K, pitch, Memory::BN / CLUSTER);
  allow_shared_memory(row_scales_kernel, SHARED_BYTES);
  launch_clusters(row_scales_kernel, CLUSTER, dim3(blocks_of(product, Memory::BN)), dim3(THREADS),
                  SHARED_BYTES, stream, A_map, B_map, map_of_c(product, C, A_map),
                  problem_of(product, scales, C));
}

}  // namespace tutorial::tiled_matmul::fp8
