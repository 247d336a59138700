// Arithmetic on the four floats that one instruction loads or stores.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

namespace tutorial::softmax {

__device__ inline float max_of(float4 four) {
  return fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w));
}
__device__ inline float sum_of(float4 four) {
  return (four.x + four.y) + (four.z + four.w);
}
/// exp(element - max) of each element.
__device__ inline float4 exp_of(float4 four, float max) {
  return {expf(four.x - max), expf(four.y - max), expf(four.z - max), expf(four.w - max)};
}
__device__ inline float4 scaled(float4 four, float scale) {
  return {four.x * scale, four.y * scale, four.z * scale, four.w * scale};
}

}  // namespace tutorial::softmax
