// Step 5 = step 4 + several blocks share the keys of a tile: each has a part of them, and a
// second kernel merges what the parts gave, by their maxima and sums.
//
// FLOP            as step 4, and the merge
// global memory   reads Q and writes O once; reads K and V once for each ⌈NH·Tq/(NH_kv·Rows)⌉ tiles
//                 of rows; writes and reads 4·(HS + 2) bytes for each row and part
// asked for by split_keys_kernel  loads 4·B·NH·Tq·HS·Parts +
//                 8·B·NH_kv·Tk·HS·⌈NH·Tq/(NH_kv·Rows)⌉ bytes, less what a causal mask hides, stores
//                 4·B·NH·Tq·(HS + 2)·Parts bytes, or 4·B·NH·Tq·(HS + 1) if there is one part
// asked for by merge_kernel  loads 4·B·NH·Tq·(HS + 2)·Parts bytes, stores 4·B·NH·Tq·(HS + 1) bytes
// shared memory   as step 3
// block           as step 3, for a tile of rows and a part of the keys
// H200            0.069 ms for a query on 4096 keys, B 8, 32 heads on 8, HS 128, 93 % of a copy
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

/// The parts of the keys, and where their results go. Of one part out and lse are all.
struct Parts {
  int64_t count, keys;  // how many, and how many keys each has
  float *out, *m, *l;   // (count, B·NH·Tq, HS), and (count, B·NH·Tq) maxima and sums
};

/// The rows and keys of a block.
template <class Tile>
struct Place {
  int64_t head, row;        // of K and V; the block's first row, of a head's group·Tq
  int rows;                 // how many rows
  int64_t row_of_q;         // the first one among all rows of q
  int64_t part, begin;      // of the keys
  int64_t not_masked, end;  // keys that all rows see; keys past `end` no row sees

  __device__ Place(const Attention& shape, const Parts& parts) {
    const int64_t of_head = shape.group() * shape.Tq, tiles = ceil_div(of_head, Tile::RT);
    row = blockIdx.x % tiles * Tile::RT;
    part = blockIdx.x / tiles % parts.count;
    head = blockIdx.x / tiles / parts.count;
    rows = static_cast<int>(of_head - row < Tile::RT ? of_head - row : Tile::RT);
    row_of_q = head * of_head + row;
    // The queries of a group's heads lie one after another: row r has query r % Tq. A tile with
    // rows of several heads has the last query of one, and the first of the next.
    const int64_t first = row % shape.Tq, last = first + rows - 1;
    const bool several_heads = last >= shape.Tq;
    not_masked = shape.visible_keys(several_heads ? 0 : first);
    const int64_t visible = shape.visible_keys(several_heads ? shape.Tq - 1 : last);
    begin = part * parts.keys;
    end = begin + parts.keys < visible ? begin + parts.keys : visible;
  }
};

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    split_keys_kernel(Attention shape, Parts parts, float scale, bool aligned,
                      const float* __restrict__ q, const float* __restrict__ k,
                      const float* __restrict__ v) {
  static_assert(STEP_KEYS % (Tile::WARPS * KEYS) == 0, "a part is whole tiles");
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
  const Place<Tile> place(shape, parts);
  k += place.head * shape.Tk * HS;
  v += place.head * shape.Tk * HS;
  const auto begin = [&](float* tile, const float* from, int64_t key) {
    const int64_t rows = place.end - key;
    if (rows > 0) fetch_keys<D>(tile, from + key * HS, rows < KEYS ? rows : KEYS, HS, aligned);
    __pipeline_commit();
  };

  // K and V of a warp's next tile are begun as soon as all its lanes are done with those of this.
  int64_t key = place.begin + warp * KEYS;
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

  const int64_t all_rows = shape.rows();
  gather_warps<Tile>(rows, HS, scale, tiles, weights);
  const bool is_all = parts.count == 1;
  for (int i = threadIdx.x; i < place.rows * D; i += Tile::THREADS) {
    const int r = i / D, d = i % D;
    if (d >= HS) continue;
    const WarpSums all = add_warps<Tile>(tiles, weights, r, d);
    const int64_t row = place.part * all_rows + place.row_of_q + r;
    parts.out[row * HS + d] = !is_all ? all.o : all.l == 0.0f ? 0.0f : all.o / all.l;
    if (d == 0) parts.m[row] = is_all ? LN_2 * (scale * all.m + log2f(all.l)) : all.m;
    if (d == 0 && !is_all) parts.l[row] = all.l;
  }
}

/// One row a block. The parts' maxima say what each part counts.
constexpr int MERGE_THREADS = 128, MERGE_UNROLL = 8;
__global__ void __launch_bounds__(MERGE_THREADS)
    merge_kernel(Parts parts, int64_t rows, int HS, float scale, float* __restrict__ out,
                 float* __restrict__ lse) {
  extern __shared__ float factors[];  // (count), and room for more
  __shared__ float of_m[MAX_WARPS], of_l[MAX_WARPS];
  const int64_t row = blockIdx.x;
  const int count = static_cast<int>(parts.count);
  float m = -INFINITY, l = 0.0f;
  for (int s = threadIdx.x; s < count; s += MERGE_THREADS) {
    factors[s] = parts.m[s * rows + row];
    m = fmaxf(m, factors[s]);
  }
  m = block_max(m, of_m);
  for (int s = threadIdx.x; s < count; s += MERGE_THREADS) {
    factors[s] = factor_of(factors[s], m, scale);
    l += factors[s] * parts.l[s * rows + row];
  }
  l = block_sum(l, of_l);  // its barrier also stands between writing the factors and reading them
  for (int d = threadIdx.x; d < HS; d += MERGE_THREADS) {
    float sum = 0.0f;
#pragma unroll MERGE_UNROLL
    for (int s = 0; s < count; ++s) sum += factors[s] * parts.out[(s * rows + row) * HS + d];
    out[row * HS + d] = l == 0.0f ? 0.0f : sum / l;  // 0: the query sees no key
  }
  if (threadIdx.x == 0) lse[row] = LN_2 * (scale * m + log2f(l));
}

}  // namespace

void split_keys(const Attention& shape, const float* q, const float* k, const float* v, float* out,
                float* lse, Workspace workspace, cudaStream_t stream) {
  require_valid(shape);
  const Split split = split_here(shape);
  with_few_rows(shape.HS, split.rows, "split_keys", [&]<class Tile>() {
    const auto kernel = split_keys_kernel<Tile>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    require_workspace(workspace, workspace_bytes(shape), "split_keys");
    const bool is_all = split.parts == 1;
    const int64_t rows = split.parts * shape.rows();
    const Parts parts = {.count = split.parts,
                         .keys = split.keys,
                         .out = is_all ? out : workspace.take<float>(rows * shape.HS),
                         .m = is_all ? lse : workspace.take<float>(rows),
                         .l = is_all ? nullptr : workspace.take<float>(rows)};
    const float scale = LOG2_E * score_scale(shape);
    const bool aligned = rows_are_aligned(k, shape.HS) && rows_are_aligned(v, shape.HS);
    kernel<<<grid_blocks(split.count * split.parts), Tile::THREADS, Tile::BYTES, stream>>>(
        shape, parts, scale, aligned, q, k, v);
    CUDA_CHECK_LAUNCH();
    if (is_all) return;
    // The compiler may read factors before it has tested whether there are so many.
    const int64_t factors = ceil_div(split.parts, MERGE_UNROLL) * MERGE_UNROLL + MERGE_UNROLL;
    merge_kernel<<<grid_blocks(shape.rows()), MERGE_THREADS, factors * sizeof(float), stream>>>(
        parts, shape.rows(), static_cast<int>(shape.HS), scale, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::any_shape
