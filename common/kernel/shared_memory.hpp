// How much shared memory a block may have on the device at hand, and which of a step's tiles that
// allows.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "common/kernel/check.hpp"
#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"

namespace tutorial {

/// Launchers take the device to have no more than that. No constant, for the tests' sake:
/// SmallSharedMemory (testing.hpp) lowers it, and the tiles for smaller devices run on any device.
inline int64_t shared_memory_cap = std::numeric_limits<int64_t>::max();

/// The most shared memory, in bytes, that a block may have on this device if its kernel asks: 64 KB
/// with compute capability 7.5, 99 KB with 8.6, 8.9 and 12.0, 163 KB with 8.0, 227 KB with 9.0 and
/// 10.0 (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
inline int64_t shared_memory_limit() {
  return std::min<int64_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                           shared_memory_cap);
}

/// The rule for tiles: the first one that fits. Calls launch.operator()<Tile>() with the first of
/// the tiles, named from the largest to the smallest, whose Tile::BYTES are within `limit`; with
/// the last one if none is, which allow_shared_memory() then refuses.
template <class Tile, class... Smaller, class Launch>
void with_first_that_fits(int64_t limit, const Launch& launch) {
  if constexpr (sizeof...(Smaller) > 0)
    if (Tile::BYTES > limit) return with_first_that_fits<Smaller...>(limit, launch);
  launch.template operator()<Tile>();
}

/// Throws DeviceTooSmall where a block may not have so much shared memory. `whose` needs it, and
/// `instead` is what to do: "head size 256", "take --kernel q_outer".
inline void require_shared_memory(int64_t bytes, const std::string& whose,
                                  const std::string& instead) {
  const int64_t limit = shared_memory_limit();
  if (bytes > limit)
    throw DeviceTooSmall(whose + " needs " + std::to_string(bytes) +
                         " bytes of shared memory a block; this device allows " +
                         std::to_string(limit) + ": " + instead + ".");
}

/// Lets `kernel` have so many bytes of dynamic shared memory a block: more than 48 KB must be asked
/// for. A launcher that has called require_shared_memory() before needs no words; too many bytes
/// are an error of CUDA's.
template <class... Parameters>
void allow_shared_memory(void (*kernel)(Parameters...), int64_t bytes) {
  CUDA_CHECK(bytes > shared_memory_cap
                 ? cudaErrorInvalidValue
                 : cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)));
}
/// The same for others: throws as require_shared_memory() does.
template <class... Parameters>
void allow_shared_memory(void (*kernel)(Parameters...), int64_t bytes, const std::string& whose,
                         const std::string& instead) {
  require_shared_memory(bytes, whose, instead);
  allow_shared_memory(kernel, bytes);
}

}  // namespace tutorial
