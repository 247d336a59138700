// The memory that kernels take with new and malloc. It lies at the end of the device's range of
// addresses, so that the checks see it as global memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/simulator/device/device.hpp"

namespace simulator {

inline constexpr size_t kHeapSpan = size_t{1}
                                    << (kIsSmallWorld ? 26 : 33);  // addresses, not memory

inline bool is_heap_address(const void* address) {
  return reinterpret_cast<uintptr_t>(address) - (device_begin() + kDeviceSpan - kHeapSpan) <
         kHeapSpan;
}

/// Null when the heap's limit is reached, as in CUDA.
void* heap_allocate(size_t bytes);
/// `instruction` is the caller's, for a report of what is no live block of the heap.
void heap_free(void* block, const void* instruction);

/// The live block, or the freed one, that holds the address; or one of 0 bytes.
Allocation heap_block(const void* address);
Allocation freed_heap_block(const void* address);
/// The live block before it, or else behind it.
Allocation nearest_heap_block(const void* address);

/// cudaLimitMallocHeapSize. False when the value is too large.
bool set_heap_limit(size_t bytes);
size_t heap_limit();

}  // namespace simulator
