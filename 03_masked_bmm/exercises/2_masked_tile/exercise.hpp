#pragma once

#include <cstdint>

namespace tutorial::exercise {

/// C = A·B where the mask keeps, `fill` elsewhere, in float32: A is M×K, B is K×N, C and the mask
/// are M×N, all row-major in global memory. A nonzero byte of the mask keeps the element; under 0
/// it equals `fill` exactly, whatever the product is there (NaN, say). Any size up to 16·65535 rows
/// of C (a grid has at most 65535 blocks in y), also 0.
void masked_product(const float* A, const float* B, const uint8_t* mask, float fill, float* C,
                    int64_t M, int64_t N, int64_t K);

}  // namespace tutorial::exercise
