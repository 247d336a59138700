#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace tutorial::exercise {

inline constexpr int K = 16;  // columns of A, B, C and y

/// y = S·C, S = A·Bᵀ rounded to bf16. A is m × 16, B and C are n × 16, y is m × 16, row-major in
/// global memory; A, B and C are bf16, y is float32. Any m and n, also 0.
void two_products(const __nv_bfloat16* A, const __nv_bfloat16* B, const __nv_bfloat16* C, float* y,
                  int64_t m, int64_t n);

}  // namespace tutorial::exercise
