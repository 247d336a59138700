// The order of C's tiles in which blocks that run at one time share rows of A and columns of B.
#pragma once

#include <cuda_runtime.h>

namespace tutorial::tiled_matmul {

template <class Index>
struct Place {
  Index down, across;
};
/// Which tile of C is number `tile`. C is cut into strips of GROUP tiles; in each they are numbered
/// down first, and then to the right. The last strip may be less high.
template <int GROUP, class Index>
__device__ Place<Index> place_of(Index tile, Index tiles_down, Index tiles_across) {
  const Index first = tile / (GROUP * tiles_across) * GROUP;
  const Index in_strip = tile - first * tiles_across;
  const Index height = min(tiles_down - first, Index{GROUP});
  return {.down = first + in_strip % height, .across = in_strip / height};
}

}  // namespace tutorial::tiled_matmul
