// The simulated device: its properties, its memory and the error state of the runtime.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/backend.hpp"
#include "runtime_api.h"

namespace simulator {

inline constexpr size_t kSharedPerBlock = 48 * 1024;        // without opt-in
inline constexpr size_t kSharedPerBlockOptin = 227 * 1024;  // as on sm_90
inline constexpr int kMultiprocessors = 132;

// ---- Memory. All of it lies in one range of addresses, so that an access is classified by two
// comparisons. Each allocation has pages of its own that end where it ends, and pages that nobody
// may touch around them.

inline constexpr uintptr_t kDeviceSpan = uintptr_t{1} << 38;
/// Where the range begins.
uintptr_t device_begin();
inline bool is_device_address(const void* address) {
  return reinterpret_cast<uintptr_t>(address) - device_begin() < kDeviceSpan;
}

struct Allocation {
  uintptr_t begin = 0;
  size_t bytes = 0;
};
/// The live allocation that holds this address, or one of 0 bytes.
Allocation find_allocation(const void* address);
/// The live allocation nearest to the address, or one of 0 bytes when there is none.
Allocation nearest_allocation(const void* address);

// ---- Errors of the runtime, per host thread

void set_last_error(cudaError_t error);
/// A kernel's fault shows at cudaGetLastError, or else at the next call that waits for the device.
void set_kernel_fault(cudaError_t error);

// ---- Kernels

/// The dynamic shared memory that a launch of this kernel may ask for, when it has `fixed` bytes of
/// static shared memory: what is left of 48 KB, or what cudaFuncSetAttribute allowed.
size_t dynamic_shared_limit(const void* kernel, size_t fixed);

tutorial::Work counted_work();
void reset_work();

}  // namespace simulator
