#pragma once

#include <cstdint>

namespace tutorial::exercise {

/// C = A·Bᵀ in float32: A is M×K, B is N×K and C is M×N, all row-major in global memory. So does a
/// linear layer multiply its inputs, the rows of A, with its weights, a row of B for each output.
/// With K = 0 C is all zeros. Any size up to 16·65535 rows of C (a grid has at most 65535 blocks in
/// y), also 0. An infinity or a NaN in a row of A or of B shows in that row or column of C, as it
/// would in a plain sum.
void linear(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K);

}  // namespace tutorial::exercise
