// A word of the steps from 2 on, and of part tensor_cores: memory for a moment.
#pragma once

#include "common/kernel/check.hpp"

namespace tutorial::tiled_matmul::any_shape {

/// Memory for the work that comes next in the stream; nullptr if there is not enough. The device's
/// pool keeps for the next call what is given back. By default it would return it to the system
/// when the host waits the next time, and getting it anew takes as long as a small kernel.
inline float* allocate(int64_t floats) {
  int device;
  cudaMemPool_t pool;
  uint64_t all = UINT64_MAX;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
  CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
  float* memory = nullptr;
  if (cudaMallocAsync(&memory, floats * sizeof(float), nullptr) == cudaSuccess) return memory;
  static_cast<void>(cudaGetLastError());  // not an error of the caller's
  return nullptr;
}

/// Gives it back when the work queued so far is done.
inline void release(float* memory) {
  CUDA_CHECK(cudaFreeAsync(memory, nullptr));
}

}  // namespace tutorial::tiled_matmul::any_shape
