// Step 4 = step 3 + the blocks that share keys are a cluster: they merge what they have in each
// other's shared memory, with no second kernel and no workspace. So keys have up to eight parts.
//
// FLOP            as step 3
// global memory   as step 1
// asked for       loads 2·B·NH·Tq·HS·Parts + 4·B·NH_kv·Tk·HS·⌈NH·Tq/(NH_kv·Rows)⌉ bytes, less what
// a
//                 causal mask hides, stores 2·B·NH·Tq·(HS + 2) bytes
// shared memory   as step 3
// block           as step 3; up to 8 are a cluster
// H200            0.0377 ms for a query on 4096 keys, B 8, 32 heads on 8, HS 128, 86 % of a plain
//                 copy of k; step 3 has 81 %
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
    clusters_kernel(Attention shape, int64_t keys_of_part, float scale, const bf16* __restrict__ q,
                    const bf16* __restrict__ k, const bf16* __restrict__ v, bf16* __restrict__ out,
                    float* __restrict__ lse) {
  constexpr int D = Tile::D, TALL = Tile::TALL, Bc = Tile::Bc, STAGES = Tile::STAGES;
  using BlockSums = Sums<Tile>;
  static_assert(sizeof(BlockSums) <= Tile::BYTES);
  extern __shared__ __align__(16) bf16 shared[];
  bf16* const Q = shared;                   // (ROWS, D)
  bf16* const stages = Q + Tile::ROWS * D;  // STAGES times (Bc, D) of K and (Bc, D) of V
  const int HS = static_cast<int>(shape.HS);
  const int part = cluster_rank(), parts = cluster_size();
  const RowTile tile(shape, Tile::ROWS, blockIdx.x / parts);
  const int64_t begin = part * keys_of_part;
  const int64_t end = begin + keys_of_part < tile.seen ? begin + keys_of_part : tile.seen;
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
  cluster_sync();  // all blocks have put theirs
  const auto of_block = [&](int block) -> const BlockSums& { return *in_block(&sums, block); };
  sums.weigh(parts, of_block);
#pragma unroll 2
  for (int i = part * Tile::THREADS + threadIdx.x; i < tile.count * (D / 4);
       i += parts * Tile::THREADS) {
    const int row = i / (D / 4), column = i % (D / 4) * 4;
    if (column < HS)
      store_merged(out, lse, sums.merged(parts, row, column, of_block), tile.first + row, column,
                   HS);
  }
  cluster_sync();  // nobody leaves while another reads its sums
}

}  // namespace

void clusters(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
              float* lse, Workspace /*workspace*/, cudaStream_t stream) {
  if (compute_capability() < 90)
    throw Error("clusters needs clusters, of compute capability 9.0 or newer; take warps_share.");
  require_head_size(shape, "clusters", 256);
  if (!all_aligned(q, k, v, out)) return any_address(shape, q, k, v, out, lse, stream);
  const Split split = split_of(shape, multiprocessors(), MOST_OF_CLUSTER);
  with_packed_tile<true>(shape, [&]<class Tile>() {
    const auto kernel = clusters_kernel<Tile>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    const unsigned blocks = grid_blocks(split.tiles * split.parts);
    if (shape.rows() * shape.HS == 0) return;
    launch_clusters(kernel, static_cast<int>(split.parts), dim3(blocks), dim3(Tile::THREADS),
                    Tile::BYTES, stream, shape, split.keys, LOG2_E * score_scale(shape), q, k, v,
                    out, lse);
  });
}

}  // namespace tutorial::flash_attention::few_queries
