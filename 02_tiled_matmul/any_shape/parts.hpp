// Words of the steps: what lies in the workspace, and a K that several blocks share.
#pragma once

#include "common/kernel/device.hpp"
#include "common/kernel/grid.hpp"
#include "faster/faster.hpp"

namespace tutorial::tiled_matmul::any_shape {

/// How much of K counts: with alpha = 0, as in SGEMM, what A and B hold does not matter.
inline int64_t depth_of(const faster::ScaledProduct& product) {
  return product.alpha == 0 ? 0 : product.K;
}

/// Rows of step 2's copy of B, and of a part, begin so many floats apart: all at multiples of 16
/// bytes.
inline int64_t aligned_ld(int64_t N) {
  return ceil_div(N, 4) * 4;
}
/// The floats of a copy of B, and of `count` parts. One part is none: it goes to C at once.
inline int64_t floats_of_copy(const faster::ScaledProduct& product) {
  return product.K * aligned_ld(product.N);
}
inline int64_t floats_of_parts(const faster::ScaledProduct& product, int64_t count) {
  return count > 1 ? count * product.M * aligned_ld(product.N) : 0;
}

/// How deep each of `count` parts of K is: a multiple of `step`, and the last may be less.
inline int64_t depth_of_parts(int64_t K, int64_t count, int64_t step) {
  return ceil_div(ceil_div(K, count), step) * step;
}

/// C (M, N) = alpha · (part 0 + part 1 + …) + beta·C, always in this order: the same bits every
/// time. parts is (count, M, aligned_ld(N)). Step 3 has it.
void add_parts(const faster::ScaledProduct& product, const float* parts, float* C, int64_t count,
               cudaStream_t stream);

}  // namespace tutorial::tiled_matmul::any_shape
