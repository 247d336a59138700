// Step 7 = step 3, and each sequence of the batch has a length of its own: a batch of sequences
// that are not equally long, padded to Tq and Tk. To a block its sequence is a problem of that
// length in a larger tensor; blocks past it only write zeros and lse = −∞. What lies in the padding
// is not read.
//
// FLOP            as step 3, for each sequence's own Tq and Tk
// global memory   as step 3, for these; and all of out
// asked for       loads 4·B·NH·Tq·HS + 8·B·NH·Tk·HS·⌈Tq/HeadRows⌉ bytes, less what a causal mask
//                 hides, for each sequence its own, stores 4·B·NH·Tq·(HS + 1) bytes, of all Tq; and
//                 each thread loads its two lengths
// shared memory   as step 3
// block           as step 3
// long diff       it goes on from step 3, whose tiles take any head size and any address
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
  int64_t head, row;        // of K and V; the block's first row, of a head's Tq
  Attention own;            // the problem of this sequence
  int rows, all_rows;       // how many rows, without the padding and with it
  int64_t row_of_q;         // the first one among all rows of q
  int64_t not_masked, end;  // keys that all rows see; keys past `end` no row sees

  __device__ explicit Place(const Attention& shape) {
    const int64_t tiles = ceil_div(shape.Tq, Tile::RT), of_q = blockIdx.x / tiles;
    row = blockIdx.x % tiles * Tile::RT;
    head = of_q / shape.group();
    row_of_q = of_q * shape.Tq + row;
    own = shape.sequence(of_q / shape.NH);
    const int64_t there = own.Tq - row < Tile::RT ? own.Tq - row : Tile::RT;
    rows = there < 0 ? 0 : static_cast<int>(there);
    all_rows = static_cast<int>(shape.Tq - row < Tile::RT ? shape.Tq - row : Tile::RT);
    not_masked = own.visible_keys(row);
    end = rows == 0 ? 0 : own.visible_keys(row + rows - 1);
  }
};

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    lengths_kernel(Attention shape, float scale, bool aligned, const float* __restrict__ q,
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

    if (key + KEYS > place.not_masked) hide_masked_keys<Tile>(S, place.own, place.row, key);
    online_softmax<Tile>(S, rows, P_t, scale);

    __pipeline_wait_prior(1);
    __syncwarp();  // V is there, and P
    add_values<Tile>(rows, P_t, V, HS);
    __syncwarp();
    begin(V, v, key + STEP);
  }

  gather_warps<Tile>(rows, HS, scale, tiles, weights);
  for (int i = threadIdx.x; i < place.all_rows * D; i += Tile::THREADS) {
    const int r = i / D, d = i % D;
    if (d >= HS) continue;
    const WarpSums all = add_warps<Tile>(tiles, weights, r, d);
    const int64_t row = place.row_of_q + r;
    const bool any = r < place.rows && all.l != 0.0f;  // else the query sees no key, or is padding
    out[row * HS + d] = any ? all.o / all.l : 0.0f;
    if (d == 0) lse[row] = r < place.rows ? LN_2 * (scale * all.m + log2f(all.l)) : -INFINITY;
  }
}

}  // namespace

void lengths(const Attention& shape, const float* q, const float* k, const float* v, float* out,
             float* lse, Workspace, cudaStream_t stream) {
  require_valid(shape, LENGTHS);
  const RowTiles tiles = tiles_of_heads(shape);
  with_few_rows(shape.HS, tiles.rows, "lengths", [&]<class Tile>() {
    const auto kernel = lengths_kernel<Tile>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    const bool aligned = rows_are_aligned(k, shape.HS) && rows_are_aligned(v, shape.HS);
    kernel<<<grid_blocks(tiles.count), Tile::THREADS, Tile::BYTES, stream>>>(
        shape, LOG2_E * score_scale(shape), aligned, q, k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::any_shape
