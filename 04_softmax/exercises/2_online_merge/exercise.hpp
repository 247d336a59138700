#pragma once

#include <cstdint>

namespace tutorial::exercise {

/// y[row] = (m, s): the row's maximum m, and s = Σ exp(element - m). x is rows × cols and y is
/// rows × 2, both row-major float32 in global memory. Any size, also 0. Elements may be -infinity,
/// none is NaN or +infinity; a row of -infinity alone gives (-infinity, 0), and so does one without
/// columns.
void row_pairs(const float* x, float* y, int64_t rows, int64_t cols);

}  // namespace tutorial::exercise
