// What launchers need before they launch: limits of the device, and the constant of the scores.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_flash_attention.hpp"

namespace tutorial::flash_attention {

/// 1/√HS, which the scores are multiplied by.
float score_scale(const Attention& shape);

/// Throws Error when the device does not allow a block so much shared memory; `what` and `size` say
/// whose need it is: "head size", 64.
void require_shared_memory(int64_t bytes, const char* what, int64_t size);

/// Lets `kernel` have `bytes` of dynamic shared memory a block: more than 48 KB must be asked for.
/// Throws Error as require_shared_memory does.
void allow_shared_memory(const void* kernel, int64_t bytes, const char* what, int64_t size);
template <class... Parameters>
void allow_shared_memory(void (*kernel)(Parameters...), int64_t bytes, const char* what,
                         int64_t size) {
  allow_shared_memory(reinterpret_cast<const void*>(kernel), bytes, what, size);
}

/// gridDim.x for so many blocks. Throws Error above 2^31 − 1.
unsigned grid_blocks(int64_t blocks);

// ---- from step 3 on: a thread's rows of O are in registers, so the compiler has to know the head
// size

/// Throws Error for a head size above `largest`: first what the device refuses, `bytes` of shared
/// memory, then what the registers of kernel `step` do.
[[noreturn]] void refuse_head_size(int64_t HS, const char* step, int64_t bytes,
                                   int64_t largest = 128);

/// Calls launch with D, the least of 32, 64, 128 that holds the head size, as a compile-time
/// constant; refuses a larger one, whose tiles would need bytes(HS) of shared memory.
template <class Launch>
void with_padded_head_size(int64_t HS, const char* step, int64_t (*bytes)(int64_t HS),
                           const Launch& launch) {
  if (HS <= 32) return launch.template operator()<32>();
  if (HS <= 64) return launch.template operator()<64>();
  if (HS <= 128) return launch.template operator()<128>();
  refuse_head_size(HS, step, bytes(HS));
}

/// gridDim.x where a block has Br queries of a head.
unsigned query_blocks(const Attention& shape, int64_t Br);

}  // namespace tutorial::flash_attention
