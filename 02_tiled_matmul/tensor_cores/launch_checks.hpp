// What the launchers of this part ask of the device before they launch.
#pragma once

#include <string>

#include "common/kernel/error.hpp"
#include "common/kernel/shared_memory.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

/// Throws Error where tensor cores do not take bf16, which began with compute capability 8.0, or
/// where a block cannot have so much shared memory: the least that the step can do with.
inline void require_device(const char* step, int64_t shared_bytes = 0) {
  if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 8)
    throw Error(std::string(step) +
                " needs tensor cores that take bf16, of compute capability 8.0 or newer; take the "
                "steps of 02_tiled_matmul");
  require_shared_memory(shared_bytes, step, "take --kernel swizzled");
}

}  // namespace tutorial::tiled_matmul::tensor_cores
