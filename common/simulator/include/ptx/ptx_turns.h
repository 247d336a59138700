// Loads and additions that order others, on the CPU: what common/backend/include/ptx_turns.h is on
// a GPU.
#pragma once

#include <device_functions.h>

namespace ptx {

__forceinline__ unsigned load_acquire(const unsigned* from) {
  const unsigned value = atomicAdd(const_cast<unsigned*>(from), 0u);
  __threadfence();
  return value;
}
__forceinline__ void add_release(unsigned* to) {
  __threadfence();
  atomicAdd(to, 1u);
}

}  // namespace ptx
