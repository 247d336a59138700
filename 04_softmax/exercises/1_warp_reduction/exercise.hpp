#pragma once

#include <cstdint>

namespace tutorial::exercise {

/// y[row][lane] = the largest element of row `row` of x, for each of the 32 lanes. x is rows × cols
/// and y is rows × 32, both row-major float32 in global memory. Any size, also 0. Elements may be
/// -infinity, none is NaN; a row of -infinity alone gives -infinity, and so does one without
/// columns.
void row_max(const float* x, float* y, int64_t rows, int64_t cols);

}  // namespace tutorial::exercise
