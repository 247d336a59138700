// The softmax of the steps from 10 on, as step 9 has it.
#pragma once

#include <cmath>

#include "tensor_cores/words.cuh"

namespace tutorial::flash_attention::tensor_cores {

/// How much larger than 2^m a row's largest score may be (log2): 0 rescales at every rise. What FA4
/// takes for inputs of 16 bits.
inline constexpr float SLACK = 8;

/// S becomes P = 2^(scale·S − m), where m is a maximum of the keys so far, or SLACK less; l (of
/// this lane's columns) and O become those of all keys so far.
template <int D, int N>
__device__ void softmax(float (&S)[N][4], Rows16<D>& rows, float scale) {
  float max[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int n = 0; n < N; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) max[e / 2] = fmaxf(max[e / 2], S[n][e]);
#pragma unroll
  for (float& m : max) m = quad_max(m) * scale;

  // All lanes rescale or none does: so the test is no branch within the warp.
  if (__any_sync(0xffffffffu, max[0] > rows.m[0] + SLACK || max[1] > rows.m[1] + SLACK)) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      max[h] = fmaxf(rows.m[h], max[h]);
      const float factor = exp2_approx(rows.m[h] - finite_max(max[h]));
      rows.m[h] = max[h];
      rows.l[h] *= factor;
#pragma unroll
      for (int d = 0; d < D / 8; ++d)
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; ++e) rows.O[d][e] *= factor;
    }
  }
  const float base[2] = {finite_max(rows.m[0]), finite_max(rows.m[1])};
#pragma unroll
  for (int n = 0; n < N; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      rows.l[e / 2] += S[n][e] = exp2_approx(fmaf(S[n][e], scale, -base[e / 2]));
}

}  // namespace tutorial::flash_attention::tensor_cores
