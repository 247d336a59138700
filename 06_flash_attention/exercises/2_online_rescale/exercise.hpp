#pragma once

#include <cstdint>

namespace tutorial::exercise {

inline constexpr int HS = 16;  // head size

/// O = P·V, where row i of P is the softmax of row i of S. S is Tq × Tk, V is Tk × HS and O is
/// Tq × HS, row-major float32 in global memory. Any Tq and Tk, also 0. A score of -infinity is
/// masked; none is NaN or +infinity. A query whose keys are all masked, or that has none, gives
/// zeros.
void weighted_values(const float* S, const float* V, float* O, int64_t Tq, int64_t Tk);

}  // namespace tutorial::exercise
