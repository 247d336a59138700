// Step 6 = step 5 for head sizes up to 128: the kernel is a template, and a thread has 8 columns of
// O whatever the head size. So more lanes share a row of a larger head, and a block has fewer rows.
//
// FLOP            as step 3, with HS = 32, 64 or 128 for smaller ones, too
// global memory   as step 2, but with tiles of Br = 64 queries; 128 if HS ≤ 32, 32 if HS > 64
// asked for       loads 4·B·NH·HS·(Tq + 2·Tk·⌈Tq/Br⌉) bytes, about half of Tk's part if causal,
//                 stores 4·B·NH·Tq·(HS + 1) bytes
// shared memory   as step 5 if 32 < HS ≤ 64; 56,832 bytes for HS = 128, more than a block has
//                 without asking for it
// block           128 threads for Br queries of a head
#include "06_flash_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "launch_checks.hpp"
#include "tiles.cuh"

namespace tutorial::flash_attention {
namespace {

constexpr int WARPS = 4, THREADS = WARPS * WARP;
constexpr int ROWS = 4, O_COLS = 8;  // of a thread's patch of O
constexpr int Bc = 32;               // keys in a tile

/// Which thread has what: TX lanes share ROWS rows of a tile of Br queries.
template <int HEAD_SIZE>
struct SquareTile {
  static constexpr int D = HEAD_SIZE;  // padded with zeros: 32, 64 or 128
  static constexpr int TX = D / O_COLS, TY = THREADS / TX;
  static constexpr int COLS = Bc / TX;  // of a thread's patch of S
  static constexpr int Br = ROWS * TY;
  // Rows of P begin TX banks apart: what a warp stores, TX floats side by side in each of 32 / TX
  // rows, goes to 32 banks.
  static constexpr int STRIDE = padded_stride(D), P_STRIDE = Bc + TX;
  static constexpr int64_t BYTES = ((Br + 2 * Bc) * STRIDE + Br * P_STRIDE) * sizeof(float);
  static __device__ int tx() { return threadIdx.x % TX; }
  static __device__ int row(int r) { return threadIdx.x / TX + TY * r; }
  static __device__ int key(int c) { return tx() + TX * c; }
  static __device__ int column(int n) { return quad_column<TX>(tx(), n); }  // of O
};

/// A thread's rows: the maximum and the sum of each, the same in all lanes that share it, and the
/// thread's columns of O, times l until the end.
struct Rows {
  float m[ROWS], l[ROWS], O[ROWS][O_COLS];
};

/// Line 8: S_ij = Q_i·K_jᵀ, the keys tx, tx + TX, … of the thread's rows.
template <class Tile>
__device__ void add_scores(float (&S)[ROWS][Tile::COLS], const float* Q_i, const float* K_j) {
  for (int d = 0; d < Tile::D; d += 4) {
    float4 k4[Tile::COLS];
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c) k4[c] = load4(&K_j[Tile::key(c) * Tile::STRIDE + d]);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const float4 q4 = load4(&Q_i[Tile::row(r) * Tile::STRIDE + d]);
#pragma unroll
      for (int c = 0; c < Tile::COLS; ++c) add_dot4(S[r][c], q4, k4[c]);
    }
  }
}

/// S = −∞ where the query may not look at the key. The tile begins at query i0 and key j0.
template <class Tile>
__device__ void hide_masked(float (&S)[ROWS][Tile::COLS], const Attention& shape, int64_t i0,
                            int64_t j0) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int64_t visible = shape.visible_keys(i0 + Tile::row(r)) - j0;
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c)
      if (Tile::key(c) >= visible) S[r][c] = -INFINITY;
  }
}

/// Line 9: the new maximum, and what the old one takes away from all that was summed. The weights
/// of S go to P_ij.
template <class Tile>
__device__ void online_softmax(const float (&S)[ROWS][Tile::COLS], Rows& rows, float* P_ij,
                               float scale) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    float m_new = -INFINITY, l_new = 0.0f;
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c) m_new = fmaxf(m_new, scale * S[r][c]);
    m_new = fmaxf(rows.m[r], row_max<Tile::TX>(m_new));
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c) {
      const float p = exp_minus(scale * S[r][c], m_new);
      P_ij[Tile::row(r) * Tile::P_STRIDE + Tile::key(c)] = p;
      l_new += p;
    }
    const float rescale = exp_minus(rows.m[r], m_new);
    rows.l[r] = rescale * rows.l[r] + row_sum<Tile::TX>(l_new);
    rows.m[r] = m_new;
#pragma unroll
    for (int n = 0; n < O_COLS; ++n) rows.O[r][n] *= rescale;
  }
}

/// Line 10: O_i = O_i + P_ij·V_j, the thread's rows and columns. Of these four are neighbours.
template <class Tile>
__device__ void add_values(float (&O)[ROWS][O_COLS], const float* P_ij, const float* V_j) {
  for (int c = 0; c < Bc; c += 4) {
    float p[ROWS][4];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) load4(p[r], &P_ij[Tile::row(r) * Tile::P_STRIDE + c]);
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      float v[O_COLS];
#pragma unroll
      for (int n = 0; n < O_COLS; n += 4)
        load4(&v[n], &V_j[(c + x) * Tile::STRIDE + Tile::column(n)]);
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int n = 0; n < O_COLS; ++n) O[r][n] += p[r][x] * v[n];
    }
  }
}

template <class Tile>
__global__ void __launch_bounds__(THREADS)
    any_head_size_kernel(Attention shape, float scale, const float* __restrict__ q,
                         const float* __restrict__ k, const float* __restrict__ v,
                         float* __restrict__ out, float* __restrict__ lse) {
  constexpr int D = Tile::D, Br = Tile::Br, STRIDE = Tile::STRIDE;
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, tiles = ceil_div(Tq, Br);
  extern __shared__ __align__(16) float shared[];
  float* const Q_i = shared;              // (Br, D)
  float* const K_j = Q_i + Br * STRIDE;   // (Bc, D)
  float* const V_j = K_j + Bc * STRIDE;   // (Bc, D)
  float* const P_ij = V_j + Bc * STRIDE;  // (Br, Bc)

  const int64_t head = blockIdx.x / tiles, kv_head = head / shape.group();
  const int64_t i0 = blockIdx.x % tiles * Br;  // line 3
  q += head * Tq * HS;
  k += kv_head * Tk * HS;
  v += kv_head * Tk * HS;
  out += head * Tq * HS;
  lse += head * Tq;

  load_tile<WARPS>(Q_i, Br, D, STRIDE, q, i0, Tq, HS);  // line 4
  Rows rows = {};                                       // line 5: O = 0, l = 0, m = −∞
  for (float& m : rows.m) m = -INFINITY;

  // Line 6, less the tiles that lie past the last key that any of these queries sees.
  const int64_t last = (i0 + Br < Tq ? i0 + Br : Tq) - 1, keys = shape.visible_keys(last);
  for (int64_t j0 = 0; j0 < keys; j0 += Bc) {
    __syncthreads();  // all warps are done with the last K_j and V_j
    load_tile<WARPS>(K_j, Bc, D, STRIDE, k, j0, Tk, HS);  // line 7
    load_tile<WARPS>(V_j, Bc, D, STRIDE, v, j0, Tk, HS);
    __syncthreads();

    float S[ROWS][Tile::COLS] = {};
    add_scores<Tile>(S, Q_i, K_j);
    hide_masked<Tile>(S, shape, i0, j0);
    online_softmax<Tile>(S, rows, P_ij, scale);
    __syncwarp();  // a warp's rows of P_ij are its own
    add_values<Tile>(rows.O, P_ij, V_j);
  }

#pragma unroll
  for (int r = 0; r < ROWS; ++r) {  // lines 12 to 15: O / l, and L = m + log l
    const int64_t i = i0 + Tile::row(r);
    if (i >= Tq) break;
    const float inverse = rows.l[r] == 0.0f ? 0.0f : 1 / rows.l[r];  // 0: the query sees no key
#pragma unroll
    for (int n = 0; n < O_COLS; ++n) {
      const int column = Tile::column(n);
      if (column < HS) out[i * HS + column] = rows.O[r][n] * inverse;
    }
    if (Tile::tx() == 0) lse[i] = rows.m[r] + logf(rows.l[r]);
  }
}

}  // namespace

void any_head_size(const Attention& shape, const float* q, const float* k, const float* v,
                   float* out, float* lse, float*) {
  require_valid(shape);
  with_padded_head_size(shape.HS, "any_head_size", [&]<int D>() {
    using Tile = SquareTile<D>;
    const auto kernel = any_head_size_kernel<Tile>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<query_blocks(shape, Tile::Br), THREADS, Tile::BYTES>>>(shape, score_scale(shape), q, k,
                                                                    v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention
