// What the programs of the chapter and of its part share: how a result is checked, and the copy
// that stands beside the steps.
#pragma once

#include "04_softmax.hpp"
#include "common/program/row.hpp"

namespace tutorial::softmax {

/// Every element where the host can afford it; else every element of some rows, and the sum of
/// every row, which a NaN spoils as well.
struct Wanted {
  int64_t rows, cols;
  std::vector<int64_t> some;
  Expected elements;  // of these rows
  Expected sums;      // of all
};
Wanted wanted(std::span<const float> x, int64_t rows, int64_t cols, uint64_t seed);
/// Of a row of the table whose output is y.
Comparison compare(const Launched& row, const Wanted& want);

/// No library has this softmax as one call. What stands beside the steps is a copy: the same bytes
/// and no arithmetic. It is checked as a copy.
Row plain_copy(const float* x, int64_t rows, int64_t cols);
Comparison compare_copy(const Launched& row, std::span<const float> x);

}  // namespace tutorial::softmax
