// The reference by another way, and its bound: neither too small nor too large.
#include <algorithm>
#include <cmath>

#include "common/compare/softmax_error.hpp"
#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"
#include "tests/check_step.hpp"

namespace tutorial::softmax {
namespace {

constexpr Long U = 0x1p-24L;

/// exp of a rounded difference: d·u; __expf: 2 + 1.2·d units in the last place of 2u each. (What
/// the header rounds up: 3.4·d to 4·d.)
Long derived_exp_error(Long d) {
  return (4 + 3.4L * d) * U;
}
/// A term's n additions, and 5 roundings for each of the maxima that it meets; its exp, of which
/// the weighted d is at most ln n; two roundings of the division.
Long derived_sum_error(int64_t n) {
  return gamma_of(6 * n) + derived_exp_error(std::log(static_cast<Long>(n))) + 2 * U;
}

std::vector<Derived> derived_row(const std::vector<float>& x) {
  const Long m = *std::ranges::max_element(x), n = x.size();
  Long sum = 0;
  for (const float value : x) sum += std::exp(value - m);
  std::vector<Derived> want;
  for (const float value : x) {
    const Long d = m - value, y = std::exp(-d) / sum;
    want.push_back({y, y * (n + 8 + 2 * d) * 0x1p-53L + 0x1p-1074L,
                    y * (derived_exp_error(d) + derived_sum_error(x.size())) + 0x1p-147L});
  }
  return want;
}

/// Rows in which a float32 softmax loses much: all that comes after the first term is half a unit
/// of the sum; the maximum rises, or falls, with each number, a little or much.
std::vector<std::vector<float>> lossy_rows(size_t n) {
  std::vector<std::vector<float>> rows(1, std::vector<float>(n, -16.63553f));  // ln 2^-24
  rows[0][0] = 0;
  for (const float step : {0x1p-20f, -0x1p-20f, 0.1f, -0.1f, 3.0f}) {
    rows.emplace_back(n);
    for (size_t i = 0; i < n; ++i) rows.back()[i] = step * static_cast<float>(i);
  }
  rows.push_back(full_mantissas(static_cast<int64_t>(n), 1));
  for (float& value : rows.back()) value *= 8;
  return rows;
}

/// As step online computes it, where every exp is off in the direction that hurts: the weights in
/// one, what the sum has in the other.
std::vector<float> rough_softmax(const std::vector<float>& x, int direction) {
  float max = x[0], sum = 1;
  for (size_t i = 1; i < x.size(); ++i) {
    if (x[i] > max) sum *= rough_exp(max - x[i], -direction);
    max = std::max(max, x[i]);
    sum += x[i] == max ? 1 : rough_exp(x[i] - max, -direction);
  }
  std::vector<float> y;
  for (const float value : x) y.push_back(rough_exp(value - max, direction) * (1 / sum));
  return y;
}

}  // namespace

TEST_CASE("the reference is exact, with the bound of its derivation", "[reference]") {
  for (const size_t n : {1, 2, 37, 300})
    for (const std::vector<float>& x : lossy_rows(n)) {
      const int64_t cols = static_cast<int64_t>(n);
      check_derived(whole_reference(x, 1, cols), derived_row(x));
      const Long of_sum = derived_exp_error(std::log(static_cast<Long>(n))) +
                          derived_sum_error(cols) + static_cast<Long>(n) * 0x1p-147L + U;
      check_derived(expected_row_sums(x, cols), {{1, 0, of_sum}});
    }
}

// A sixth of the bound: that each of n terms meets n maxima can be true of the first one alone, and
// few roundings are as large as they can be.
TEST_CASE("float32 softmaxes keep the bound, and come near to it", "[reference]") {
  for (const size_t n : {1, 40, 300}) {
    const int64_t cols = static_cast<int64_t>(n);
    double most = 0, most_of_sums = 0;
    for (const std::vector<float>& x : lossy_rows(n))
      for (const int direction : {-1, 1}) {
        const std::vector<float> y = rough_softmax(x, direction);
        const Expected want = whole_reference(x, 1, cols), of_sums = expected_row_sums(x, cols);
        for (size_t i = 0; i < n; ++i) {
          const double error = std::abs(y[i] - want.value[i]);
          CHECK(error <= want.bound[i]);
          most = std::max(most, error / want.bound[i]);
        }
        const double error = std::abs(row_sums(y, cols)[0] - of_sums.value[0]);
        CHECK(error <= of_sums.bound[0]);
        most_of_sums = std::max(most_of_sums, error / of_sums.bound[0]);
      }
    CAPTURE(n, most, most_of_sums);
    CHECK(most > 0.15);
    CHECK(most_of_sums > 0.15);
  }
}

// Of the part of exp alone, for numbers far below the maximum.
TEST_CASE("exp keeps its part of the bound, and comes near to it", "[reference]") {
  for (const float d : {0.7f, 5.0f, 20.0f, 80.0f}) {
    double most = 0;
    const std::vector<float> maxima = full_mantissas(300, 1);
    for (const float max : maxima)
      for (const int direction : {-1, 1}) {
        const float x = static_cast<float>(16.0 * max - d);
        const double exact = 16.0 * double{max} - double{x};
        const float rounded = 16 * max - x;
        const double error = std::abs(rough_exp(-rounded, direction) / std::exp(-exact) - 1);
        CHECK(error <= exp_error(exact));
        most = std::max(most, error / exp_error(exact));
      }
    CAPTURE(d, most);
    CHECK(most > 0.3);  // 0.8 for large d
  }
}

}  // namespace tutorial::softmax
