// Words of the steps: a K that several blocks share.
#pragma once

#include "common/kernel/check.hpp"
#include "common/kernel/device.hpp"
#include "common/kernel/grid.hpp"
#include "few_rows/few_rows.hpp"

namespace tutorial::tiled_matmul::few_rows {

/// How deep each of `count` parts of K is: a multiple of `step`, and the last may be less.
inline int64_t depth_of_parts(int64_t K, int64_t count, int64_t step) {
  return ceil_div(ceil_div(K, count), step) * step;
}

/// So many parts of sums, (count, M, N) floats, or nullptr where there is one, which goes to C at
/// once. Where they find no room, `count` becomes 1.
inline float* take_parts(const Bf16Product& product, int64_t& count, Workspace& workspace) {
  float* const parts = count > 1 ? workspace.take<float>(count * product.M * product.N) : nullptr;
  if (parts == nullptr) count = 1;
  return parts;
}

/// C (M, N) = part 0 + part 1 + …, always in this order: the same bits every time. Step 2 has it.
void add_parts(const Bf16Product& product, const float* parts, Output C, int64_t count,
               cudaStream_t stream);

}  // namespace tutorial::tiled_matmul::few_rows
