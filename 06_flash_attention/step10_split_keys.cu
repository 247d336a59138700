// Step 10 = step 9 for few queries, as in decoding: several blocks share the keys of a row, and a
// second kernel merges their parts. The query heads of a group are rows of one tile, so that their
// keys and values are read once. Each warp goes its own way, through keys of its own.
//
// FLOP            as step 9, for tiles of 4, 8, 16 or 32 rows; and the merge
// global memory   reads Q and writes O once; reads K and V once for each ⌈NH·Tq/(NH_kv·Rows)⌉ tiles
//                 of rows; writes and reads 4·(HS + 2) bytes for each row and part
// asked for by split_keys_kernel  loads 4·B·NH·Tq·HS·Parts +
//                 8·B·NH_kv·Tk·HS·⌈NH·Tq/(NH_kv·Rows)⌉ bytes, less what a causal mask hides, stores
//                 4·B·NH·Tq·(HS + 2)·Parts bytes, or 4·B·NH·Tq·(HS + 1) if there is one part
// asked for by merge_kernel  loads 4·B·NH·Tq·(HS + 2)·Parts bytes, stores 4·B·NH·Tq·(HS + 1) bytes
// shared memory   of each warp 16 keys of K, 16 of V, and P; and Q: 72,832 bytes for HS = 128 and 4
//                 rows
// block           128 threads, 256 for 8 rows if 64 < HS ≤ 128, for a part of the keys
// H200            0.069 ms for a query on 4096 keys, B 8, 32 heads on 8, HS 128, 91 % of a copy
#include "06_flash_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "launch_checks.hpp"
#include "paths.hpp"
#include "pieces.cuh"
#include "thread_rows.cuh"

namespace tutorial::flash_attention {
namespace {

constexpr int KEYS = 16;  // of a tile

/// Which lane has what of a warp's tile: RT rows, D their head size, padded. For S a lane has N × 4
/// elements, and of the columns of Q and K every DG-th four; for O it has N × 4·QUADS.
template <int HEAD_SIZE, int TILE_ROWS>
struct WarpTile {
  static constexpr int D = HEAD_SIZE, RT = TILE_ROWS;
  static constexpr int N = RT < ROWS ? RT : ROWS, RG = RT / N;     // rows of a lane; groups of rows
  static constexpr int COLS = 4, KG = KEYS / COLS;                 // keys of a lane; groups of keys
  static constexpr int LANES = WARP / RG, DG = LANES / KG;         // lanes that share rows
  static constexpr int QUADS = D / 4 > LANES ? D / 4 / LANES : 1;  // of O's columns
  static constexpr int LOWEST = RG > 1 ? 2 : 1;                    // neighbours have other rows
  static constexpr int WARPS = D == 128 && RT == 8 ? 8 : 4, THREADS = WARPS * WARP;
  static_assert(STEP_KEYS % (WARPS * KEYS) == 0, "a part is whole tiles");
  static constexpr int STRIDE = D + 8;  // 4 keys and 2 lanes of DG read 8 different 16 bytes
  static constexpr int64_t bytes =
      int64_t{sizeof(float)} * (RT * STRIDE + WARPS * KEYS * (2 * STRIDE + RT));
  static __device__ int lane() { return threadIdx.x % WARP; }
  static __device__ int group() { return lane() / LOWEST % LANES; }
  static __device__ int first_row() {
    return RG == 1 ? 0 : N * (lane() % 2 + lane() / (2 * LANES) * 2);
  }
  static __device__ int key(int c) { return group() % KG + KG * c; }
  static __device__ int part() { return group() / KG; }
  static __device__ int column(int n) { return 4 * (group() + LANES * n); }
  static __device__ float row_max(float x) { return flash_attention::row_max<KG, LOWEST>(x); }
  static __device__ float row_sum(float x) { return flash_attention::row_sum<KG, LOWEST>(x); }
  static __device__ float sum_of_parts(float x) {
    return flash_attention::row_sum<DG, LOWEST * KG>(x);
  }
};

/// The parts of the keys, and where their results go. Of one part out and lse are all.
struct Parts {
  int64_t count, keys;  // how many, and how many keys each has
  float *out, *m, *l;   // (count, B·NH·Tq, HS), and (count, B·NH·Tq) maxima and sums
};

/// The rows and keys of a block.
template <class Tile>
struct Place {
  int64_t row, head;             // its first row of a head's group·Tq; the head of K and V
  int rows;                      // how many
  int64_t part, begin, end;      // of the keys; keys past `end` no row sees
  int64_t not_masked, row_of_q;  // keys that all rows see; the first row of all of q's

  __device__ Place(const Attention& shape, const Parts& parts) {
    const int64_t of_head = shape.group() * shape.Tq, tiles = ceil_div(of_head, Tile::RT);
    row = blockIdx.x % tiles * Tile::RT;
    part = blockIdx.x / tiles % parts.count;
    head = blockIdx.x / tiles / parts.count;
    rows = static_cast<int>(of_head - row < Tile::RT ? of_head - row : Tile::RT);
    row_of_q = head * of_head + row;
    // The queries of a group's heads lie one after another: row r has query r % Tq. A tile with
    // rows of two heads has the last query of one, and the first of the other.
    const int64_t first = row % shape.Tq, last = first + rows - 1;
    const bool two_heads = last >= shape.Tq;
    not_masked = shape.visible_keys(two_heads ? 0 : first);
    const int64_t visible = shape.visible_keys(two_heads ? shape.Tq - 1 : last);
    begin = part * parts.keys;
    end = begin + parts.keys < visible ? begin + parts.keys : visible;
  }
};

/// Begins to copy a warp's next KEYS rows of K or V, of which `rows` exist; then come zeros.
template <int D>
__device__ void fetch_keys(float* tile, const float* from, int rows, int HS, bool aligned) {
  constexpr int ACROSS = D / 4 < WARP ? D / 4 : WARP, DOWN = WARP / ACROSS, STRIDE = D + 8;
  const int r0 = threadIdx.x % WARP / ACROSS;
#pragma unroll
  for (int col = threadIdx.x % ACROSS * 4; col < D; col += 4 * ACROSS) {
    if (col >= HS) break;
    if (aligned) {
#pragma unroll 4
      for (int r = r0; r < KEYS; r += DOWN)
        copy_async<4>(&tile[r * STRIDE + col], from + r * HS + col, r < rows);
    } else {
#pragma unroll 1
      for (int r = r0; r < KEYS; r += DOWN)
        for (int d = col; d < col + 4; ++d)
          copy_async<1>(&tile[r * STRIDE + d], from + r * HS + d, r < rows && d < HS);
    }
  }
}

/// Begins to copy Q. Its columns are swapped in pairs, so that q and k of a product lie in
/// different banks of registers.
template <class Tile>
__device__ void fetch_queries(float* Q, const float* q, int rows, int HS) {
#pragma unroll 4
  for (int i = threadIdx.x; i < Tile::RT * Tile::D; i += Tile::THREADS) {
    const int r = i / Tile::D, d = i % Tile::D;
    copy_async<1>(&Q[r * Tile::STRIDE + (d ^ 1)], q + r * HS + d, r < rows && d < HS);
  }
}

/// S = Q·Kᵀ, (RT, HS) by (HS, KEYS). By turns k and q are what is read anew, both from registers of
/// one bank; S can be in the other.
template <class Tile>
__device__ void multiply_keys(float (&S)[Tile::N][Tile::COLS], const float* Q, const float* K,
                              int HS) {
  Q += Tile::first_row() * Tile::STRIDE;
  K += Tile::key(0) * Tile::STRIDE;
#pragma unroll 2
  for (int x = 4 * Tile::part(); x < HS; x += 4 * Tile::DG) {
    float q[Tile::N][4], k[Tile::COLS][4];
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c) load4(k[c], &K[Tile::KG * c * Tile::STRIDE + x]);
#pragma unroll
    for (int r = 0; r < Tile::N; ++r) load4(q[r], &Q[r * Tile::STRIDE + x]);
#pragma unroll
    for (int e = 0; e < 4; e += 2) {
#pragma unroll
      for (int r = 0; r < Tile::N; ++r)
#pragma unroll
        for (int c = 0; c < Tile::COLS; ++c) S[r][c] += q[r][e + 1] * k[c][e];
#pragma unroll
      for (int c = 0; c < Tile::COLS; ++c)
#pragma unroll
        for (int r = 0; r < Tile::N; ++r) S[r][c] += q[r][e] * k[c][e + 1];
    }
  }
#pragma unroll
  for (int r = 0; r < Tile::N; ++r)
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c) S[r][c] = Tile::sum_of_parts(S[r][c]);
}

/// The online softmax; the weights go to P_t, (KEYS, RT). The DG lanes of an element all have its
/// weight, and one of them stores it.
template <class Tile, class Rows>
__device__ void online_softmax(const float (&S)[Tile::N][Tile::COLS], Rows& rows, float* P_t,
                               float scale) {
  float minus_m[Tile::N];
#pragma unroll
  for (int r = 0; r < Tile::N; ++r) minus_m[r] = raise_maximum<Tile>(rows, r, S[r], scale);
#pragma unroll
  for (int c = 0; c < Tile::COLS; ++c) {
    float p[Tile::N];
#pragma unroll
    for (int r = 0; r < Tile::N; ++r) {
      p[r] = exp2f(scale * S[r][c] + minus_m[r]);
      rows.l[r] += p[r];
    }
    if (c % Tile::DG != Tile::part()) continue;
#pragma unroll
    for (int r = 0; r < Tile::N; r += 4)
      store4(&P_t[Tile::key(c) * Tile::RT + Tile::first_row() + r], &p[r]);
  }
}

/// O = O + P·V, (RT, KEYS) by (KEYS, HS). Columns past the last are not stored: they are sums of
/// column 0.
template <class Tile, class Rows>
__device__ void add_values(Rows& rows, const float* P_t, const float* V, int HS) {
  constexpr int COLUMNS = 4 * Tile::QUADS;
#pragma unroll 4
  for (int key = 0; key < KEYS; ++key) {
    float p[Tile::N], v[COLUMNS];
#pragma unroll
    for (int r = 0; r < Tile::N; r += 4) load4(&p[r], &P_t[key * Tile::RT + Tile::first_row() + r]);
#pragma unroll
    for (int n = 0; n < Tile::QUADS; ++n)
      load4(&v[4 * n], &V[key * Tile::STRIDE + (Tile::column(n) < HS ? Tile::column(n) : 0)]);
#pragma unroll
    for (int r = 0; r < Tile::N; ++r)
#pragma unroll
      for (int n = 0; n < COLUMNS; ++n) {
        const int d = r % 2 == 0 ? n : COLUMNS - 1 - n;  // to and fro, as in step 6
        rows.O[r][d] += p[r] * v[d];
      }
  }
}

/// What brings sums with maximum `of_part` to the maximum m of all.
__device__ inline float factor_of(float of_part, float m, float scale) {
  return exp2f(scale * of_part + (m == -INFINITY ? 0.0f : -scale * m));
}

/// Adds up what the block's warps have, and stores it. `sums` has room for (WARPS, RT, D),
/// `of_rows` for (2, WARPS, RT).
template <class Tile, class Rows>
__device__ void store_part(const Rows& rows, const Parts& parts, const Place<Tile>& place,
                           int64_t all_rows, int HS, float scale, float* sums, float* of_rows) {
  constexpr int RT = Tile::RT, D = Tile::D, WARPS = Tile::WARPS;
  float* const of_m = of_rows;               // (WARPS, RT)
  float* const of_l = of_rows + WARPS * RT;  // (WARPS, RT)
  const int own = threadIdx.x / WARP * RT + Tile::first_row();
  __syncthreads();  // all warps are done with what they read
#pragma unroll
  for (int r = 0; r < Tile::N; ++r)
    if (Tile::group() == 0) of_m[own + r] = rows.m[r];
  __syncthreads();
#pragma unroll
  for (int r = 0; r < Tile::N; ++r) {
    float m = -INFINITY;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) m = fmaxf(m, of_m[w * RT + Tile::first_row() + r]);
    const float factor = factor_of(rows.m[r], m, scale), l = Tile::row_sum(rows.l[r]);
    if (Tile::group() == 0) of_l[own + r] = factor * l;
#pragma unroll
    for (int n = 0; n < Tile::QUADS; ++n)
      if (Tile::column(n) < HS)
        store4(&sums[(own + r) * D + Tile::column(n)],
               make_float4(factor * rows.O[r][4 * n], factor * rows.O[r][4 * n + 1],
                           factor * rows.O[r][4 * n + 2], factor * rows.O[r][4 * n + 3]));
  }
  __syncthreads();
  for (int i = threadIdx.x; i < place.rows * D; i += Tile::THREADS) {
    const int r = i / D, d = i % D;
    if (d >= HS) continue;
    float m = -INFINITY, l = 0.0f, sum = 0.0f;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
      m = fmaxf(m, of_m[w * RT + r]);
      l += of_l[w * RT + r];
      sum += sums[(w * RT + r) * D + d];
    }
    const bool is_all = parts.count == 1;
    const int64_t row = place.part * all_rows + place.row_of_q + r;
    parts.out[row * HS + d] = !is_all ? sum : l == 0.0f ? 0.0f : sum / l;
    if (d == 0) parts.m[row] = is_all ? LN_2 * (scale * m + log2f(l)) : m;
    if (d == 0 && !is_all) parts.l[row] = l;
  }
}

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    split_keys_kernel(Attention shape, Parts parts, float scale, bool aligned,
                      const float* __restrict__ q, const float* __restrict__ k,
                      const float* __restrict__ v) {
  constexpr int RT = Tile::RT, STRIDE = Tile::STRIDE, STEP = Tile::WARPS * KEYS;
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
    if (rows > 0)
      fetch_keys<Tile::D>(tile, from + key * HS, rows < KEYS ? rows : KEYS, HS, aligned);
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

    if (key + KEYS > place.not_masked)
#pragma unroll
      for (int r = 0; r < Tile::N; ++r) {
        const int64_t query = (place.row + Tile::first_row() + r) % shape.Tq;
#pragma unroll
        for (int c = 0; c < Tile::COLS; ++c)
          if (key + Tile::key(c) >= shape.visible_keys(query)) S[r][c] = -INFINITY;
      }
    online_softmax<Tile>(S, rows, P_t, scale);

    __pipeline_wait_prior(1);
    __syncwarp();  // V is there, and P
    add_values<Tile>(rows, P_t, V, HS);
    __syncwarp();
    begin(V, v, key + STEP);
  }
  store_part<Tile>(rows, parts, place, shape.rows(), HS, scale, tiles, weights);
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

/// Calls launch with the tile for a head size and a number of rows.
template <class Launch>
void with_tile(int64_t HS, int64_t rows, const Launch& launch) {
  const auto with_rows = [&]<int D>() {
    if (rows == 4) return launch.template operator()<WarpTile<D, 4>>();
    if (rows == 8) return launch.template operator()<WarpTile<D, 8>>();
    if (rows == 16) return launch.template operator()<WarpTile<D, 16>>();
    if constexpr (D <= 128) launch.template operator()<WarpTile<D, 32>>();
  };
  if (HS > 256) refuse_head_size(HS, "split_keys", 4 * (HS + 8) * (4 + 2 * KEYS * 4), 256);
  if (HS <= 64) return with_rows.template operator()<64>();
  if (HS <= 128) return with_rows.template operator()<128>();
  with_rows.template operator()<256>();
}

}  // namespace

void split_keys(const Attention& shape, const float* q, const float* k, const float* v, float* out,
                float* lse, float* scratch) {
  require_valid(shape);
  const Split split = split_here(shape);
  with_tile(shape.HS, split.rows, [&]<class Tile>() {
    const auto kernel = split_keys_kernel<Tile>;
    allow_shared_memory(kernel, Tile::bytes, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    const bool is_all = split.parts == 1;
    const int64_t rows = split.parts * shape.rows();
    const Parts parts = {.count = split.parts,
                         .keys = split.keys,
                         .out = is_all ? out : scratch,
                         .m = is_all ? lse : scratch + rows * shape.HS,
                         .l = scratch + rows * (shape.HS + 1)};
    const float scale = LOG2_E * score_scale(shape);
    const bool aligned = rows_are_aligned(k, shape.HS) && rows_are_aligned(v, shape.HS);
    kernel<<<grid_blocks(split.tiles * split.parts), Tile::THREADS, Tile::bytes>>>(
        shape, parts, scale, aligned, q, k, v);
    CUDA_CHECK_LAUNCH();
    if (is_all) return;
    // The compiler may read factors before it has tested whether there are so many.
    const int64_t factors = ceil_div(split.parts, MERGE_UNROLL) * MERGE_UNROLL + MERGE_UNROLL;
    merge_kernel<<<grid_blocks(shape.rows()), MERGE_THREADS, factors * sizeof(float)>>>(
        parts, shape.rows(), static_cast<int>(shape.HS), scale, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention
