// What a profiler of a GPU is told; here there is none to tell.
#pragma once

#include "cuda_runtime_api.h"

inline cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
inline cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}
