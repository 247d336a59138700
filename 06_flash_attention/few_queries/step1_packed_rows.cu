// Step 1 = part tensor_cores' head_sizes + the queries of all heads that share keys are rows of one
// tile, of 16 or 64 rows: so K and V are read once for all of them, and few rows of a tile are
// empty. A ring of up to three stages has keys and values on their way.
//
// FLOP            4·Tk·D for each row of a tile, of which there are
//                 B·NH_kv·Rows·⌈NH·Tq/(NH_kv·Rows)⌉; D is HS padded to 64, 128 or 256
// global memory   reads Q and writes O once; reads K and V once for each ⌈NH·Tq/(NH_kv·Rows)⌉ tiles
//                 of rows
// asked for       loads 2·B·NH·Tq·HS + 4·B·NH_kv·Tk·HS·⌈NH·Tq/(NH_kv·Rows)⌉ bytes, less what a
//                 causal mask hides, stores 2·B·NH·Tq·(HS + 2) bytes
// shared memory   28 KB for 16 rows and HS 128: three stages of 16 keys and values
// block           32 threads for 16 rows, 64 for 64 rows, or 128 above head size 128
// H200            0.1449 ms for a query on 4096 keys, B 8, 32 heads on 8, HS 128, 22 % of a plain
//                 copy of k
// long diff       a kernel of its own: of tensor_cores' it keeps products and softmax
#include "common/kernel/check.hpp"
#include "common/kernel/exp2.cuh"
#include "few_queries/few_queries.hpp"
#include "few_queries/packed.cuh"
#include "launch_checks.hpp"
#include "tensor_cores/launch.hpp"
#include "tensor_cores/products.cuh"
#include "tensor_cores/softmax.cuh"

namespace tutorial::flash_attention::few_queries {
namespace {

using namespace tensor_cores;

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS)
    packed_rows_kernel(Attention shape, float scale, const bf16* __restrict__ q,
                       const bf16* __restrict__ k, const bf16* __restrict__ v,
                       bf16* __restrict__ out, float* __restrict__ lse) {
  constexpr int D = Tile::D, TALL = Tile::TALL, Bc = Tile::Bc, STAGES = Tile::STAGES;
  extern __shared__ __align__(16) bf16 shared[];
  bf16* const Q = shared;                   // (ROWS, D)
  bf16* const stages = Q + Tile::ROWS * D;  // STAGES times (Bc, D) of K and (Bc, D) of V
  const int HS = static_cast<int>(shape.HS);
  const RowTile tile(shape, Tile::ROWS, blockIdx.x);
  k += tile.head * shape.Tk * HS;
  v += tile.head * shape.Tk * HS;
  const int warp_row = threadIdx.x / WARP * TALL * 16;

  // Copies of the keys from `key` on; of none, where they have ended, but a group all the same.
  const auto begin_copies = [&](int stage, int64_t key) {
    if (key < tile.seen) {
      bf16* const K = stages + stage * Tile::STAGE;
      copy_rows<Tile, Bc>(K, k + key * HS, tile.seen - key, HS);
      copy_rows<Tile, Bc>(K + Bc * D, v + key * HS, tile.seen - key, HS);
    }
    __pipeline_commit();
  };
  copy_rows<Tile, Tile::ROWS>(Q, q + tile.first * HS, tile.count, HS);
  for (int s = 0; s < STAGES - 1; ++s) begin_copies(s, s * Bc);
  Rows16<D> rows[TALL];
  int stage = 0;
  for (int64_t key = 0; key < tile.seen; key += Bc) {
    __pipeline_wait_prior(STAGES - 2);  // this thread's copies of this stage have come …
    __syncthreads();  // … and all threads', and nobody reads the stage before it any more
    begin_copies(stage == 0 ? STAGES - 1 : stage - 1, key + (STAGES - 1) * Bc);
    const bf16* const K = stages + stage * Tile::STAGE;
    float S[TALL][Bc / 8][4] = {};
    multiply_keys<Tile>(S, Q + warp_row * D, K);
    if (key + Bc > tile.whole)
#pragma unroll
      for (int m = 0; m < TALL; ++m) hide_unseen(S[m], shape, tile.row + warp_row + m * 16, key);
#pragma unroll
    for (int m = 0; m < TALL; ++m) softmax(S[m], rows[m], scale);
    multiply_values<Tile>(rows, S, K + Bc * D);
    stage = stage == STAGES - 1 ? 0 : stage + 1;
  }
#pragma unroll
  for (int m = 0; m < TALL; ++m) {
    for (float& l : rows[m].l) l = quad_sum(l);
    store_rows(out + tile.first * HS, lse + tile.first, rows[m], warp_row + m * 16, tile.count, HS,
               LN_2);
  }
}

}  // namespace

void packed_rows(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                 float* lse, Workspace /*workspace*/, cudaStream_t stream) {
  require_head_size(shape, "packed_rows", 256);
  if (!all_aligned(q, k, v, out)) return any_address(shape, q, k, v, out, lse, stream);
  const Split split = split_of(shape, 1);
  with_packed_tile<false>(shape, [&]<class Tile>() {
    const auto kernel = packed_rows_kernel<Tile>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    const unsigned blocks = grid_blocks(split.tiles);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<blocks, Tile::THREADS, Tile::BYTES, stream>>>(shape, LOG2_E * score_scale(shape), q, k,
                                                           v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::few_queries
