#include "check_and_copy.hpp"

#include <algorithm>
#include <cstring>

#include "common/kernel/check.hpp"

namespace tutorial::softmax {

Wanted wanted(std::span<const float> x, int64_t rows, int64_t cols, uint64_t seed) {
  const auto elements = static_cast<int64_t>(affordable(1 << 23));
  const std::vector<int64_t> some =
      sample_rows(rows, elements / std::max<int64_t>(cols, 1) + 2, seed);
  return {rows, cols, some, reference(x, cols, some), expected_row_sums(x, cols)};
}

Comparison compare(const Launched& row, const Wanted& want) {
  const Comparison elements = compare_rows(row.output, want.elements, want.some, row.layout);
  if (!elements.ok) return elements;
  const Comparison sums = compare(row_sums(row.output, want.cols), want.sums,
                                  {.name = "row sum", .rows = want.rows, .cols = 1});
  return sums.ok ? elements : sums;
}

Row plain_copy(const float* x, int64_t rows, int64_t cols) {
  const auto bytes = static_cast<size_t>(rows * cols) * sizeof(float);
  return {.name = "plain copy of x",
          .launch =
              [=](float* y) { CUDA_CHECK(cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice)); },
          .cost = {.flop = 0, .bytes = 2 * static_cast<double>(bytes)},
          .is_stage = true};
}

Comparison compare_copy(const Launched& row, std::span<const float> x) {
  Comparison result;
  result.ok = std::memcmp(row.output.data(), x.data(), x.size_bytes()) == 0;
  if (!result.ok) result.report = "  the copy differs from x";
  return result;
}

}  // namespace tutorial::softmax
