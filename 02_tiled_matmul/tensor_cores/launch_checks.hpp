// What the launchers of this part ask of the device before they launch.
#pragma once

#include <string>

#include "common/kernel/error.hpp"
#include "common/kernel/shared_memory.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

/// Throws Error where tensor cores do not take bf16, which began with compute capability 8.0, or
/// where a block cannot have so much shared memory: the least that the step can do with.
inline void require_device(const char* step, int64_t shared_bytes = 0) {
  if (compute_capability() < 80)
    throw Error(std::string(step) +
                " needs tensor cores that take bf16, of compute capability 8.0 or newer; take "
                "02_tiled_matmul/fp16");
  require_shared_memory(shared_bytes, step, "take --kernel swizzled");
}

/// Throws Error for an epilogue, or for any layout but that of one product A·B without gaps.
inline void require_no_epilogue(const Bf16Product& product, const char* step) {
  if (has_epilogue(product))
    throw Error(std::string(step) +
                " stores the sums as they are; for alpha, beta, a bias or an activation take step "
                "epilogue of part hopper");
}
inline void require_plain(const Bf16Product& product, const char* step) {
  require_no_epilogue(product, step);
  if (!is_plain(product))
    throw Error(std::string(step) +
                " takes one product A·B of matrices without gaps; take step layouts, of part "
                "tensor_cores or hopper");
}

}  // namespace tutorial::tiled_matmul::tensor_cores
