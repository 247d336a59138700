// Step 4 = step 3 + the query heads that share a head of K and V are rows of the same tiles:
// their keys and values are read once for all of them.
//
// FLOP            as step 1, for tiles of 4, 8, 16 or 32 rows
// global memory   reads Q and writes O once; reads K and V once for each ⌈NH·Tq/(NH_kv·Rows)⌉ tiles
//                 of rows
// asked for       loads 4·B·NH·Tq·HS + 8·B·NH_kv·Tk·HS·⌈NH·Tq/(NH_kv·Rows)⌉ bytes, less what a
//                 causal mask hides, stores 4·B·NH·Tq·(HS + 1) bytes
// shared memory   as step 3
// block           as step 3, for a tile of rows
// H200            0.102 ms for a query on 4096 keys, B 8, 32 heads on 8, HS 128
#include "any_shape/any_shape.hpp"
#include "any_shape/few_rows.cuh"
#include "any_shape/paths.hpp"
#include "any_shape/warp_sums.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "faster/thread_rows.cuh"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::any_shape {
namespace {

/// The rows and keys of a block.
template <class Tile>
struct Place {
  int64_t head, row;        // of K and V; the block's first row, of a head's group·Tq
  int rows;                 // how many rows
  int64_t row_of_q;         // the first one among all rows of q
  int64_t not_masked, end;  // keys that all rows see; keys past `end` no row sees

  __device__ explicit Place(const Attention& shape) {
    const int64_t of_head = shape.group() * shape.Tq, tiles = ceil_div(of_head, Tile::RT);
    row = blockIdx.x % tiles * Tile::RT;
    head = blockIdx.x / tiles;
    rows = static_cast<int>(of_head - row < Tile::RT ? of_head - row : Tile::RT);
    row_of_q = head * of_head + row;
    // The queries of a group's heads lie one after another: row r has query r % Tq. A tile with
    // rows of several heads has the last query of one, and the first of the next.
    const int64_t first = row % shape.Tq, last = first + rows - 1;
    const bool several_heads = last >= shape.Tq;
    not_masked = shape.visible_keys(several_heads ? 0 : first);
    end = shape.visible_keys(several_heads ? shape.Tq - 1 : last);
  }
};

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    group_rows_kernel(Attention shape, float scale, bool aligned, const float* __restrict__ q,
                      const float* __restrict__ k, const float* __restrict__ v,
                      float* __restrict__ out, float* __restrict__ lse) {
  constexpr int RT = Tile::RT, D = Tile::D, STRIDE = Tile::STRIDE, STEP = Tile::WARPS * KEYS;
  extern __shared__ __align__(16) float shared[];
  const int warp = threadIdx.x / WARP;
  float* const Q = shared;                            // (RT, D)
  float* const tiles = Q + RT * STRIDE;               // (WARPS, 2, KEYS, D)
  float* const weights = tiles + 2 * STEP * STRIDE;   // (WARPS, KEYS, RT)
  float* const K = tiles + 2 * warp * KEYS * STRIDE;  // (KEYS, D), this warp's, as the next two
  float* const V = K + KEYS * STRIDE;                 // (KEYS, D)
  float* const P_t = weights + warp * KEYS * RT;      // (KEYS, RT)

  const int HS = static_cast<int>(shape.HS);
  const Place<Tile> place(shape);
  k += place.head * shape.Tk * HS;
  v += place.head * shape.Tk * HS;
  const auto begin = [&](float* tile, const float* from, int64_t key) {
    const int64_t rows = place.end - key;
    if (rows > 0) fetch_keys<D>(tile, from + key * HS, rows < KEYS ? rows : KEYS, HS, aligned);
    __pipeline_commit();
  };

  // K and V of a warp's next tile are begun as soon as all its lanes are done with those of this.
  int64_t key = warp * KEYS;
  fetch_queries<Tile>(Q, q + place.row_of_q * HS, place.rows, HS);
  begin(K, k, key);
  begin(V, v, key);
  OutputRows<4 * Tile::QUADS, Tile::N> rows;
  __pipeline_wait_prior(1);
  __syncthreads();  // Q is there
  for (; key < place.end; key += STEP) {
    __pipeline_wait_prior(1);
    __syncwarp();  // K is there
    float S[Tile::N][Tile::COLS] = {};
    multiply_keys<Tile>(S, Q, K, HS);
    __syncwarp();
    begin(K, k, key + STEP);

    if (key + KEYS > place.not_masked) hide_masked_keys<Tile>(S, shape, place.row, key);
    online_softmax<Tile>(S, rows, P_t, scale);

    __pipeline_wait_prior(1);
    __syncwarp();  // V is there, and P
    add_values<Tile>(rows, P_t, V, HS);
    __syncwarp();
    begin(V, v, key + STEP);
  }

  gather_warps<Tile>(rows, HS, scale, tiles, weights);
  for (int i = threadIdx.x; i < place.rows * D; i += Tile::THREADS) {
    const int r = i / D, d = i % D;
    if (d >= HS) continue;
    const WarpSums all = add_warps<Tile>(tiles, weights, r, d);
    const int64_t row = place.row_of_q + r;
    out[row * HS + d] = all.l == 0.0f ? 0.0f : all.o / all.l;  // 0: the query sees no key
    if (d == 0) lse[row] = LN_2 * (scale * all.m + log2f(all.l));
  }
}

}  // namespace

void group_rows(const Attention& shape, const float* q, const float* k, const float* v, float* out,
                float* lse, Workspace, cudaStream_t stream) {
  require_valid(shape);
  const RowTiles tiles = tiles_of_groups(shape);
  with_few_rows(shape.HS, tiles.rows, "group_rows", [&]<class Tile>() {
    const auto kernel = group_rows_kernel<Tile>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    const bool aligned = rows_are_aligned(k, shape.HS) && rows_are_aligned(v, shape.HS);
    kernel<<<grid_blocks(tiles.count), Tile::THREADS, Tile::BYTES, stream>>>(
        shape, LOG2_E * score_scale(shape), aligned, q, k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::any_shape
