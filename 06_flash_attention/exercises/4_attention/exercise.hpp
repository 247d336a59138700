#pragma once

#include <cstdint>

namespace tutorial::exercise {

inline constexpr int HS = 32;  // head size

/// Causal attention: out[i] = Σ_j p_ij · v[j] over the keys j <= i, where p_i is the softmax of the
/// scores q[i]·k[j] / √HS. q, k, v and out are heads × T × HS, row-major float32 in global memory.
/// Any T, also 0, and up to 65535 heads. All elements are finite.
void attention(const float* q, const float* k, const float* v, float* out, int64_t heads,
               int64_t T);

}  // namespace tutorial::exercise
