// What the launchers of this part ask of the device before they launch.
#pragma once

#include <string>

#include "common/kernel/error.hpp"
#include "common/kernel/shared_memory.hpp"

namespace tutorial::tiled_matmul::tf32 {

/// Throws Error where tensor cores do not take TF32, which began with compute capability 8.0, or
/// where a block cannot have so much shared memory.
inline void require_tf32(const char* step, int64_t shared_bytes = 0) {
  if (compute_capability() < 80)
    throw Error(std::string(step) +
                " needs tensor cores that take TF32, of compute capability 8.0 or newer; take a "
                "step of the chapter's own problem");
  require_shared_memory(shared_bytes, step, "take --kernel three_products");
}

}  // namespace tutorial::tiled_matmul::tf32
