// What launchers need before they launch: limits of the device, and the constant of the scores.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "06_flash_attention.hpp"
#include "common/kernel/shared_memory.hpp"

namespace tutorial::flash_attention {

/// 1/√HS, which the scores are multiplied by.
float score_scale(const Attention& shape);

/// Lets `kernel` have `bytes` of dynamic shared memory a block: more than 48 KB must be asked for.
/// `what` and `size` say whose need it is: "head size", 64. Throws DeviceTooSmall when the device
/// does not allow a block so much.
template <class... Parameters>
void allow_shared_memory(void (*kernel)(Parameters...), int64_t bytes, const char* what,
                         int64_t size) {
  tutorial::allow_shared_memory(
      kernel, bytes, what + (" " + std::to_string(size)),
      size <= 256 ? "take a smaller one, or ./learn run 06/any_shape --kernel by_shape"
                  : "take a smaller one");
}

/// gridDim.x for so many blocks. Throws Error above 2^31 − 1.
unsigned grid_blocks(int64_t blocks);

/// gridDim.x where a block has Br queries of a head.
unsigned query_blocks(const Attention& shape, int64_t Br);

// ---- from step 3 on: how many columns a tile has, the compiler has to know

/// Throws Error for a head size above `largest`, the most columns that tiles of
/// kernel `step` have.
void require_head_size(int64_t HS, const char* step, int64_t largest);

/// Calls launch with D, the least of 32, 64, 128 that holds the head size, as a compile-time
/// constant; refuses a larger one.
template <class Launch>
void with_padded_head_size(int64_t HS, const char* step, const Launch& launch) {
  require_head_size(HS, step, 128);
  if (HS <= 32) return launch.template operator()<32>();
  if (HS <= 64) return launch.template operator()<64>();
  launch.template operator()<128>();
}

}  // namespace tutorial::flash_attention
