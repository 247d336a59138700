// How many blocks cover an array, and how many a grid can have.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tutorial {

/// The number of tiles of `size` elements that cover `count` elements: count / size, rounded up.
__host__ __device__ constexpr int64_t ceil_div(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

/// A grid has at most this many blocks in x; and in y, and in z.
inline constexpr int64_t MAX_GRID_X = 2147483647;
inline constexpr int64_t MAX_GRID_Y = 65535;

}  // namespace tutorial
