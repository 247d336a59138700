// The device at hand.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <limits>

#include "common/kernel/check.hpp"

namespace tutorial {

/// What cudaDeviceGetAttribute says of it.
inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

/// Its compute capability, as nvcc writes it: 75 for 7.5, 90, 120.
inline int compute_capability() {
  return 10 * device_attribute(cudaDevAttrComputeCapabilityMajor) +
         device_attribute(cudaDevAttrComputeCapabilityMinor);
}

/// Launchers take it to have no more multiprocessors than that; for the tests' sake
/// (FewMultiprocessors in testing.hpp).
inline int multiprocessor_cap = std::numeric_limits<int>::max();

inline int multiprocessors() {
  return std::min(device_attribute(cudaDevAttrMultiProcessorCount), multiprocessor_cap);
}

}  // namespace tutorial
