// Reductions over a warp and over a block, for kernels (.cu files).
//
// A warp reduces by shuffles: in round `offset` each lane takes the value of the lane whose number
// differs from its own in that bit, so after 16, 8, 4, 2, 1 every lane has the result. With
// __shfl_down_sync in their place only lane 0 would have it.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

namespace tutorial {

inline constexpr int WARP = 32;
inline constexpr int MAX_WARPS = 32;  // in a block: 1024 threads

/// The largest `value` of the warp's 32 lanes, in every lane. Like fmaxf it passes over NaN.
__device__ inline float warp_max(float value) {
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

/// The sum of the warp's 32 lanes, in every lane.
__device__ inline float warp_sum(float value) {
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

/// The largest `value` of the block, in every thread: warps leave their maxima in shared memory,
/// and after the barrier every warp reduces these. All threads must call; blockDim.x is a multiple
/// of 32. `slots` has one float a warp. There is no barrier at the end, so before `slots` is
/// written again the block must pass another one: give the next reduction its own slots.
__device__ inline float block_max(float value, float* slots) {
  const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  value = warp_max(value);
  if (lane == 0) slots[warp] = value;
  __syncthreads();
  return warp_max(lane < blockDim.x / WARP ? slots[lane] : -INFINITY);
}

/// The sum of the block, in every thread; otherwise as block_max.
__device__ inline float block_sum(float value, float* slots) {
  const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  value = warp_sum(value);
  if (lane == 0) slots[warp] = value;
  __syncthreads();
  return warp_sum(lane < blockDim.x / WARP ? slots[lane] : 0.0f);
}

/// As warp_max, over the four lanes of a quad, 4·g … 4·g + 3, which have whole rows of a product on
/// tensor cores (mma.cuh).
__device__ inline float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}
__device__ inline float quad_sum(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}

}  // namespace tutorial
