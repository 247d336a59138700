// What the backward pass's launchers need before they launch.
#pragma once

#include <string>

#include "backward/backward.hpp"
#include "common/kernel/error.hpp"
#include "common/kernel/shared_memory.hpp"
#include "common/kernel/vector4.cuh"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::backward {

/// Throws Error for a head size above 128, the most that steps with sums in registers have tiles
/// for.
inline void require_head_size(int64_t HS, const char* step) {
  if (HS > 128)
    throw Error("head size " + std::to_string(HS) + " is too large for " + step +
                ", which keeps its sums in registers and takes at most 128; take --kernel "
                "unfused.");
}

/// Lets a kernel of `step` have so much shared memory a block. Throws Error where the device does
/// not.
template <class... Parameters>
void allow_bytes(void (*kernel)(Parameters...), int64_t bytes, const char* step) {
  tutorial::allow_shared_memory(kernel, bytes, step, "take --kernel unfused");
}

/// gridDim.x where a block has `size` keys of a head.
inline unsigned key_blocks(const Attention& shape, int64_t size) {
  return grid_blocks(shape.B * shape.NH_kv * ceil_div(shape.Tk, size));
}

/// Whether 16 bytes can be copied at a time: all rows begin at multiples of 16 bytes.
inline bool rows_begin_aligned(const Attention& shape, const Tensors& at) {
  for (const float* tensor : {at.q, at.k, at.v, at.dout})
    if (!rows_are_aligned(tensor, shape.HS)) return false;
  for (const float* tensor : {at.dq, at.dk, at.dv})
    if (!rows_are_aligned(tensor, shape.HS)) return false;
  return true;
}

}  // namespace tutorial::flash_attention::backward
