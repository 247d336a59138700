// Tiles in shared memory as steps 1 to 3 load them, and exp as steps 1 to 4 take it.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "common/kernel/reduce.cuh"

namespace tutorial::flash_attention {

/// Copies `tile_rows` rows of a rows × cols matrix, from row `row0`, to shared memory, where a row
/// takes `stride` floats. What lies past the matrix's edges, up to `tile_cols`, becomes 0: a masked
/// key still meets its value as 0 · v, and that must not be 0 · NaN. A warp copies a row at a time.
template <int WARPS>
__device__ void load_tile(float* tile, int tile_rows, int tile_cols, int stride,
                          const float* matrix, int64_t row0, int64_t rows, int cols) {
  const int lane = threadIdx.x % WARP;
#pragma unroll 4
  for (int r = threadIdx.x / WARP; r < tile_rows; r += WARPS)
    for (int d = lane; d < tile_cols; d += WARP) {
      const bool inside = row0 + r < rows && d < cols;
      tile[r * stride + d] = inside ? matrix[(row0 + r) * cols + d] : 0.0f;
    }
}

/// A row's length in shared memory for head size HS: odd, so that lanes that read one column, each
/// in its own row, hit 32 different banks.
__host__ __device__ constexpr int64_t odd_stride(int64_t HS) {
  return HS | 1;
}

/// exp(x − m), where m is the maximum of what was seen and x is part of it. m = −∞ says that
/// nothing was seen yet; then x = −∞ too, and the answer is 0 rather than exp(−∞ − −∞) = NaN.
__device__ inline float exp_minus(float x, float m) {
  return expf(x - (m == -INFINITY ? 0.0f : m));
}

}  // namespace tutorial::flash_attention
