// Step 3 = step 2 + registers: a thread computes 8 rows of a tile of S and of O, so that a float
// read from shared memory serves many products, as in chapter 2.
//
// FLOP            a head: 4·Tq·Tk·HS (half if causal)
// global memory   as step 2, but with larger tiles, Br = 128 (64 if HS > 64), which read K and V a
//                 quarter (half) as often
// asked for       loads 4·B·NH·HS·(Tq + 2·Tk·⌈Tq/Br⌉) bytes, about half of Tk's part if causal,
//                 stores 4·B·NH·Tq·(HS + 1) bytes
// shared memory   16 reads of 16 bytes serve 512 FLOP (12 serve 256 if HS > 64), where step 2 has 2
//                 reads of 4 bytes for 2 FLOP. 87,040 bytes for HS = 64, 84,992 for 128: an SM of
//                 an H100 has room for two blocks
// block           128 threads for Br queries of a head
// H200            0.486 ms for B 8, NH 12, T 1024, HS 64 causal, 115 % of chapter 05
#include "06_flash_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "launch_checks.hpp"
#include "thread_rows.cuh"
#include "tiles.cuh"

namespace tutorial::flash_attention {
namespace {

constexpr int WARPS = 4, THREADS = 32 * WARPS;
constexpr int Bc = 64;  // keys in a tile

/// Which thread has what. D is the head size, padded with zeros; TX threads share a row.
template <int HEAD_SIZE>
struct RegisterTile {
  static constexpr int D = HEAD_SIZE, TX = D <= 64 ? 8 : 16, TY = THREADS / TX, Br = ROWS * TY;
  static constexpr int COLS = Bc / TX, O_COLS = D / TX;  // columns of S and of O that a thread has
  // Rows in shared memory have 4 floats more than they need: 8 lanes that read 16 bytes each, of 8
  // rows, then hit all 32 banks once, and every read is 16-byte aligned.
  static constexpr int STRIDE = D + 4, P_STRIDE = Bc + 4;
  static constexpr int64_t bytes(int64_t columns) {
    return int64_t{sizeof(float)} * ((Br + Bc) * (columns + 4) + Br * P_STRIDE);
  }
  static __device__ int tx() { return threadIdx.x % TX; }
  static __device__ int row(int r) { return threadIdx.x / TX + TY * r; }  // a warp has its own
  static __device__ int column(int c) { return tx() + TX * c; }
};

/// sums[r][c] += Σ left[row(r)][x]·right[x][c] over LENGTH x, four at a time: read(x) gives the
/// rows x … x + 3 of the right matrix.
template <class Tile, int LENGTH, int STRIDE, int N, class Read>
__device__ void add_products(float (&sums)[ROWS][N], const float* left, Read read) {
  for (int x = 0; x < LENGTH; x += 4) {
    const Fragment<N> right = read(x);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
      multiply_add(sums[r], load4(&left[Tile::row(r) * STRIDE + x]), right);
  }
}

/// S = S + Q_i·K_jᵀ, (Br, D) by (D, Bc): ROWS × COLS × D products of a thread.
template <class Tile>
__device__ void add_scores(float (&S)[ROWS][Tile::COLS], const float* Q_i, const float* K_j) {
  const auto read = [&](int d) {
    return read_keys<Tile::TX, Tile::COLS>(&K_j[d], Tile::STRIDE, Tile::tx());
  };
  add_products<Tile, Tile::D, Tile::STRIDE>(S, Q_i, read);
}

/// The online softmax of a tile of scores, as before; their weights go to P_ij, (Br, Bc).
template <class Tile>
__device__ void online_softmax(float (&S)[ROWS][Tile::COLS], OutputRows<Tile::O_COLS>& rows,
                               float* P_ij, float scale) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    float m_new = -INFINITY, l_new = 0.0f;
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c) {
      S[r][c] *= scale;
      m_new = fmaxf(m_new, S[r][c]);
    }
    m_new = fmaxf(rows.m[r], row_max<Tile::TX>(m_new));
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c) {
      const float p = exp_minus(S[r][c], m_new);
      P_ij[Tile::row(r) * Tile::P_STRIDE + Tile::column(c)] = p;
      l_new += p;
    }
    const float rescale = exp_minus(rows.m[r], m_new);
    rows.l[r] = rescale * rows.l[r] + row_sum<Tile::TX>(l_new);
    rows.m[r] = m_new;
#pragma unroll
    for (int d = 0; d < Tile::O_COLS; ++d) rows.O[r][d] *= rescale;
  }
}

/// O_i = O_i + P_ij·V_j, (Br, Bc) by (Bc, D).
template <class Tile>
__device__ void add_values(float (&O)[ROWS][Tile::O_COLS], const float* P_ij, const float* V_j) {
  const auto read = [&](int key) {
    return read_values<Tile::TX, Tile::O_COLS>(&V_j[key * Tile::STRIDE], Tile::STRIDE, Tile::tx());
  };
  add_products<Tile, Bc, Tile::P_STRIDE>(O, P_ij, read);
}

template <int D>
__global__ void __launch_bounds__(THREADS)
    register_tiles_kernel(Attention shape, float scale, const float* __restrict__ q,
                          const float* __restrict__ k, const float* __restrict__ v,
                          float* __restrict__ out, float* __restrict__ lse) {
  using Tile = RegisterTile<D>;
  constexpr int Br = Tile::Br, STRIDE = Tile::STRIDE;
  extern __shared__ __align__(16) float shared[];
  float* const Q_i = shared;               // (Br, D)
  float* const KV_j = Q_i + Br * STRIDE;   // (Bc, D): K_j, and once S is there, V_j
  float* const P_ij = KV_j + Bc * STRIDE;  // (Br, Bc)

  // With a causal mask the last queries have the most keys. Their blocks start first, so that no
  // long one is left over at the end.
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH;
  const int64_t head = blockIdx.x % heads, kv_head = head / shape.group();
  const int64_t i0 = (ceil_div(Tq, Br) - 1 - blockIdx.x / heads) * Br;
  q += head * Tq * HS;
  k += kv_head * Tk * HS;
  v += kv_head * Tk * HS;
  out += head * Tq * HS;
  lse += head * Tq;

  load_tile<WARPS>(Q_i, Br, D, STRIDE, q, i0, Tq, HS);
  OutputRows<Tile::O_COLS> rows;
  const int64_t last = (i0 + Br < Tq ? i0 + Br : Tq) - 1, keys = shape.visible_keys(last);
  const int64_t seen_by_all = shape.visible_keys(i0);
  for (int64_t j0 = 0; j0 < keys; j0 += Bc) {
    __syncthreads();  // all warps are done with the last V_j
    load_tile<WARPS>(KV_j, Bc, D, STRIDE, k, j0, Tk, HS);
    __syncthreads();
    float S[ROWS][Tile::COLS] = {};
    add_scores<Tile>(S, Q_i, KV_j);

    // Only tiles on the diagonal, and the last one, need the mask.
    if (j0 + Bc > seen_by_all) hide_masked<Tile>(S, shape, i0, j0);
    online_softmax<Tile>(S, rows, P_ij, scale);

    __syncthreads();  // all warps are done with K_j
    load_tile<WARPS>(KV_j, Bc, D, STRIDE, v, j0, Tk, HS);
    __syncthreads();
    add_values<Tile>(rows.O, P_ij, KV_j);
  }

#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int64_t i = i0 + Tile::row(r);
    if (i >= Tq) break;
    const float inverse = rows.l[r] == 0.0f ? 0.0f : 1 / rows.l[r];  // 0: the query sees no key
    store_row<Tile::TX, 1>(&out[i * HS], rows.O[r], inverse, Tile::tx(), HS);
    if (Tile::tx() == 0) lse[i] = rows.m[r] + logf(rows.l[r]);
  }
}

}  // namespace

void register_tiles(const Attention& shape, const float* q, const float* k, const float* v,
                    float* out, float* lse, float*) {
  require_valid(shape);
  with_padded_head_size(shape.HS, "register_tiles", RegisterTile<128>::bytes, [&]<int D>() {
    using Tile = RegisterTile<D>;
    const auto kernel = register_tiles_kernel<D>;
    allow_shared_memory(kernel, Tile::bytes(D), "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<query_blocks(shape, Tile::Br), THREADS, Tile::bytes(D)>>>(shape, score_scale(shape), q,
                                                                       k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention
