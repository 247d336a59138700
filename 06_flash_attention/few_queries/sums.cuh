// Words of the steps from 3 on: the sums of warps that share keys, in shared memory, where they are
// merged.
#pragma once

#include <cstdint>

#include "common/kernel/cluster.cuh"
#include "common/kernel/exp2.cuh"
#include "common/kernel/reduce.cuh"
#include "common/kernel/vector4.cuh"
#include "few_queries/packed.cuh"

namespace tutorial::flash_attention::few_queries {

/// Four columns of a row, of all warps that have keys.
struct Merged {
  float O[4] = {}, m = -INFINITY, l = 0;
};

/// For each warp that has keys of its own: O, not divided by l yet, the maximum m and the sum l of
/// each row. They take the place of the tiles. All that merges takes them always in the same order.
template <class Tile>
struct Sums {
  static constexpr int COUNT = Tile::KEY_WARPS, ROWS = Tile::ROWS, D = Tile::D;
  float O[COUNT][ROWS][D + 8];  // 8 more: eight rows begin in different banks
  float m[COUNT][ROWS], l[COUNT][ROWS];
  float factor[MOST_OF_CLUSTER][COUNT][ROWS], all_m[ROWS], all_l[ROWS];  // weigh() writes these

  /// 16 rows of a warp, from row `at` on.
  __device__ void put(int warp, int at, const Rows16<D>& rows) {
    const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = at + g + 8 * h;
      const float sum = quad_sum(rows.l[h]);
      if (t == 0) m[warp][row] = rows.m[h], l[warp][row] = sum;
#pragma unroll
      for (int n = 0; n < D / 8; ++n)
        *reinterpret_cast<float2*>(&O[warp][row][n * 8 + 2 * t]) =
            make_float2(rows.O[n][2 * h], rows.O[n][2 * h + 1]);
    }
  }

  /// What each warp's sums count in those of all `blocks`; of_block(b) are block b's. All threads
  /// must call.
  template <class OfBlock>
  __device__ void weigh(int blocks, const OfBlock& of_block) {
    for (int row = threadIdx.x; row < ROWS; row += Tile::THREADS) {
      float most = -INFINITY, sum = 0;
#pragma unroll 4
      for (int b = 0; b < blocks; ++b)
#pragma unroll
        for (int w = 0; w < COUNT; ++w) most = fmaxf(most, of_block(b).m[w][row]);
#pragma unroll 4
      for (int b = 0; b < blocks; ++b)
#pragma unroll
        for (int w = 0; w < COUNT; ++w) {
          factor[b][w][row] = exp2_approx(of_block(b).m[w][row] - finite_max(most));
          sum += factor[b][w][row] * of_block(b).l[w][row];
        }
      all_m[row] = most, all_l[row] = sum;
    }
    __syncthreads();
  }

  template <class OfBlock>
  __device__ Merged merged(int blocks, int row, int column, const OfBlock& of_block) const {
    Merged all = {.m = all_m[row], .l = all_l[row]};
#pragma unroll 2
    for (int b = 0; b < blocks; ++b)
#pragma unroll
      for (int w = 0; w < COUNT; ++w) {
        float part[4];
        load4(part, &of_block(b).O[w][row][column]);
#pragma unroll
        for (int e = 0; e < 4; ++e) all.O[e] += factor[b][w][row] * part[e];
      }
    return all;
  }
};

/// Stores four columns of a row of out, and with the first ones lse.
__device__ inline void store_merged(bf16* out, float* lse, const Merged& all, int64_t row,
                                    int column, int HS) {
  const float inverse = all.l == 0 ? 0.0f : 1 / all.l;  // 0: no key counted
  *reinterpret_cast<uint2*>(&out[row * HS + column]) =
      make_uint2(pack<bf16>(all.O[0] * inverse, all.O[1] * inverse),
                 pack<bf16>(all.O[2] * inverse, all.O[3] * inverse));
  if (column == 0) lse[row] = LN_2 * all.m + logf(all.l);
}

/// The same of a part, not divided yet; `row` counts the rows of all parts.
__device__ inline void store_merged(const Parts& parts, const Merged& all, int64_t row, int column,
                                    int HS) {
  store4(&parts.out[row * HS + column], all.O);
  if (column == 0) parts.m[row] = all.m, parts.l[row] = all.l;
}

}  // namespace tutorial::flash_attention::few_queries
