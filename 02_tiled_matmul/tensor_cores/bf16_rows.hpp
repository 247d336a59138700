// Words of this part: where the rows of a matrix begin, and so how much of them one access can
// move.
#pragma once

#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

inline constexpr int CHUNK = 8;  // elements of 16 bits in the 16 bytes that one access moves

/// Whether each row of X begins at a multiple of 16 bytes. Then no 16 bytes of a row reach over its
/// end.
template <class T>
bool rows_are_aligned(const T* X, int64_t cols) {
  return reinterpret_cast<uintptr_t>(X) % 16 == 0 && cols * sizeof(T) % 16 == 0;
}

/// From step 11 on: the most elements of rows of X that one copy can bring, 8, 4, 2 or 1.
inline int copy_width(const bf16* X, int64_t cols) {
  for (int width : {8, 4, 2})
    if (reinterpret_cast<uintptr_t>(X) % (2 * width) == 0 && cols % width == 0) return width;
  return 1;
}

}  // namespace tutorial::tiled_matmul::tensor_cores
