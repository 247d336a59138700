// Words of the steps of this part: which queries a block has, copies of rows into shared memory, a
// lane's 16 rows of O, the mask, and how a result is stored. The order of copies stands in the
// steps, and so do the products and the softmax until they have their last form: then they stand in
// products.cuh and softmax.cuh.
//
// A warp's unit is a tile of 16 rows. Lane l = 4·g + t has, of S as of O, columns 2t and 2t+1 of
// every 8 columns n, in rows g and g + 8 (common/kernel/mma.cuh, C):
//
//   S[n][0], S[n][1]: row g       S[n][2], S[n][3]: row g + 8
//
// So the four lanes of a quad, l / 4 = g, have whole rows, and S[n][2·h + e] is of row g + 8·h.
//
// `Tile` says how rows lie in shared memory: Tile::D is the length of a row, and
// Tile::place(row, chunk) where its piece of 8 numbers (16 bytes) begins.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/kernel/async_copy.cuh"
#include "common/kernel/exp2.cuh"
#include "common/kernel/grid.hpp"
#include "common/kernel/mma.cuh"
#include "common/kernel/reduce.cuh"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::flash_attention::tensor_cores {

inline constexpr int CHUNK = 8;  // numbers of 16 bytes

/// Where a block works: queries i0 … of head `head`. The blocks with the most keys start first.
struct BlockOf {
  int head, kv_head;
  int64_t i0;
  __device__ BlockOf(const Attention& shape, int Br) {
    const unsigned heads = static_cast<unsigned>(shape.B * shape.NH);
    head = blockIdx.x % heads;
    kv_head = head / static_cast<int>(shape.group());
    i0 = (ceil_div(shape.Tq, Br) - 1 - blockIdx.x / heads) * Br;
  }
};

/// Begins to copy ROWS rows of HS numbers. Rows that are not there, and columns from HS on, become
/// zeros: a masked key still meets its value as 0 · v. Unless they are ALIGNED, a multiple of 16
/// bytes, the numbers go one by one, through registers.
template <class Tile, int ROWS, int THREADS, bool ALIGNED = true>
__device__ void copy_rows(bf16* tile, const bf16* from, int64_t rows_there, int HS) {
  constexpr int CHUNKS = Tile::D / CHUNK, PER_THREAD = ROWS * CHUNKS / THREADS;
  static_assert(ROWS * CHUNKS % THREADS == 0);
  const int first = threadIdx.x;  // chunks first, first + THREADS, …
  bf16* const first_to = &tile[Tile::place(first / CHUNKS, first % CHUNKS)];
  const auto to = [&](int x) {
    // Rows that are a multiple of 8 apart have their chunks in the same order.
    if constexpr (THREADS % (8 * CHUNKS) == 0) return first_to + x * THREADS * CHUNK;
    const int n = first + x * THREADS;
    return &tile[Tile::place(n / CHUNKS, n % CHUNKS)];
  };
  if (ALIGNED && rows_there >= ROWS && HS == Tile::D) {  // one piece of memory: nothing to test
    from += first * CHUNK;
#pragma unroll
    for (int x = 0; x < PER_THREAD; ++x) copy_async<CHUNK>(to(x), from + x * THREADS * CHUNK);
    return;
  }
  const int there = static_cast<int>(rows_there < ROWS ? rows_there : ROWS);
#pragma unroll 1  // at edges only: not worth the registers
  for (int x = 0; x < PER_THREAD; ++x) {
    const int n = first + x * THREADS, row = n / CHUNKS, column = n % CHUNKS * CHUNK;
    const bool inside = row < there && column < HS;
    if constexpr (ALIGNED)
      copy_async<CHUNK>(to(x), from + row * HS + column, inside);
    else
      for (int e = 0; e < CHUNK; ++e)
        to(x)[e] = inside ? from[row * HS + column + e] : __float2bfloat16(0.0f);
  }
}

/// A lane's part of 16 rows of O for the keys so far: O is not divided by l yet. m is their
/// maximum, natural in steps 1 to 4 and times log2(e) from then on.
template <int D>
struct Rows16 {
  float O[D / 8][4] = {};
  float m[2] = {-INFINITY, -INFINITY}, l[2] = {};
};

/// −∞ in place of the scores that the query may not see. The 16 rows begin at query i0, the columns
/// at key j0.
template <int N>
__device__ void hide_masked(float (&S)[N][4], const Attention& shape, int64_t i0, int64_t j0) {
  constexpr int64_t COLUMNS = N * 8, ROWS = 16;
  const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
  // Row g sees of these columns the first `edge` + g, if there are so many keys.
  const int64_t left = shape.Tk - j0, edge = i0 + 1 - shape.Tq + left;
  const int keys = static_cast<int>(left < COLUMNS ? left : COLUMNS);
  const int low = static_cast<int>(edge < -ROWS ? -ROWS : edge < COLUMNS ? edge : COLUMNS);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int seen = shape.causal && low + g + 8 * h < keys ? low + g + 8 * h : keys;
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (n * 8 + 2 * t + e >= seen) S[n][2 * h + e] = -INFINITY;
  }
}

/// Stores O / l, rounded to out's type, and lse = unit·m + log(l). The 16 rows begin at query i0;
/// out and lse are the head's, and out's rows lie `apart` numbers apart; m and l are the same in
/// the four lanes of a row. ALIGNED: out's pairs of numbers are.
template <bool ALIGNED = true, class T, int D>
__device__ void store_rows_apart(T* out, int64_t apart, float* lse, const Rows16<D>& rows,
                                 int64_t i0, int64_t Tq, int HS, float unit) {
  const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int64_t i = i0 + g + 8 * h;
    if (i >= Tq) continue;
    const float l = rows.l[h], inverse = l == 0 ? 0.0f : 1 / l;  // 0: no key counted
    if (t == 0) lse[i] = unit * rows.m[h] + logf(l);
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
      if (n * 8 >= HS) break;
      T* const to = &out[i * apart + n * 8 + 2 * t];
      const float low = rows.O[n][2 * h] * inverse, high = rows.O[n][2 * h + 1] * inverse;
      if constexpr (ALIGNED) {
        *reinterpret_cast<uint32_t*>(to) = pack<T>(low, high);
      } else {
        to[0] = static_cast<T>(low);
        to[1] = static_cast<T>(high);
      }
    }
  }
}
/// The same without gaps.
template <bool ALIGNED = true, class T, int D>
__device__ void store_rows(T* out, float* lse, const Rows16<D>& rows, int64_t i0, int64_t Tq,
                           int HS, float unit) {
  store_rows_apart<ALIGNED>(out, HS, lse, rows, i0, Tq, HS, unit);
}

}  // namespace tutorial::flash_attention::tensor_cores
