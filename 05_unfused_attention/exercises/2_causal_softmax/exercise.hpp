#pragma once

#include <cstdint>

namespace tutorial::exercise {

/// P = the softmax of each row of S over the keys that its query sees, and exact zeros beyond:
/// query i sees key j if j <= i + (Tk - Tq). So the last query sees all keys, and for Tq = Tk this
/// is chapter 05's mask, j <= i; a query that sees no key has a row of zeros. S and P are (heads,
/// Tq, Tk), row-major float32 in global memory. Any size, also 0. The scores that are seen are
/// finite; what stands at the others may be anything, NaN too.
void causal_softmax(const float* S, float* P, int64_t heads, int64_t Tq, int64_t Tk);

}  // namespace tutorial::exercise
