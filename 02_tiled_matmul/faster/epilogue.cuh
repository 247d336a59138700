// What becomes of a finished sum: the epilogue of this part's steps and of part any_shape's.
#pragma once

#include "common/kernel/vector4.cuh"

namespace tutorial::tiled_matmul::faster {

/// WIDTH neighbours in C become alpha·sum + beta·C. WIDTH is 4 where C's rows are aligned, else 1.
template <int WIDTH>
__device__ void store_scaled(float* C, const float* sum, float alpha, float beta) {
  static_assert(WIDTH == 4 || WIDTH == 1, "16 bytes in one access, or one float");
  float old[4] = {}, result[4];
  // With beta = 0 C is not read: it may hold anything, even NaN.
  if (beta != 0 && WIDTH == 4) load4(old, C);
  if (beta != 0 && WIDTH == 1) old[0] = *C;
  for (int i = 0; i < WIDTH; ++i) result[i] = alpha * sum[i] + beta * old[i];
  if (WIDTH == 4) store4(C, result);
  if (WIDTH == 1) *C = result[0];
}

}  // namespace tutorial::tiled_matmul::faster
