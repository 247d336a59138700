// Step 2 = step 1 + several blocks share the keys of a tile: each has a part of them, and a second
// kernel merges what the parts gave, by their maxima and sums.
//
// FLOP            as step 1, and the merge
// global memory   as step 1; writes and reads 4·(HS + 2) bytes for each row and part
// asked for by split_keys_kernel  loads 2·B·NH·Tq·HS·Parts +
//                 4·B·NH_kv·Tk·HS·⌈NH·Tq/(NH_kv·Rows)⌉ bytes, less what a causal mask hides, stores
//                 4·B·NH·Tq·(HS + 2)·Parts bytes, or 2·B·NH·Tq·(HS + 2) if there is one part
// asked for by merge_parts_kernel  loads 10·B·NH·Tq·HS·Parts bytes, stores
//                 2·B·NH·Tq·(HS + 2) bytes
// workspace       4·B·NH·Tq·(HS + 2)·Parts bytes
// shared memory   as step 1
// block           as step 1, for a tile of rows and a part of the keys
// H200            0.0437 ms for a query on 4096 keys, B 8, 32 heads on 8, HS 128, 74 % of a plain
//                 copy of k; step 1 has 22 %
#include "common/kernel/check.hpp"
#include "common/kernel/device.hpp"
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

/// Stores a part's sums of 16 rows, from row `at` of the tile on, which has `count`; `first` is the
/// tile's place among the rows of all parts.
template <int D>
__device__ void store_part(const Parts& parts, int64_t first, const Rows16<D>& rows, int at,
                           int count, int HS) {
  const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = at + g + 8 * h;
    if (row >= count) continue;
    if (t == 0) parts.m[first + row] = rows.m[h], parts.l[first + row] = rows.l[h];
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
      if (n * 8 < HS)
        *reinterpret_cast<float2*>(&parts.out[(first + row) * HS + n * 8 + 2 * t]) =
            make_float2(rows.O[n][2 * h], rows.O[n][2 * h + 1]);
  }
}

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS)
    split_keys_kernel(Attention shape, Parts parts, float scale, const bf16* __restrict__ q,
                      const bf16* __restrict__ k, const bf16* __restrict__ v,
                      bf16* __restrict__ out, float* __restrict__ lse) {
  constexpr int D = Tile::D, TALL = Tile::TALL, Bc = Tile::Bc, STAGES = Tile::STAGES;
  extern __shared__ __align__(16) bf16 shared[];
  bf16* const Q = shared;                   // (ROWS, D)
  bf16* const stages = Q + Tile::ROWS * D;  // STAGES times (Bc, D) of K and (Bc, D) of V
  const int HS = static_cast<int>(shape.HS);
  const RowTile tile(shape, Tile::ROWS, blockIdx.x / parts.count);
  const int64_t part = blockIdx.x % parts.count, begin = part * parts.keys;
  const int64_t end = begin + parts.keys < tile.seen ? begin + parts.keys : tile.seen;
  k += tile.head * shape.Tk * HS;
  v += tile.head * shape.Tk * HS;
  const int warp_row = threadIdx.x / WARP * TALL * 16;

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
    if (parts.count == 1)
      store_rows(out + tile.first * HS, lse + tile.first, rows[m], warp_row + m * 16, tile.count,
                 HS, LN_2);
    else
      store_part(parts, part * shape.rows() + tile.first, rows[m], warp_row + m * 16, tile.count,
                 HS);
  }
}

constexpr int MERGE_THREADS = 128;  // two columns each: head sizes up to 256

/// A block merges a row.
__global__ void __launch_bounds__(MERGE_THREADS)
    merge_parts_kernel(Parts parts, int64_t rows, int HS, bf16* __restrict__ out,
                       float* __restrict__ lse) {
  const int64_t row = blockIdx.x;
  const int column = 2 * static_cast<int>(threadIdx.x);
  if (column >= HS) return;
  float m = -INFINITY, l = 0;
#pragma unroll 4
  for (int64_t p = 0; p < parts.count; ++p) m = fmaxf(m, parts.m[p * rows + row]);
  float2 sum = {};
#pragma unroll 4
  for (int64_t p = 0; p < parts.count; ++p) {
    const float factor = exp2_approx(parts.m[p * rows + row] - finite_max(m));
    const float2 O = *reinterpret_cast<const float2*>(&parts.out[(p * rows + row) * HS + column]);
    l += factor * parts.l[p * rows + row];
    sum.x += factor * O.x, sum.y += factor * O.y;
  }
  const float inverse = l == 0 ? 0.0f : 1 / l;  // 0: no key counted
  *reinterpret_cast<uint32_t*>(&out[row * HS + column]) =
      pack<bf16>(sum.x * inverse, sum.y * inverse);
  if (column == 0) lse[row] = LN_2 * m + logf(l);
}

}  // namespace

void merge_parts(const Attention& shape, const Parts& parts, bf16* out, float* lse,
                 cudaStream_t stream) {
  merge_parts_kernel<<<grid_blocks(shape.rows()), MERGE_THREADS, 0, stream>>>(
      parts, shape.rows(), static_cast<int>(shape.HS), out, lse);
  CUDA_CHECK_LAUNCH();
}

void split_keys(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
                float* lse, Workspace workspace, cudaStream_t stream) {
  require_head_size(shape, "split_keys", 256);
  if (!all_aligned(q, k, v, out)) return any_address(shape, q, k, v, out, lse, stream);
  const Split split = split_of(shape, BLOCKS_OF_WARPS * multiprocessors());
  with_packed_tile<false>(shape, [&]<class Tile>() {
    const auto kernel = split_keys_kernel<Tile>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    const unsigned blocks = grid_blocks(split.tiles * split.parts);
    if (shape.rows() * shape.HS == 0) return;
    const Parts parts = parts_in(shape, split, workspace, "split_keys");
    kernel<<<blocks, Tile::THREADS, Tile::BYTES, stream>>>(
        shape, parts, LOG2_E * score_scale(shape), q, k, v, out, lse);
    CUDA_CHECK_LAUNCH();
    if (parts.count > 1) merge_parts(shape, parts, out, lse, stream);
  });
}

}  // namespace tutorial::flash_attention::few_queries
