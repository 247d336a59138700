#pragma once

#include <cstdint>

namespace tutorial::exercise {

/// y[i] = a·x[i] + y[i] for i = 0 … n - 1, in float32. x and y have n elements in global memory.
/// Any n, also 0 and numbers that no block size divides.
void axpy(int64_t n, float a, const float* x, float* y);

}  // namespace tutorial::exercise
