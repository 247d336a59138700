#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace tutorial::exercise {

/// Any finite floats in fp16: narrow[i][k] is A[i][k] / scale[i], rounded to nearest even, where
/// scale[i] is the power of two that puts the largest magnitude of row i into [2^14, 2^15), or
/// 2^-126 where that would be less, and 1 for a row of zeros. A and narrow are m × n, row-major,
/// scale has m elements; all in global memory. Any size, also 0; a row without columns has scale 1.
void scale_rows(const float* A, __half* narrow, float* scale, int64_t m, int64_t n);

}  // namespace tutorial::exercise
