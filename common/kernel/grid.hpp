// How many blocks cover an array, and how many a grid can have.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tutorial {

/// The number of tiles of `size` elements that cover `count` elements: count / size, rounded up.
__host__ __device__ constexpr int64_t ceil_div(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

/// A grid has at most so many blocks in x; and in y, and in z. No constant, for the tests' sake: on
/// a small grid (testing.hpp) even a small problem has blocks with several rows to do, one after
/// another, and launchers with several grids to launch.
struct GridLimit {
  int64_t x = 2147483647, y = 65535;
};
inline GridLimit grid_limit;

}  // namespace tutorial
