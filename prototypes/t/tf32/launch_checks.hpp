// What the launchers of this part ask of the device before they launch.
#pragma once

#include <string>

#include "common/kernel/check.hpp"
#include "common/kernel/error.hpp"

namespace tutorial::tiled_matmul::tf32 {

inline int device_attribute(cudaDeviceAttr attribute) {
  int device, value;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

/// Throws Error where tensor cores do not take TF32, which began with compute capability 8.0.
inline void require_tf32(const char* step) {
  if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 8)
    throw Error(std::string(step) +
                " needs tensor cores that take TF32, of compute capability 8.0 or newer; take a "
                "step of the chapter's own problem");
}

/// Lets a kernel have so much dynamic shared memory a block. Throws Error where the device has
/// less.
template <class... Parameters>
void allow_shared_memory(void (*kernel)(Parameters...), int bytes, const char* step) {
  const int allowed = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (bytes > allowed)
    throw DeviceTooSmall(std::string(step) + " needs " + std::to_string(bytes) +
                         " bytes of shared memory a block, and this device allows " +
                         std::to_string(allowed) + "; take --kernel three_products");
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

}  // namespace tutorial::tiled_matmul::tf32
