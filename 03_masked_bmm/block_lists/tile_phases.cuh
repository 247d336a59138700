// What a block of threads does with a tile in steps 2 to 4: load, multiply, store. The kernels,
// which say when, stand in the steps.
#pragma once

#include "block_lists/tile.cuh"
#include "common/kernel/async_copy.cuh"
#include "common/kernel/vector4.cuh"

namespace tutorial::masked_bmm::block_lists {

// ---- Loading

/// How many copies a thread begins in a row: many where there are registers for their addresses.
inline constexpr int MANY_COPIES = 8, FEW_COPIES = 2;

/// Begins the copies of one piece: columns k0 … k0+31 of A's rows, rows k0 … of B's columns. WIDE:
/// 16 bytes at a time. GUARDED: parts of it may lie outside; these become 0.
template <bool WIDE, bool GUARDED, int IN_A_ROW>
__device__ void load_piece(const ListedBmm& p, const TileView& tile, int64_t k0, float* As,
                           float* Bs) {
  constexpr int STEP = WIDE ? 4 : 1;             // floats in a copy
  const int rows = tile.rows, cols = tile.cols;  // not read again after each copy
  const int depth = static_cast<int>(min(p.K - k0, int64_t{BK}));

  constexpr int A_ROW = BK / STEP, A_ROWS = THREADS / A_ROW;  // the block copies A_ROWS at once
  const int row = threadIdx.x / A_ROW, a_k = threadIdx.x % A_ROW * STEP;
  const float* a = tile.A + row * p.K + k0 + a_k;
  float* const a_to = As + a_offset(row) + a_k;
#pragma unroll IN_A_ROW
  for (int r = 0; r < BM; r += A_ROWS, a += A_ROWS * p.K)
    copy_async<STEP>(a_to + a_offset(r), a, !GUARDED || (row + r < rows && a_k < depth));

  constexpr int B_ROW = BN / STEP, B_ROWS = THREADS / B_ROW;
  const int b_k = threadIdx.x / B_ROW, col = threadIdx.x % B_ROW * STEP;
  const float* b = tile.B + (k0 + b_k) * p.N + col;
  float* const b_to = Bs + b_k * BN + col;
#pragma unroll IN_A_ROW
  for (int k = 0; k < BK; k += B_ROWS, b += B_ROWS * p.N)
    copy_async<STEP>(b_to + k * BN, b, !GUARDED || (b_k + k < depth && col < cols));
}

/// 16 bytes at a time need every row of A, B and C to start at a multiple of 16 bytes.
inline bool rows_are_wide(const ListedBmm& p, const float* A, const float* B, const float* C) {
  return rows_are_aligned(A, p.K) && rows_are_aligned(B, p.N) && rows_are_aligned(C, p.N);
}

// ---- Multiplying

/// WIDTH neighbours, 4 or 2, at a multiple of their size.
template <int WIDTH>
__device__ void load_neighbours(float* to, const float* from) {
  if constexpr (WIDTH == 4) {
    load4(to, from);
  } else {
    const float2 two = *reinterpret_cast<const float2*>(from);
    to[0] = two.x, to[1] = two.y;
  }
}

/// sum += A·B for the first `depth` columns of a piece, rounded up to WIDTH; beyond K are zeros. A
/// thread reads WIDTH neighbours of each of its rows at once.
template <int WIDTH>
__device__ void multiply_piece(const float* As, const float* Bs, int depth, float (&sum)[TM][TN]) {
  const ThreadCorner mine;
  const float* a_rows = As + a_offset(mine.row);
  const float* b_cols = Bs + mine.col;
#pragma unroll 2
  for (int k0 = 0; k0 < depth; k0 += WIDTH) {
    float a[TM][WIDTH];
#pragma unroll
    for (int i = 0; i < TM; ++i) load_neighbours<WIDTH>(a[i], a_rows + i * BK + k0);
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) {
      float b[TN];
      load4(b, b_cols + (k0 + k) * BN);
      load4(b + HALF, b_cols + (k0 + k) * BN + HALVES_APART);
      // There and back, in rows and columns: from one product to the next, and from one k to the
      // next, most of what is read is still at hand.
#pragma unroll
      for (int down = 0; down < TM; ++down)
#pragma unroll
        for (int across = 0; across < TN; ++across) {
          const int i = k % 2 == 0 ? down : TM - 1 - down;
          const int j = (down + k) % 2 == 0 ? across : TN - 1 - across;
          sum[i][j] += a[i][k] * b[j];
        }
    }
  }
}

// ---- Storing

/// Four neighbours of a row of C, of which `exist` exist. __stcs says that nobody will read them
/// soon: they need not stay in the cache.
template <bool WIDE>
__device__ void stream4(float* to, float4 four, int exist) {
  if (WIDE) {
    if (exist > 0) __stcs(reinterpret_cast<float4*>(to), four);
    return;
  }
  if (exist > 0) __stcs(to, four.x);
  if (exist > 1) __stcs(to + 1, four.y);
  if (exist > 2) __stcs(to + 2, four.z);
  if (exist > 3) __stcs(to + 3, four.w);
}

/// All of a tile that keeps nothing.
template <bool WIDE>
__device__ void fill_tile(const ListedBmm& p, const TileView& tile) {
  const int row = threadIdx.x / 32, col = threadIdx.x % 32 * 4;  // a warp fills a row at a time
  float* to = tile.C + row * p.N + col;
  const float4 four = {p.fill, p.fill, p.fill, p.fill};
  const int rows = tile.rows - row, cols = tile.cols - col;
#pragma unroll 8
  for (int r = 0; r < BM; r += THREADS / 32, to += THREADS / 32 * p.N)
    if (r < rows) stream4<WIDE>(to, four, cols);
}

/// The thread's results, where its `word` has a bit; else the fill value.
template <bool WIDE>
__device__ void store_tile(const ListedBmm& p, const TileView& tile, uint64_t word,
                           const float (&sum)[TM][TN]) {
  const ThreadCorner mine;
  float* to = tile.C + mine.row * p.N + mine.col;
  const int rows = tile.rows - mine.row, cols = tile.cols - mine.col;
#pragma unroll
  for (int i = 0; i < TM; ++i, to += p.N) {
    if (i >= rows) break;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto value = [&](int j) {
        const bool keep = word >> (i * PATCH + half * HALF + j) & 1;
        return keep ? sum[i][half * HALF + j] : p.fill;
      };
      stream4<WIDE>(to + half * HALVES_APART, {value(0), value(1), value(2), value(3)},
                    cols - half * HALVES_APART);
    }
  }
}

}  // namespace tutorial::masked_bmm::block_lists
