#include "common/compare/compare.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "common/compare/failure.hpp"
#include "common/data/random.hpp"

namespace tutorial {
namespace {

Comparison compare_checked(const detail::Checked& checked) {
  const int64_t cols = checked.layout.cols;
  Comparison result;
  bool any_error = false;
  std::vector<int64_t> wrong;
  for (size_t row = 0; row < checked.rows.size(); ++row) {
    const float* got = checked.got.data() + checked.rows[row] * cols;
    const double* want = checked.want.value.data() + static_cast<int64_t>(row) * cols;
    const double* bound = checked.want.bound.data() + static_cast<int64_t>(row) * cols;
    for (int64_t col = 0; col < cols; ++col) {
      if (!matches(got[col], want[col], bound[col]))
        wrong.push_back(static_cast<int64_t>(row) * cols + col);
      const double error = std::abs(got[col] - want[col]);
      if (std::isfinite(error) && (error > result.max_error || !any_error)) {
        any_error = true;
        result.max_error = error;
        result.bound = bound[col];
      }
    }
  }
  result.wrong = static_cast<int64_t>(wrong.size());
  result.ok = wrong.empty();
  if (!result.ok) result.report = detail::failure_report({checked, std::move(wrong)});
  return result;
}

/// A mistake in a test or a chapter, not in a kernel.
void require_sizes(std::span<const float> got, const Expected& want, int64_t checked_rows,
                   const Layout& layout) {
  const size_t expected = static_cast<size_t>(checked_rows * layout.cols);
  if (got.size() != static_cast<size_t>(layout.batch * layout.rows * layout.cols) ||
      want.value.size() != expected || want.bound.size() != expected)
    throw std::logic_error("compare: the sizes of got, want and layout do not fit");
}

}  // namespace

double gamma_bound(int64_t terms, double unit) {
  const double total = static_cast<double>(terms) * unit;
  return total < 1 ? total / (1 - total) : INFINITY;
}

Expected in_bf16(Expected want) {
  for (size_t i = 0; i < want.value.size(); ++i)
    want.bound[i] += 0x1p-8 * (std::abs(want.value[i]) + want.bound[i]) + 0x1p-134;
  return want;
}

Expected in_fp16(Expected want) {
  for (size_t i = 0; i < want.value.size(); ++i) {
    double& value = want.value[i];
    want.bound[i] += 0x1p-11 * (std::abs(value) + want.bound[i]) + 0x1p-25;
    if (std::abs(value) >= 65520) value = std::copysign(INFINITY, value);
  }
  return want;
}

Comparison compare(std::span<const float> got, const Expected& want, const Layout& layout) {
  std::vector<int64_t> rows(static_cast<size_t>(layout.batch * layout.rows));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return compare_rows(got, want, rows, layout);
}

Comparison compare_rows(std::span<const float> got, const Expected& want,
                        std::span<const int64_t> rows, const Layout& layout) {
  require_sizes(got, want, static_cast<int64_t>(rows.size()), layout);
  return compare_checked({got, want, rows, layout});
}

// One row from each of `count` equal parts, so that no region is left out.
std::vector<int64_t> sample_rows(int64_t total, int64_t count, uint64_t seed) {
  count = std::min(std::max<int64_t>(count, 0), total);
  const std::vector<float> random = make_values({count}, Init::uniform, seed);
  std::vector<int64_t> rows(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = i * total / count, end = (i + 1) * total / count;
    const double part = (random[i] + 1.0) / 2;  // in [0, 1)
    rows[i] = begin + static_cast<int64_t>(part * static_cast<double>(end - begin));
  }
  if (count > 0) rows.front() = 0;
  if (count > 1) rows.back() = total - 1;
  return rows;
}

}  // namespace tutorial
