#pragma once

#include <cuda_fp8.h>

#include <cstdint>

namespace tutorial::exercise {

inline constexpr int K = 32;  // columns of A and B
inline constexpr int D = 64;  // columns of C and y

/// y = S·C, S = A·Bᵀ rounded to e4m3. A is m × 32, B is n × 32, C is n × 64, y is m × 64, row-major
/// in global memory; A, B and C are e4m3, y is float32. Any m and n, also 0.
void two_products(const __nv_fp8_e4m3* A, const __nv_fp8_e4m3* B, const __nv_fp8_e4m3* C, float* y,
                  int64_t m, int64_t n);

}  // namespace tutorial::exercise
