#pragma once

#include <cstdint>

namespace tutorial::exercise {

inline constexpr int HS = 32;  // head size

/// m[i] = max_j q[i]·k[j] over the keys that query i sees, j <= i + (Tk - Tq); -infinity for a
/// query that sees none. q is Tq × HS and k is Tk × HS, row-major float32 in global memory. Any Tq
/// and Tk, also 0.
void largest_scores(const float* q, const float* k, float* m, int64_t Tq, int64_t Tk);

}  // namespace tutorial::exercise
