// What the steps do with the rows of S and O that a thread has in registers.
//
// `Place` says which thread has what, and each step has its own: Place::row(r) is the row, of a
// block's tile, of a thread's register row r; Place::column(c) the same for S's columns;
// Place::row_max and row_sum reduce over the lanes that share a row.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "06_flash_attention.hpp"
#include "common/kernel/exp2.cuh"
#include "common/kernel/vector4.cuh"
#include "tiles.cuh"

namespace tutorial::flash_attention::faster {

inline constexpr int ROWS = 8;  // rows of S and O that a thread has

/// A thread's part of its N rows of O for the keys so far, times l until the end.
template <int O_COLS, int N = ROWS>
struct OutputRows {
  float m[N], l[N], O[N][O_COLS];

  __device__ OutputRows() : O{} {
#pragma unroll
    for (int r = 0; r < N; ++r) {
      m[r] = -INFINITY;
      l[r] = 0.0f;
    }
  }
};

/// Which rows and columns a lane has from step 5 on, where TX lanes share a row: lanes as in step
/// 3, but rows and columns are four and four side by side.
template <int TX>
struct QuadLanes {
  static constexpr int TY = WARP / TX, WARP_ROWS = ROWS * TY;
  static __device__ int lane() { return threadIdx.x % WARP; }
  static __device__ int tx() { return lane() / 2 % TX; }
  static __device__ int ty() { return lane() / (2 * TX) * 2 + lane() % 2; }
  static __device__ int warp_row() { return threadIdx.x / WARP * WARP_ROWS; }
  static __device__ int row(int r) { return warp_row() + quad_column<TY>(ty(), r); }
  static __device__ int column(int c) { return quad_column<TX>(tx(), c); }
  static __device__ float row_max(float value) { return flash_attention::row_max<TX, 2>(value); }
  static __device__ float row_sum(float value) { return flash_attention::row_sum<TX, 2>(value); }
};

/// Four rows of the right matrix of a product, as far as a thread's N columns go: at[x][c].
template <int N>
struct Fragment {
  float at[4][N];
};

/// Columns tx, tx + TX, … of Kᵀ: at[x][c] = K[tx + TX·c][x], where K's rows are `stride` floats
/// long.
template <int TX, int N>
__device__ Fragment<N> read_keys(const float* K, int stride, int tx) {
  Fragment<N> right;
#pragma unroll
  for (int c = 0; c < N; ++c) {
    const float4 four = load4(&K[(tx + TX * c) * stride]);
    right.at[0][c] = four.x, right.at[1][c] = four.y;
    right.at[2][c] = four.z, right.at[3][c] = four.w;
  }
  return right;
}

/// Quadruples of columns of V: at[x][c] = V[x][quad_column(tx, c)].
template <int TX, int N>
__device__ Fragment<N> read_values(const float* V, int stride, int tx) {
  Fragment<N> right;
#pragma unroll
  for (int x = 0; x < 4; ++x)
#pragma unroll
    for (int c = 0; c < N; c += 4) load4(&right.at[x][c], &V[x * stride + quad_column<TX>(tx, c)]);
  return right;
}

/// sums[c] += Σ left[x]·right[x][c], over four x.
template <int N>
__device__ void multiply_add(float (&sums)[N], float4 left4, const Fragment<N>& right) {
  const float left[4] = {left4.x, left4.y, left4.z, left4.w};
#pragma unroll
  for (int x = 0; x < 4; ++x)
#pragma unroll
    for (int c = 0; c < N; ++c) sums[c] += left[x] * right.at[x][c];
}

/// sums[c] += Σ left[x]·right[x][c], to and fro, in steps 3 and 4. An FFMA reads three registers.
/// Here neighbours share left[x], and at the turns right's column: what the last instruction has
/// read need not be read again.
template <int N>
__device__ void multiply_to_and_fro(float (&sums)[N], float4 left4, const Fragment<N>& right) {
  const float left[4] = {left4.x, left4.y, left4.z, left4.w};
#pragma unroll
  for (int x = 0; x < 4; ++x)
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const int c = x % 2 == 0 ? i : N - 1 - i;
      sums[c] += left[x] * right.at[x][c];
    }
}

/// S[r][c] = −∞ where the query i0 + row(r) may not look at the key j0 + column(c).
template <class Place, int COLS>
__device__ void hide_masked(float (&S)[ROWS][COLS], const Attention& shape, int64_t i0,
                            int64_t j0) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int64_t visible = shape.visible_keys(i0 + Place::row(r)) - j0;
#pragma unroll
    for (int c = 0; c < COLS; ++c)
      if (Place::column(c) >= visible) S[r][c] = -INFINITY;
  }
}

/// The maximum of row r with one more tile of scores, and what was summed so far brought to it.
/// `scale` is LOG2_E/√HS: a weight is exp((s − m)/√HS) = 2^(scale·s − scale·m). Returns −scale·m,
/// or 0 while nothing was seen, as exp_minus takes it.
template <class Place, int COLS, int O_COLS, int N>
__device__ float raise_maximum(OutputRows<O_COLS, N>& rows, int r, const float (&S_r)[COLS],
                               float scale) {
  float m_new = rows.m[r];
#pragma unroll
  for (int c = 0; c < COLS; ++c) m_new = fmaxf(m_new, S_r[c]);
  m_new = Place::row_max(m_new);
  const float minus_m = m_new == -INFINITY ? 0.0f : -scale * m_new;
  const float rescale = exp2f(scale * rows.m[r] + minus_m);
  rows.m[r] = m_new;
  rows.l[r] *= rescale;
#pragma unroll
  for (int d = 0; d < O_COLS; ++d) rows.O[r][d] *= rescale;
  return minus_m;
}

/// As quad_column, but N need not be a multiple of 4: then come two side by side, and one.
template <int TX, int N>
__device__ int spread_column(int tx, int c) {
  if (c < N / 4 * 4) return quad_column<TX>(tx, c);
  return c < N / 2 * 2 ? c / 2 * 2 * TX + 2 * tx + c % 2 : TX * c + tx;
}

/// The online softmax of step 5 and part any_shape, of a tile of scores; their weights go to P_t,
/// (Bc, Br): key column(c) in row c·TX + tx. l keeps this thread's part of the sum alone, until the
/// end.
template <class Tile>
__device__ void transposed_softmax(float (&S)[ROWS][Tile::COLS], OutputRows<Tile::O_COLS>& rows,
                                   float* P_t, float scale) {
  float minus_m[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) minus_m[r] = raise_maximum<Tile>(rows, r, S[r], scale);
#pragma unroll
  for (int c = 0; c < Tile::COLS; ++c)
#pragma unroll
    for (int r = 0; r < ROWS; r += 4) {
      float p[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        p[e] = exp2f(scale * S[r + e][c] + minus_m[r + e]);
        rows.l[r + e] += p[e];
      }
      store4(&P_t[(c * Tile::TX + Tile::tx()) * Tile::P_STRIDE + Tile::row(r)], p);
    }
}

/// Writes a thread's part of a row of out, O_r·factor. With VEC = 4 the row begins at a multiple of
/// 16 bytes.
template <int TX, int VEC, int O_COLS>
__device__ void store_row(float* row, const float (&O_r)[O_COLS], float factor, int tx, int HS) {
  constexpr int BY_FOUR = VEC == 4 ? O_COLS / 4 * 4 : 0;  // so many in stores of 16 bytes
#pragma unroll
  for (int d = 0; d < O_COLS; d += d < BY_FOUR ? 4 : 1) {
    const int column = spread_column<TX, O_COLS>(tx, d);
    if (column >= HS) continue;
    if (d < BY_FOUR)
      store4(&row[column], make_float4(O_r[d] * factor, O_r[d + 1] * factor, O_r[d + 2] * factor,
                                       O_r[d + 3] * factor));
    else
      row[column] = O_r[d] * factor;
  }
}

/// Writes a thread's part of out and lse, from step 2 on: only now are the rows' sums added up.
template <class Place, int VEC, int O_COLS>
__device__ void store_rows(float* out, float* lse, const OutputRows<O_COLS>& rows, int64_t i0,
                           int64_t Tq, int HS, float scale) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const float l = Place::row_sum(rows.l[r]);
    const int64_t i = i0 + Place::row(r);
    if (i >= Tq) continue;
    const float inverse = l == 0.0f ? 0.0f : 1 / l;  // 0: the query sees no key
    store_row<Place::TX, VEC>(&out[i * HS], rows.O[r], inverse, Place::tx(), HS);
    if (Place::tx() == 0) lse[i] = LN_2 * (scale * rows.m[r] + log2f(l));
  }
}

}  // namespace tutorial::flash_attention::faster
