#pragma once

#include <cstdint>

namespace tutorial::exercise {

/// C[b] = A[b]·B[b] for b = 0 … batch - 1 in float32, all row-major in global memory. A[b] is M×K
/// and begins `stride_a` floats after A[b - 1]; B[b] is K×N, with `stride_b`. What lies between two
/// matrices is no part of the problem; stride 0 is one matrix for all of the batch. C has batch
/// matrices of M×N, one after the other without gaps.
///
/// Any size up to 8·65535 rows (a grid has at most 65535 blocks in y), also 0; any batch.
void batched_product(int64_t batch, int64_t M, int64_t N, int64_t K, const float* A,
                     int64_t stride_a, const float* B, int64_t stride_b, float* C);

}  // namespace tutorial::exercise
