#pragma once

#include <cstdint>

namespace tutorial::exercise {

/// L[row] = log Σ exp(S[row][key]) over the row's keys. S is rows × keys, row-major float32 in
/// global memory, and L has `rows` elements. Any size, also 0. Scores may be of any magnitude, and
/// -infinity; none is NaN or +infinity. A row of -infinity alone gives -infinity, and so does one
/// without keys.
void log_sum_exp(const float* S, float* L, int64_t rows, int64_t keys);

}  // namespace tutorial::exercise
