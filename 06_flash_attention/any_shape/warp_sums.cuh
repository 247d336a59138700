// How steps 3 to 5 add up what the warps of a block have, each from its own keys.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "common/kernel/reduce.cuh"
#include "common/kernel/vector4.cuh"

namespace tutorial::flash_attention::any_shape {

/// What brings sums with maximum `of_part` to the maximum m of all.
__device__ inline float factor_of(float of_part, float m, float scale) {
  return exp2f(scale * of_part + (m == -INFINITY ? 0.0f : -scale * m));
}

/// Brings the sums of the block's warps to one maximum a row, and puts them into shared memory:
/// into `sums`, (WARPS, RT, D), what each has of O times l; into `of_rows`, (2, WARPS, RT), the
/// maxima of each, and its l.
template <class Tile, class Rows>
__device__ void gather_warps(const Rows& rows, int HS, float scale, float* sums, float* of_rows) {
  constexpr int RT = Tile::RT, D = Tile::D, WARPS = Tile::WARPS;
  float* const of_m = of_rows;
  float* const of_l = of_rows + WARPS * RT;
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
}

/// A row's sums over all warps: its maximum, l, and column d of O times l.
struct WarpSums {
  float m = -INFINITY, l = 0.0f, o = 0.0f;
};
template <class Tile>
__device__ WarpSums add_warps(const float* sums, const float* of_rows, int r, int d) {
  constexpr int RT = Tile::RT, D = Tile::D, WARPS = Tile::WARPS;
  WarpSums of_row;
#pragma unroll
  for (int w = 0; w < WARPS; ++w) {
    of_row.m = fmaxf(of_row.m, of_rows[w * RT + r]);
    of_row.l += of_rows[(WARPS + w) * RT + r];
    of_row.o += sums[(w * RT + r) * D + d];
  }
  return of_row;
}

}  // namespace tutorial::flash_attention::any_shape
