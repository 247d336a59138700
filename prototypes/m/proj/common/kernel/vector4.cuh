// Four neighbouring floats in one instruction, in global or shared memory.
//
// The hardware moves 16 bytes at once only from and to an address that is a multiple of 16 bytes
// (CUDA C++ Programming Guide, "Device Memory Accesses"). Where a matrix does not promise that, the
// functions with ALIGNED = false move the same four floats one by one.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tutorial {

/// Whether 16-byte accesses are possible: every row must begin at a multiple of 16 bytes. Then the
/// number of columns is a multiple of four, so that no group of four reaches over the edge.
inline bool rows_are_aligned(const float* X, int64_t cols) {
  return reinterpret_cast<uintptr_t>(X) % 16 == 0 && cols % 4 == 0;
}

/// The four floats at `from`, a multiple of 16 bytes.
__device__ inline float4 load4(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}
/// The same into the registers of an array: to[0 … 3].
__device__ inline void load4(float* to, const float* from) {
  const float4 four = load4(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

/// Four floats to `to`, a multiple of 16 bytes.
__device__ inline void store4(float* to, float4 four) {
  *reinterpret_cast<float4*>(to) = four;
}
/// The same from the registers of an array: from[0 … 3].
__device__ inline void store4(float* to, const float* from) {
  store4(to, make_float4(from[0], from[1], from[2], from[3]));
}

/// Four floats to `to`, past the L1 cache. It stays one instruction, where nvcc 13 cuts some plain
/// assignments into four stores of 4 bytes.
__device__ inline void store4_whole(float* to, float4 four) {
  __stcg(reinterpret_cast<float4*>(to), four);
}

/// Of the four floats at `from` the first `exist` exist (none if it is <= 0, all if it is >= 4);
/// the others are not read and count as `instead`. With ALIGNED all four exist, or none.
template <bool ALIGNED>
__device__ void load4_guarded(float* to, const float* from, int64_t exist, float instead = 0) {
  if (ALIGNED && exist > 0) {
    load4(to, from);
  } else {
    for (int i = 0; i < 4; ++i) to[i] = !ALIGNED && i < exist ? from[i] : instead;
  }
}

/// Writes the first `exist` of four floats, as load4_guarded reads them.
template <bool ALIGNED>
__device__ void store4_guarded(float* to, const float* from, int64_t exist) {
  if (ALIGNED && exist > 0) store4(to, from);
  for (int i = 0; i < 4; ++i)
    if (!ALIGNED && i < exist) to[i] = from[i];
}

}  // namespace tutorial
