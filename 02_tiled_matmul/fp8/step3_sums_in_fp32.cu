// Step 3 = step 2 + sums of 128 elements of K, which are added up in fp32.
//
// FLOP            2·M·N·K, and M·N·⌈K/128⌉ additions
// global memory   as in step 2
// asked for       loads K·(M·⌈N/256⌉ + N·⌈M/256⌉) + scales bytes, stores 2·M·N bytes
// shared memory   224 KB a block: four stages of 48 KB, and 4 KB a consumer's warp for C
// block           384 threads for several times 128 × 256 elements of C; a cluster is two blocks
//
// Of 8-bit numbers the tensor cores keep 14 bits of a sum, and cut what is below. The longer the
// sum, the more is lost of each product. So a tile's sum is taken out and added by the ordinary
// units. A thread has no registers for both of 256 columns: the
// producer's warpgroup gives some of its own, and 128 columns are multiplied at a time.
#include "fp8/tiles.cuh"

namespace tutorial::tiled_matmul::fp8 {
namespace {

using Memory = Shared<256, 4>;
constexpr int PART = 128;  // columns whose products are begun together
constexpr int SHARED_BYTES = aligned_bytes<Memory>;

__global__ void __launch_bounds__(THREE_GROUPS, 1)
    sums_in_fp32_kernel(const __grid_constant__ CUtensorMap A_map,
                        const __grid_constant__ CUtensorMap B_map,
                        const __grid_constant__ CUtensorMap C_map, Problem p) {
  extern __shared__ unsigned char memory[];
  Memory& shared = aligned_shared<Memory>(memory);
  if (threadIdx.x == 0) make_barriers(shared);
  cluster_sync();

  const int group = warpgroup_number();
  if (group == CONSUMERS) {
    give_registers<24>();
    if (threadIdx.x % WARPGROUP < 32 && elect_one()) produce(shared, A_map, B_map, p);
  } else {
    take_registers<240>();
    const int m = group * 64, warp = threadIdx.x % WARPGROUP / 32;
    float sums[Memory::BN / 2];
    Ring<Memory::STAGES> turn;
    int next_box = 0;
    Turns(p, Memory::BN).for_each_tile(Memory::BN, [&](int row0, int col0) {
#pragma unroll
      for (float& sum : sums) sum = 0;
      for (int k0 = 0; k0 < p.K; k0 += BK, turn.next()) {
        barrier_wait(shared.full[turn.stage], turn.parity);
        const auto& tiles = shared.tiles[turn.stage];
#pragma unroll
        for (int part = 0; part < Memory::BN; part += PART) {
          float d[PART / 2];
          begin_products<PART>(d, tiles.A + m * BK, tiles.B + part * BK, false);
          wgmma_wait<0>(d);
          if (part + PART == Memory::BN) release(shared, turn.stage);
#pragma unroll
          for (int i = 0; i < PART / 2; ++i) sums[part / 2 + i] += d[i];
        }
      }
      scale_sums(sums, p, row0 + m + warp * 16, col0);
      begin_stores(C_map, p, row0 + m + warp * 16, col0, sums, shared.boxes[group * 4 + warp],
                   next_box);
    });
    if (threadIdx.x % 32 == 0) tma_wait<0>();
  }
  __syncwarp();    // cluster_sync() is for whole warps, and some lanes had other work
  cluster_sync();  // nobody leaves while the other may still arrive at its barriers
}

}  // namespace

void sums_in_fp32(const Fp8Product& product, const e4m3* A, const e4m3* B, Scales scales, bf16* C,
                  Workspace workspace, cudaStream_t stream) {
  const auto [a, b, pitch] = for_tma("sums_in_fp32", product, A, B, workspace, stream);
  if (is_done_without(product, C, stream)) return;
  const auto [M, N, K] = product;
  const CUtensorMap A_map = map_of(a, M, K, pitch, BM),
                    B_map = map_of(b, N, K, pitch, Memory::BN / CLUSTER);
  allow_shared_memory(sums_in_fp32_kernel, SHARED_BYTES);
  launch_clusters(sums_in_fp32_kernel, CLUSTER, dim3(blocks_of(product, Memory::BN)),
                  dim3(THREE_GROUPS), SHARED_BYTES, stream, A_map, B_map,
                  map_of_c(product, C, A_map), problem_of(product, scales, C));
}

}  // namespace tutorial::tiled_matmul::fp8
