// Words of the steps from 14 on, whose rows lie apart: between them is what does not belong to
// them.
#pragma once

#include <cstdint>

#include "tensor_cores/words.cuh"

namespace tutorial::flash_attention::tensor_cores {

/// Which sequence a block works for, which head of it, and which head of its keys.
struct HeadOf {
  int64_t batch, head, kv_head;
  __device__ HeadOf(const Attention& shape, const BlockOf& block)
      : batch(block.head / shape.NH), head(block.head % shape.NH), kv_head(head / shape.group()) {}
};

/// As copy_rows(), from rows that lie `apart` numbers apart.
template <class Tile, int ROWS, int THREADS, bool ALIGNED>
__device__ void copy_rows_apart(bf16* tile, const bf16* from, int64_t apart, int64_t rows_there,
                                int HS) {
  constexpr int CHUNKS = Tile::D / CHUNK, PER_THREAD = ROWS * CHUNKS / THREADS;
  const int first = threadIdx.x;  // chunks first, first + THREADS, …
  if (ALIGNED && THREADS % CHUNKS == 0 && rows_there >= ROWS && HS == Tile::D) {
    // A thread's chunks lie below each other: nothing to test, and one addition from row to row.
    constexpr int DOWN = THREADS / CHUNKS;
    from += first / CHUNKS * apart + first % CHUNKS * CHUNK;
#pragma unroll
    for (int x = 0; x < PER_THREAD; ++x, from += DOWN * apart)
      copy_async<CHUNK>(&tile[Tile::place(first / CHUNKS + x * DOWN, first % CHUNKS)], from);
    return;
  }
  const int there = static_cast<int>(rows_there < ROWS ? rows_there : ROWS);
#pragma unroll 1  // at edges only: not worth the registers
  for (int x = 0; x < PER_THREAD; ++x) {
    const int n = first + x * THREADS, row = n / CHUNKS, column = n % CHUNKS * CHUNK;
    bf16* const to = &tile[Tile::place(row, n % CHUNKS)];
    const bool inside = row < there && column < HS;
    if constexpr (ALIGNED)
      copy_async<CHUNK>(to, from + row * apart + column, inside);
    else
      for (int e = 0; e < CHUNK; ++e)
        to[e] = inside ? from[row * apart + column + e] : __float2bfloat16(0.0f);
  }
}

/// Rows from query Tq on become those of queries without keys: zeros, and lse = −∞. The 16 rows
/// begin at query i0. Their O is not multiplied by 0, since it may be NaN.
template <int D>
__device__ void clear_padding(Rows16<D>& rows, int64_t i0, int64_t Tq) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (i0 + threadIdx.x % WARP / 4 + 8 * h < Tq) continue;
    rows.m[h] = -INFINITY;
    rows.l[h] = 0;
#pragma unroll
    for (int d = 0; d < D / 8; ++d) rows.O[d][2 * h] = rows.O[d][2 * h + 1] = 0;
  }
}

}  // namespace tutorial::flash_attention::tensor_cores
