// Words of steps 3 to 5: a K that several blocks share.
#pragma once

#include "common/kernel/grid.hpp"
#include "common/kernel/shared_memory.hpp"

namespace tutorial::tiled_matmul::any_shape {

/// How deep each of `count` parts of K is: a multiple of `step`, and the last may be less.
inline int64_t depth_of_parts(int64_t K, int64_t count, int64_t step) {
  return ceil_div(ceil_div(K, count), step) * step;
}

/// C (M, N) = alpha · (part 0 + part 1 + …) + beta·C, always in this order: the same bits every
/// time. parts is (count, M, ld) with ld = N rounded up to a multiple of 4. Step 3 has it.
void add_parts(const float* parts, float* C, int64_t M, int64_t N, int64_t count, float alpha,
               float beta);

inline int multiprocessors() {
  return device_attribute(cudaDevAttrMultiProcessorCount);
}

}  // namespace tutorial::tiled_matmul::any_shape
