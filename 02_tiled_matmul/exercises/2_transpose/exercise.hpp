#pragma once

#include <cstdint>

namespace tutorial::exercise {

/// B = Aᵀ: A is rows × cols and B is cols × rows, both row-major float32 in global memory. Any
/// size up to 32·65535 rows (a grid has at most 65535 blocks in y), also 0.
void transpose(const float* A, float* B, int64_t rows, int64_t cols);

}  // namespace tutorial::exercise
