// What steps 4 to 7 do with tiles of pairs, on an H200 8×8 (6×4 if HS > 64) of them a thread.
//
// A block has rows: keys, and walks over columns: queries (KEYS), or the other way round.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "backward/backward_parts.cuh"
#include "common/kernel/reduce.cuh"
#include "faster/pieces.cuh"
#include "faster/thread_rows.cuh"

namespace tutorial::flash_attention::backward {

/// Which thread has what: rows as the lanes of faster/read_ahead, LY of them a
/// warp; columns TX apart.
template <class Sizes>
struct PairTile : Sizes {
  using Sizes::TX, Sizes::TY;
  static constexpr int LY = WARP / TX, WARP_ROWS = LY * Sizes::R;
  static_assert(Sizes::ROWS % TY == 0 && Sizes::C % 4 == 0, "a thread stores four at a time");
  static __device__ int lane() { return threadIdx.x % WARP; }
  static __device__ int tx() { return lane() / 2 % TX; }
  static __device__ int ly() { return lane() / (2 * TX) * 2 + lane() % 2; }
  static __device__ int ty() { return threadIdx.x / WARP * LY + ly(); }
  static __device__ int warp_row() { return threadIdx.x / WARP * WARP_ROWS; }
  static __device__ int row(int r) { return warp_row() + ly() + LY * r; }
  static __device__ int column(int c) { return tx() + TX * c; }
};

/// What a block has in shared memory: its rows, which stay, and one tile of columns at a time.
template <class Tile, bool KEYS>
struct PairTiles {
  static constexpr int OF_KEYS = KEYS ? Tile::ROWS : Tile::COLS;
  static constexpr int OF_QUERIES = KEYS ? Tile::COLS : Tile::ROWS;
  float *K, *V;             // (OF_KEYS, D)
  float *Q, *dO;            // (OF_QUERIES, D)
  float* W;                 // (ROWS, COLS): p, then ds
  float *log2_sums, *dots;  // log2_of_sum() and D of the tile's queries
  __device__ explicit PairTiles(float* shared)
      : K(shared),
        V(K + OF_KEYS * Tile::STRIDE),
        Q(V + OF_KEYS * Tile::STRIDE),
        dO(Q + OF_QUERIES * Tile::STRIDE),
        W(dO + OF_QUERIES * Tile::STRIDE),
        log2_sums(W + Tile::ROWS * Tile::W_STRIDE),
        dots(log2_sums + Tile::QUERIES) {}
  /// The four elements of W from this thread's column c on: columns c … c + 3, side by side.
  __device__ float* of(int r, int c) const {
    return &W[Tile::row(r) * Tile::W_STRIDE + quad_column<Tile::TX>(Tile::tx(), c)];
  }
  /// Which of the tile's queries a pair (r, c) of this thread belongs to.
  static __device__ int query(int r, int c) { return KEYS ? Tile::column(c) : Tile::row(r); }
  static __device__ int key(int r, int c) { return KEYS ? Tile::row(r) : Tile::column(c); }
};

/// sums[r][c] += Σ left[row(r)][x]·right[x][c] over LENGTH x, four at a time: read(x) gives the
/// rows x … x + 3 of the right matrix, and is called a round ahead.
template <class Tile, int LENGTH, int STRIDE, int N, class Read>
__device__ void add_products(float (&sums)[Tile::R][N], const float* left, Read read) {
  Fragment<N> next = read(0);
#pragma unroll 2
  for (int x = 0; x < LENGTH; x += 4) {
    const Fragment<N> right = next;
    next = read((x + 4) % LENGTH);
#pragma unroll
    for (int r = 0; r < Tile::R; ++r)
      multiply_to_and_fro(sums[r], load4(&left[Tile::row(r) * STRIDE + x]), right);
  }
}

/// X = X + rows·colsᵀ, (ROWS, D) by (D, COLS).
template <class Tile>
__device__ void add_dots(float (&X)[Tile::R][Tile::C], const float* rows, const float* cols) {
  add_products<Tile, Tile::D, Tile::STRIDE>(X, rows, [&](int d) {
    return read_keys<Tile::TX, Tile::C>(&cols[d], Tile::STRIDE, Tile::tx());
  });
}

/// sums = sums + W·cols, (ROWS, COLS) by (COLS, D). Four neighbours in a row of W belong to rows of
/// `cols` that are TX apart.
template <class Tile>
__device__ void add_weighted(float (&sums)[Tile::R][Tile::D_COLS], const float* W,
                             const float* cols) {
  constexpr int TX = Tile::TX;
  add_products<Tile, Tile::COLS, Tile::W_STRIDE>(sums, W, [&](int x) {
    const int row = x / (4 * TX) * (4 * TX) + x / 4 % TX;
    return read_values<TX, Tile::D_COLS>(&cols[row * Tile::STRIDE], TX * Tile::STRIDE, Tile::tx());
  });
}

/// X[r][c] = −∞ where the query may not look at the key, or where there is no such key. Queries of
/// the tile begin at i0, keys at j0.
template <class Tile, bool KEYS>
__device__ void hide_masked(const PairTiles<Tile, KEYS>& tile, float (&X)[Tile::R][Tile::C],
                            const Attention& shape, int64_t i0, int64_t j0) {
  if (j0 + tile.OF_KEYS <= shape.visible_keys(i0)) return;  // all are seen
#pragma unroll
  for (int r = 0; r < Tile::R; ++r)
#pragma unroll
    for (int c = 0; c < Tile::C; ++c)
      if (j0 + tile.key(r, c) >= shape.visible_keys(i0 + tile.query(r, c))) X[r][c] = -INFINITY;
}

/// W = p, the weights of dot products X.
template <class Tile, bool KEYS>
__device__ void store_weights(const PairTiles<Tile, KEYS>& tile, const float (&X)[Tile::R][Tile::C],
                              float scale) {
#pragma unroll
  for (int r = 0; r < Tile::R; ++r)
#pragma unroll
    for (int c = 0; c < Tile::C; c += 4) {
      float p[4];
#pragma unroll
      for (int e = 0; e < 4; ++e)
        p[e] = weight(X[r][c + e], scale, tile.log2_sums[tile.query(r, c + e)]);
      store4(tile.of(r, c), p);
    }
}

/// W = ds = p·(dp − D), where W is p.
template <class Tile, bool KEYS>
__device__ void store_weight_gradients(const PairTiles<Tile, KEYS>& tile,
                                       const float (&dp)[Tile::R][Tile::C]) {
#pragma unroll
  for (int r = 0; r < Tile::R; ++r)
#pragma unroll
    for (int c = 0; c < Tile::C; c += 4) {
      float w[4];
      load4(w, tile.of(r, c));
#pragma unroll
      for (int e = 0; e < 4; ++e) w[e] *= dp[r][c + e] - tile.dots[tile.query(r, c + e)];
      store4(tile.of(r, c), w);
    }
}

/// Brings what the pairs need of the tile's queries, from i0 on, where a head's lse and D begin at
/// `lse` and `dots`.
template <class Tile, bool KEYS>
__device__ void load_query_sums(const PairTiles<Tile, KEYS>& tile, const float* lse,
                                const float* dots, int64_t i0, int64_t Tq) {
  for (int i = threadIdx.x; i < tile.OF_QUERIES; i += Tile::THREADS) {
    const bool inside = i0 + i < Tq;
    tile.log2_sums[i] = inside ? log2_of_sum(lse[i0 + i]) : INFINITY;
    tile.dots[i] = inside ? dots[i0 + i] : 0.0f;
  }
}

/// Writes a thread's part of a row of HS floats, factor·sums. `aligned`: 16 bytes at a time, as all
/// rows begin at multiples of them.
template <class Tile>
__device__ void store_row_sums(float* row, const float (&sums)[Tile::D_COLS], float factor, int HS,
                               bool aligned) {
  if (aligned)
    store_row<Tile::TX, 4>(row, sums, factor, Tile::tx(), HS);
  else
    store_row<Tile::TX, 1>(row, sums, factor, Tile::tx(), HS);
}

/// Writes a tile of dq, from row `row0` of a head that has `rows`.
template <class Tile>
__device__ void store_sums(float* to, const float (&sums)[Tile::R][Tile::D_COLS], float factor,
                           int64_t row0, int64_t rows, int HS, bool aligned = false) {
#pragma unroll
  for (int r = 0; r < Tile::R; ++r) {
    const int64_t row = row0 + Tile::row(r);
    if (row < rows) store_row_sums<Tile>(&to[row * HS], sums[r], factor, HS, aligned);
  }
}

/// Writes a tile of dk and one of dv, from key j0 on.
template <class Tile>
__device__ void store_key_sums(const Tensors& at, const float (&dk)[Tile::R][Tile::D_COLS],
                               const float (&dv)[Tile::R][Tile::D_COLS], float factor,
                               int64_t kv_head, int64_t j0, int64_t Tk, int HS,
                               bool aligned = false) {
#pragma unroll
  for (int r = 0; r < Tile::R; ++r) {
    const int64_t j = j0 + Tile::row(r), place = (kv_head * Tk + j) * HS;
    if (j >= Tk) continue;
    store_row_sums<Tile>(&at.dk[place], dk[r], factor, HS, aligned);
    store_row_sums<Tile>(&at.dv[place], dv[r], 1.0f, HS, aligned);
  }
}

// ---- from step 5 on: asynchronous copies

/// Begins to copy COUNT rows of a (rows, HS) matrix, from row `row0` on. `aligned` as above.
template <class Tile, int COUNT>
__device__ void fetch_rows(float* to, const float* matrix, int64_t row0, int64_t rows, int HS,
                           bool aligned) {
  const float* const from = matrix + row0 * HS;
  if (aligned)
    fetch<COUNT, Tile::D, 4, Tile::THREADS>(to, Tile::STRIDE, from, HS, rows - row0, HS);
  else
    fetch<COUNT, Tile::D, 1, Tile::THREADS>(to, Tile::STRIDE, from, HS, rows - row0, HS);
}

// ---- from step 6 on: the fifth product

/// Which columns of W, and so rows of Wᵀ, a thread has. Where there are more ty than tx, several
/// share the C that lie side by side for one tx: each has T_COLS of them.
template <class Tile>
struct Transposed {
  static constexpr int SHARE = Tile::TY / Tile::TX, T_COLS = Tile::C / SHARE;
  static __device__ int ty() { return Tile::ty() / SHARE; }
  // Not % 1: nvcc orders the kernel's other instructions by it, and those of the largest tile are
  // what was measured.
  static __device__ int first() { return SHARE == 1 ? 0 : Tile::ty() % SHARE * T_COLS; }
};

/// sums = Wᵀ·rows, (COLS, ROWS) by (ROWS, D), as a sum of outer products: a row of W by a row of
/// `rows`.
template <class Tile, int T_COLS>
__device__ void add_transposed(float (&sums)[T_COLS][Tile::D_COLS], const float* W,
                               const float* rows) {
  using Own = Transposed<Tile>;
  float a[2][T_COLS], b[2][Tile::D_COLS];
  const auto read = [&](int which, int x) {
#pragma unroll
    for (int c = 0; c < T_COLS; c += T_COLS % 4 == 0 ? 4 : 1) {
      const int column = quad_column<Tile::TX>(Own::ty(), Own::first() + c);
      if constexpr (T_COLS % 4 == 0)
        load4(&a[which][c], &W[x * Tile::W_STRIDE + column]);
      else
        a[which][c] = W[x * Tile::W_STRIDE + column];
    }
#pragma unroll
    for (int d = 0; d < Tile::D_COLS; d += 4)
      load4(&b[which][d], &rows[x * Tile::STRIDE + quad_column<Tile::TX>(Tile::tx(), d)]);
  };
  read(0, 0);
#pragma unroll 8
  for (int x = 0; x < Tile::ROWS; ++x) {
    read((x + 1) % 2, (x + 1) % Tile::ROWS);
#pragma unroll
    for (int r = 0; r < T_COLS; ++r)
#pragma unroll
      for (int n = 0; n < Tile::D_COLS; ++n) {
        const int d = r % 2 == 0 ? n : Tile::D_COLS - 1 - n;
        sums[r][d] += a[x % 2][r] * b[x % 2][d];
      }
  }
}

/// Writes what add_transposed() gave, from query i0 on: row i to row_of(i).
template <class Tile, int T_COLS, class RowOf>
__device__ void store_transposed(const float (&sums)[T_COLS][Tile::D_COLS], int64_t i0, int64_t Tq,
                                 int HS, bool aligned, RowOf row_of) {
  using Own = Transposed<Tile>;
#pragma unroll
  for (int c = 0; c < T_COLS; ++c) {
    const int64_t i = i0 + Own::ty() + Tile::TX * (Own::first() + c);
    if (i < Tq) store_row_sums<Tile>(row_of(i), sums[c], 1.0f, HS, aligned);
  }
}

}  // namespace tutorial::flash_attention::backward
