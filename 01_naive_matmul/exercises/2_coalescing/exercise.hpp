#pragma once

#include <cstdint>

namespace tutorial::exercise {

/// C = Aᵀ·B in float32: A is K×M, B is K×N and C is M×N, all row-major in global memory. So
/// C[i][j] is the sum of A[k][i]·B[k][j] over k, and 0 if K = 0. Any size up to 32·65535 rows of C
/// (a grid has at most 65535 blocks in y), also 0.
void transposed_product(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K);

}  // namespace tutorial::exercise
