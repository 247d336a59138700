// Loads and additions that order others, on a GPU: inline PTX, as in ptx.h. Kernels use the words
// of common/kernel/turns.cuh.
#pragma once

#include <cuda_runtime.h>

namespace ptx {

__device__ inline unsigned load_acquire(const unsigned* from) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
__device__ inline void add_release(unsigned* to) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(to) : "memory");
}

}  // namespace ptx
