// Word of steps 6 to 15: the products of a warp's fragments.
#pragma once

#include "common/kernel/mma.cuh"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

/// sum += a·b: a is DOWN fragments (16, 16), and b is 2·ACROSS fragments (16, 8), two in one set of
/// registers. To and fro: from one product to the next a or b stays.
template <int DOWN, int ACROSS>
__device__ void multiply(float (&sum)[DOWN][2 * ACROSS][4], const uint32_t (&a)[DOWN][4],
                         const uint32_t (&b)[ACROSS][4]) {
#pragma unroll
  for (int i = 0; i < DOWN; ++i) {
#pragma unroll
    for (int j = 0; j < 2 * ACROSS; ++j) {
      const int turn = i % 2 == 0 ? j : 2 * ACROSS - 1 - j;
      mma_m16n8k16<bf16>(sum[i][turn], a[i], b[turn / 2][turn % 2 * 2],
                         b[turn / 2][turn % 2 * 2 + 1]);
    }
  }
}

}  // namespace tutorial::tiled_matmul::tensor_cores
