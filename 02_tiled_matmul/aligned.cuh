// The rule for 16-byte accesses, of steps 4 to 7.
#pragma once

#include <cstdint>

namespace tutorial {

/// Whether 16-byte accesses are possible: every row must begin at a multiple of 16 bytes. Then the
/// number of columns is a multiple of four, so that no group of four reaches over the edge.
inline bool rows_are_aligned(const float* X, int64_t cols) {
  return reinterpret_cast<uintptr_t>(X) % 16 == 0 && cols % 4 == 0;
}

}  // namespace tutorial
