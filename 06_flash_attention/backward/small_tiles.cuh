// Tiles of 32×32, as steps 1 to 3 have them: 16×16 threads with 2×2 elements each; or of 16×16,
// where a thread has one (E×E elements).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backward/backward_parts.cuh"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::backward {

inline constexpr int SIDE = 16, THREADS = SIDE * SIDE;
inline constexpr int SIZE = 2 * SIDE;  // rows and columns of a tile

/// Copies the tile of a (rows, cols) matrix that begins at (row0, col0) to shared memory, where its
/// rows take SIZE + 1 floats; zeros where it lies past the matrix's edges.
__device__ inline void load_square(float* tile, const float* matrix, int64_t row0, int64_t col0,
                                   int64_t rows, int64_t cols) {
  for (int e = threadIdx.x; e < SIZE * SIZE; e += THREADS) {
    const int64_t row = row0 + e / SIZE, col = col0 + e % SIZE;
    const bool inside = row < rows && col < cols;
    tile[e / SIZE * (SIZE + 1) + e % SIZE] = inside ? matrix[row * cols + col] : 0.0f;
  }
}

/// sums += left·rightᵀ: rows of `left` by rows of `right`, `length` floats of each, `stride` apart.
/// This thread has rows ty and ty + SIDE of `left`, tx and tx + SIDE of `right`.
template <int E>
__device__ void add_dots(float (&sums)[E][E], const float* left, const float* right, int length,
                         int stride) {
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  for (int x = 0; x < length; ++x)
#pragma unroll
    for (int i = 0; i < E; ++i)
#pragma unroll
      for (int j = 0; j < E; ++j)
        sums[i][j] += left[(ty + SIDE * i) * stride + x] * right[(tx + SIDE * j) * stride + x];
}

/// sums += left·right: the tile's columns of `left` by as many rows of `right`, of which this
/// thread has the columns tx, tx + SIDE, ….
template <int E, int N>
__device__ void add_rows(float (&sums)[E][N], const float* left, const float* right, int stride) {
  constexpr int SIZE = E * SIDE;
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  for (int x = 0; x < SIZE; ++x)
#pragma unroll
    for (int i = 0; i < E; ++i)
#pragma unroll
      for (int j = 0; j < N; ++j)
        sums[i][j] += left[(ty + SIDE * i) * (SIZE + 1) + x] * right[x * stride + tx + SIDE * j];
}

// ---- steps 1 and 2: products of matrices in global memory, a block for each tile of the result

/// Which heads a product reads: of the left matrix `summed` heads, one after the other, for each
/// head of the result; and of the right one a head for `sharing` of these.
struct Heads {
  int64_t summed, sharing;
};

/// sums = factor·Σ left·right, (rows, terms) by (terms, HS), over the heads. TRANSPOSED: the left
/// matrix is stored as (terms, rows).
template <bool TRANSPOSED>
__device__ void sum_products(const float* left, const float* right, float* sums, int64_t rows,
                             int64_t terms, int64_t HS, Heads heads, float factor) {
  __shared__ float left_tile[SIZE * (SIZE + 1)];   // (32 rows, 32 terms)
  __shared__ float right_tile[SIZE * (SIZE + 1)];  // (32 terms, 32 columns)
  const int64_t across = ceil_div(HS, SIZE), down = ceil_div(rows, SIZE);
  const int64_t head = blockIdx.x / (across * down);
  const int64_t row0 = blockIdx.x / across % down * SIZE, col0 = blockIdx.x % across * SIZE;
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;

  float sum[2][2] = {};
  for (int64_t h = head * heads.summed; h < (head + 1) * heads.summed; ++h)
    for (int64_t x = 0; x < terms; x += SIZE) {
      const float* const matrix = left + h * rows * terms;
      if (TRANSPOSED) {
        for (int e = threadIdx.x; e < SIZE * SIZE; e += THREADS) {
          const int64_t term = x + e / SIZE, row = row0 + e % SIZE;
          const bool inside = term < terms && row < rows;
          left_tile[e % SIZE * (SIZE + 1) + e / SIZE] = inside ? matrix[term * rows + row] : 0.0f;
        }
      } else {
        load_square(left_tile, matrix, row0, x, rows, terms);
      }
      load_square(right_tile, right + h / heads.sharing * terms * HS, x, col0, terms, HS);
      __syncthreads();
      add_rows(sum, left_tile, right_tile, SIZE + 1);
      __syncthreads();
    }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      const int64_t row = row0 + ty + SIDE * i, col = col0 + tx + SIDE * j;
      if (row < rows && col < HS) sums[(head * rows + row) * HS + col] = factor * sum[i][j];
    }
}

/// gridDim.x for these, where each head has a result of (rows, cols).
inline unsigned square_blocks(int64_t heads, int64_t rows, int64_t cols) {
  return grid_blocks(heads * ceil_div(rows, SIZE) * ceil_div(cols, SIZE));
}

// ---- steps 2 and 3: whole rows of the tensors in shared memory

/// A block's tiles in shared memory.
template <class Tile>
struct SmallTiles {
  float *Q, *dO, *K, *V;  // (SIZE, D)
  float *P, *dS;          // (SIZE, SIZE)
  __device__ explicit SmallTiles(float* shared)
      : Q(shared),
        dO(Q + Tile::SIZE * Tile::STRIDE),
        K(dO + Tile::SIZE * Tile::STRIDE),
        V(K + Tile::SIZE * Tile::STRIDE),
        P(V + Tile::SIZE * Tile::STRIDE),
        dS(P + Tile::SIZE * (Tile::SIZE + 1)) {}
};

/// p and ds of the pairs of queries i0 … and keys j0 …, where a head's lse and D begin at `lse` and
/// `dots`. KEYS: a row of P and dS is a key, else a query.
template <bool KEYS, class Tile>
__device__ void compute_pairs(const SmallTiles<Tile>& tile, const Attention& shape, float scale,
                              const float* lse, const float* dots, int64_t i0, int64_t j0) {
  float s[Tile::R][Tile::C] = {}, dp[Tile::R][Tile::C] = {};
  add_dots(s, KEYS ? tile.K : tile.Q, KEYS ? tile.Q : tile.K, Tile::D, Tile::STRIDE);
  add_dots(dp, KEYS ? tile.V : tile.dO, KEYS ? tile.dO : tile.V, Tile::D, Tile::STRIDE);
#pragma unroll
  for (int r = 0; r < Tile::R; ++r)
#pragma unroll
    for (int c = 0; c < Tile::C; ++c) {
      const int row = threadIdx.x / SIDE + SIDE * r, col = threadIdx.x % SIDE + SIDE * c;
      const int64_t i = i0 + (KEYS ? col : row), j = j0 + (KEYS ? row : col);
      const bool seen = i < shape.Tq && j < shape.visible_keys(i);
      const float p = seen ? weight(s[r][c], scale, log2_of_sum(lse[i])) : 0.0f;
      tile.P[row * (Tile::SIZE + 1) + col] = p;
      tile.dS[row * (Tile::SIZE + 1) + col] = seen ? p * (dp[r][c] - dots[i]) : 0.0f;
    }
}

/// Writes ds of the tile's pairs to a head's matrix, (Tq, Tk), where a row of dS is a key.
template <class Tile>
__device__ void store_pairs(float* ds, const SmallTiles<Tile>& tile, int64_t i0, int64_t Tq,
                            int64_t j0, int64_t Tk) {
  for (int e = threadIdx.x; e < Tile::SIZE * Tile::SIZE; e += THREADS) {
    const int row = e / Tile::SIZE, col = e % Tile::SIZE;
    if (i0 + row < Tq && j0 + col < Tk)
      ds[(i0 + row) * Tk + j0 + col] = tile.dS[col * (Tile::SIZE + 1) + row];
  }
}

/// Writes a tile of dq, dk or dv, factor·sums, from row `row0` of a head that has `rows`.
template <class Tile>
__device__ void store_sums(float* to, const float (&sums)[Tile::R][Tile::D_COLS], float factor,
                           int64_t row0, int64_t rows, int HS) {
  for (int r = 0; r < Tile::R; ++r)
    for (int c = 0; c < Tile::D_COLS; ++c) {
      const int64_t row = row0 + threadIdx.x / SIDE + SIDE * r;
      const int col = threadIdx.x % SIDE + SIDE * c;
      if (row < rows && col < HS) to[row * HS + col] = factor * sums[r][c];
    }
}

}  // namespace tutorial::flash_attention::backward
