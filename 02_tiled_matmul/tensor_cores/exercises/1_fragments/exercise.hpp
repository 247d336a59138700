#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace tutorial::exercise {

/// C = A·B with A (M×K) and B (K×N) in bf16 and C (M×N) in float32, all row-major in global memory.
/// The products are added up in float32 by tensor cores. With K = 0 C is all zeros. Any size up to
/// 64·65535 rows of C (a grid has at most 65535 blocks in y), also 0.
void fragment_product(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int64_t M,
                      int64_t N, int64_t K);

}  // namespace tutorial::exercise
