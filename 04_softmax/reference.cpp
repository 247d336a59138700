#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "04_softmax.hpp"
#include "common/compare/softmax_error.hpp"

namespace tutorial::softmax {
namespace {

constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();

// NaN for a row that has a NaN or a +infinity, or nothing above -infinity.
double row_max(std::span<const float> x) {
  double max = -std::numeric_limits<double>::infinity();
  for (const float value : x) {
    if (std::isnan(value)) return NOT_A_NUMBER;
    max = std::max<double>(max, value);
  }
  return std::isinf(max) ? NOT_A_NUMBER : max;
}

void softmax_row(std::span<const float> x, double* value, double* bound) {
  const double max = row_max(x);
  double sum = 0;
  for (const float element : x) sum += std::exp(element - max);
  const double error = sum_error(static_cast<int64_t>(x.size()));
  for (size_t c = 0; c < x.size(); ++c) {
    const double d = max - x[c];
    value[c] = std::exp(-d) / sum;
    // exp(-infinity) is 0 without error, and where d is NaN no bound is used.
    bound[c] = std::isfinite(d) ? value[c] * (exp_error(d) + error) + SUBNORMAL_ERROR : 0.0;
  }
}

}  // namespace

Expected reference(std::span<const float> x, int64_t cols, std::span<const int64_t> rows) {
  Expected want{std::vector<double>(rows.size() * cols), std::vector<double>(rows.size() * cols)};
  for (size_t i = 0; i < rows.size(); ++i)
    softmax_row(x.subspan(rows[i] * cols, cols), want.value.data() + i * cols,
                want.bound.data() + i * cols);
  return want;
}

Expected expected_row_sums(std::span<const float> x, int64_t cols) {
  Expected want;
  if (cols == 0) return want;
  const auto n = static_cast<size_t>(cols);
  // The bounds of a row added up, where again Σ y·d <= ln n; and row_sums() rounds to float.
  const double log_n = std::log(static_cast<double>(n));
  const double bound =
      exp_error(log_n) + sum_error(cols) + static_cast<double>(n) * SUBNORMAL_ERROR + 0x1p-24;
  for (size_t start = 0; start < x.size(); start += n) {
    want.value.push_back(std::isnan(row_max(x.subspan(start, n))) ? NOT_A_NUMBER : 1.0);
    want.bound.push_back(bound);
  }
  return want;
}

std::vector<float> row_sums(std::span<const float> y, int64_t cols) {
  std::vector<float> sums;
  if (cols == 0) return sums;
  for (size_t start = 0; start < y.size(); start += static_cast<size_t>(cols)) {
    const auto row = y.subspan(start, static_cast<size_t>(cols));
    sums.push_back(static_cast<float>(std::accumulate(row.begin(), row.end(), 0.0)));
  }
  return sums;
}

}  // namespace tutorial::softmax
