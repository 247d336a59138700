// Step 4 = step 3 + a scale for each 128 elements of K.
//
// FLOP            2·M·N·K, and M·N·⌈K/128⌉ multiply-adds
// global memory   as in step 1, and 4·⌈K/128⌉·(M + N/128) bytes of scales
// asked for       loads K·(M·⌈N/256⌉ + N·⌈M/256⌉) + scales bytes, stores 2·M·N bytes
// shared memory   224 KB a block: four stages of 48 KB, and 4 KB a consumer's warp for C
// block           384 threads for several times 128 × 256 elements of C; a cluster is two blocks
//
// A scale that changes along K cannot wait until the end. But since step 3 each 128 elements of K
// have a sum of their own, which can be multiplied by its own scale: that of 128 elements of a row
// of A, and of 128 × 128 elements of B (DeepSeek-V3 Technical Report, 2024, section 3.3.2).
#include "fp8/tiles.cuh"

namespace tutorial::tiled_matmul::fp8 {
namespace {

using Memory = Shared<256, 4>;
constexpr int PART = SCALED, PARTS = Memory::BN / PART;  // columns that share a scale
constexpr int SHARED_BYTES = aligned_bytes<Memory>;

/// The scales of a lane's sums: of its two rows of A, and of the parts of B's tile.
struct LaneScales {
  float a[2], b[PARTS];

  __device__ LaneScales(const Problem& p, int row, int col0, int k0) {
    const int number = min(k0, p.K - 1) / SCALED;  // behind the last tile it is asked for again
    const float* const of_a = p.scales.a + int64_t{number} * p.M;
    const int groups = static_cast<int>(ceil_div(p.N, SCALED));
#pragma unroll
    for (int half = 0; half < 2; ++half) a[half] = row + 8 * half < p.M ? of_a[row + 8 * half] : 0;
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      const int group = min(col0 / SCALED + part, groups - 1);
      b[part] = p.scales.b[int64_t{number} * groups + group];
    }
  }
};

__global__ void __launch_bounds__(THREE_GROUPS, 1)
    block_scales_kernel(const __grid_constant__ CUtensorMap A_map,
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
      const int row = row0 + m + warp * 16 + threadIdx.x % 32 / 4;
      LaneScales scales(p, row, col0, 0);
      for (int k0 = 0; k0 < p.K; k0 += BK, turn.next()) {
        const LaneScales next(p, row, col0, k0 + BK);  // asked for during these products
        barrier_wait(shared.full[turn.stage], turn.parity);
        const auto& tiles = shared.tiles[turn.stage];
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
          float d[PART / 2];
          begin_products<PART>(d, tiles.A + m * BK, tiles.B + part * PART * BK, false);
          const float scale[2] = {scales.a[0] * scales.b[part], scales.a[1] * scales.b[part]};
          wgmma_wait<0>(d);
          if (part == PARTS - 1) release(shared, turn.stage);
#pragma unroll
          for (int i = 0; i < PART / 2; ++i) sums[part * PART / 2 + i] += scale[i % 4 / 2] * d[i];
        }
        scales = next;
      }
      begin_stores(C_map, p, row0 + m + warp * 16, col0, sums, shared.boxes[group * 4 + warp],
                   next_box);
    });
    if (threadIdx.x % 32 == 0) tma_wait<0>();
  }
  __syncwarp();    // cluster_sync() is for whole warps, and some lanes had other work
  cluster_sync();  // nobody leaves while the other may still arrive at its barriers
}

}  // namespace

void block_scales(const Fp8Product& product, const e4m3* A, const e4m3* B, Scales scales, bf16* C,
                  Workspace workspace, cudaStream_t stream) {
  const auto [a, b, pitch] = for_tma("block_scales", product, A, B, workspace, stream);
  if (is_done_without(product, C, stream)) return;
  const auto [M, N, K] = product;
  const CUtensorMap A_map = map_of(a, M, K, pitch, BM),
                    B_map = map_of(b, N, K, pitch, Memory::BN / CLUSTER);
  allow_shared_memory(block_scales_kernel, SHARED_BYTES);
  launch_clusters(block_scales_kernel, CLUSTER, dim3(blocks_of(product, Memory::BN)),
                  dim3(THREE_GROUPS), SHARED_BYTES, stream, A_map, B_map,
                  map_of_c(product, C, A_map), problem_of(product, scales, C));
}

}  // namespace tutorial::tiled_matmul::fp8
