// Copies from global into shared memory that go on while the thread does other work (CUDA C++
// Programming Guide, "Asynchronous Data Copies"). They pass no register.
//
//   copy_async<4>(to, from, inside);   begins a copy
//   __pipeline_commit();               closes a group of copies
//   __pipeline_wait_prior(n);          waits until all but this thread's last n groups have come;
//   __syncthreads();                   … and this until everyone else's have
#pragma once

#include <cuda_pipeline.h>
#include <ptx.h>

namespace tutorial {

/// Begins to copy COUNT elements, which are 4, 8 or 16 bytes (both addresses a multiple of as
/// many), into shared memory. What is not `inside` of the matrix is not read: zeros come in its
/// place.
template <int COUNT, class T>
__device__ inline void copy_async(T* to, const T* from, bool inside = true) {
  constexpr size_t BYTES = COUNT * sizeof(T);
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "the hardware copies 4, 8 or 16 bytes");
  if constexpr (sizeof(T) == 2)  // for tensor cores: one instruction, whatever `inside` is
    ptx::copy_async<BYTES>(to, from, inside);
  else
    __pipeline_memcpy_async(to, from, BYTES, inside ? 0 : BYTES);
}

/// The same of 16-bit elements of which the matrix has the first `count`, 0 to COUNT: the others
/// are not read, and zeros come in their place.
template <int COUNT, class T>
__device__ inline void copy_async_part(T* to, const T* from, int count) {
  static_assert(sizeof(T) == 2 && (COUNT == 2 || COUNT == 4 || COUNT == 8), "4, 8 or 16 bytes");
  ptx::copy_async_part<COUNT * sizeof(T)>(to, from, count * static_cast<int>(sizeof(T)));
}

}  // namespace tutorial
