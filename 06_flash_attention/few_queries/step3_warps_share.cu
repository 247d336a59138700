// Step 3 = step 2 + four warps share the keys of a tile: each has a quarter of them, or a half
// where a tile has 64 rows, and its own sums, which the block merges in shared memory.
//
// FLOP            as step 2, and the merge
// global memory   as step 2
// asked for by warps_share_kernel  loads 2·B·NH·Tq·HS·Parts +
//                 4·B·NH_kv·Tk·HS·⌈NH·Tq/(NH_kv·Rows)⌉ bytes, less what a causal mask hides, stores
//                 4·B·NH·Tq·(HS + 2)·Parts bytes, or 2·B·NH·Tq·(HS + 2) if there is one part
// asked for by merge_parts_kernel  loads 10·B·NH·Tq·HS·Parts bytes, stores
//                 2·B·NH·Tq·(HS + 2) bytes
// workspace       as step 2
// shared memory   as step 1; the warps' sums take the place of the tiles
// block           128 threads, or 64 for 16 rows above head size 128, for a tile of rows and a part
// of the keys
// H200            0.0396 ms for a query on 4096 keys, B 8, 32 heads on 8, HS 128, 81 % of a plain
//                 copy of k; step 2 has 74 %
#include "common/kernel/check.hpp"
#include "common/kernel/device.hpp"
#include "common/kernel/exp2.cuh"
#include "few_queries/few_queries.hpp"
#include "few_queries/packed.cuh"
#include "few_queries/sums.cuh"
#include "launch_checks.hpp"
#include "tensor_cores/launch.hpp"
#include "tensor_cores/products.cuh"
#include "tensor_cores/softmax.cuh"

namespace tutorial::flash_attention::few_queries {
namespace {

using namespace tensor_cores;

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS)
    warps_share_kernel(Attention shape, Parts parts, float scale, const bf16* __restrict__ q,
                       const bf16* __restrict__ k, const bf16* __restrict__ v,
                       bf16* __restrict__ out, float* __restrict__ lse) {
  constexpr int D = Tile::D, TALL = Tile::TALL, Bc = Tile::Bc, STAGES = Tile::STAGES;
  using BlockSums = Sums<Tile>;
  static_assert(sizeof(BlockSums) <= Tile::BYTES);
  extern __shared__ __align__(16) bf16 shared[];
  bf16* const Q = shared;                   // (ROWS, D)
  bf16* const stages = Q + Tile::ROWS * D;  // STAGES times (Bc, D) of K and (Bc, D) of V
  const int HS = static_cast<int>(shape.HS);
  const RowTile tile(shape, Tile::ROWS, blockIdx.x / parts.count);
  const int64_t part = blockIdx.x % parts.count, begin = part * parts.keys;
  const int64_t end = begin + parts.keys < tile.seen ? begin + parts.keys : tile.seen;
  k += tile.head * shape.Tk * HS;
  v += tile.head * shape.Tk * HS;
  // A warp's rows, and its keys of each tile.
  const int warp = threadIdx.x / WARP, key_warp = warp / Tile::ROW_WARPS;
  const int warp_row = warp % Tile::ROW_WARPS * TALL * 16, warp_key = key_warp * Tile::KEYS;

  // Copies of the keys from `key` on; of none, where they have ended, but a group all the same.
  const auto begin_copies = [&](int stage, int64_t key) {
    if (key < end) {
      bf16* const K = stages + stage * Tile::STAGE;
      copy_rows<Tile, Bc>(K, k + key * HS, end - key, HS);
      copy_rows<Tile, Bc>(K + Bc * D, v + key * HS, end - key, HS);
    }
    __pipeline_commit();
  };
  copy_rows<Tile, Tile::ROWS>(Q, q + tile.first * HS, tile.count, HS);
  for (int s = 0; s < STAGES - 1; ++s) begin_copies(s, begin + s * Bc);
  Rows16<D> rows[TALL];
  int stage = 0;
  for (int64_t key = begin; key < end; key += Bc) {
    __pipeline_wait_prior(STAGES - 2);  // this thread's copies of this stage have come …
    __syncthreads();  // … and all threads', and nobody reads the stage before it any more
    begin_copies(stage == 0 ? STAGES - 1 : stage - 1, key + (STAGES - 1) * Bc);
    const bf16* const K = stages + stage * Tile::STAGE + warp_key * D;
    float S[TALL][Tile::KEYS / 8][4] = {};
    multiply_keys<Tile>(S, Q + warp_row * D, K);
    if (key + Bc > tile.whole)
#pragma unroll
      for (int m = 0; m < TALL; ++m)
        hide_unseen(S[m], shape, tile.row + warp_row + m * 16, key + warp_key);
#pragma unroll
    for (int m = 0; m < TALL; ++m) softmax(S[m], rows[m], scale);
    multiply_values<Tile>(rows, S, K + Bc * D);
    stage = stage == STAGES - 1 ? 0 : stage + 1;
  }
  __pipeline_wait_prior(0);
  __syncthreads();  // nobody reads the tiles any more, or has copies on their way to them
  BlockSums& sums = *reinterpret_cast<BlockSums*>(shared);
#pragma unroll
  for (int m = 0; m < TALL; ++m) sums.put(key_warp, warp_row + m * 16, rows[m]);
  __syncthreads();
  const auto of_block = [&](int) -> const BlockSums& { return sums; };
  sums.weigh(1, of_block);
  for (int i = threadIdx.x; i < tile.count * (D / 4); i += Tile::THREADS) {
    const int row = i / (D / 4), column = i % (D / 4) * 4;
    if (column >= HS) continue;
    const Merged all = sums.merged(1, row, column, of_block);
    if (parts.count == 1)
      store_merged(out, lse, all, tile.first + row, column, HS);
    else
      store_merged(parts, all, part * shape.rows() + tile.first + row, column, HS);
  }
}

}  // namespace

void warps_share(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                 float* lse, Workspace workspace, cudaStream_t stream) {
  require_head_size(shape, "warps_share", 256);
  if (!all_aligned(q, k, v, out)) return any_address(shape, q, k, v, out, lse, stream);
  const Split split = split_of(shape, blocks_of_four_warps(shape) * multiprocessors());
  with_packed_tile<true>(shape, [&]<class Tile>() {
    const auto kernel = warps_share_kernel<Tile>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    const unsigned blocks = grid_blocks(split.tiles * split.parts);
    if (shape.rows() * shape.HS == 0) return;
    const Parts parts = parts_in(shape, split, workspace, "warps_share");
    kernel<<<blocks, Tile::THREADS, Tile::BYTES, stream>>>(
        shape, parts, LOG2_E * score_scale(shape), q, k, v, out, lse);
    CUDA_CHECK_LAUNCH();
    if (parts.count > 1) merge_parts(shape, parts, out, lse, stream);
  });
}

}  // namespace tutorial::flash_attention::few_queries
