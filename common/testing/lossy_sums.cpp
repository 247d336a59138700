#include "common/testing/lossy_sums.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace tutorial {
namespace {

/// first·first, then terms of rest_a·rest_b.
Dot dot_of(int64_t terms, float first, float rest_a, float rest_b) {
  Dot dot{std::vector<float>(static_cast<size_t>(terms), rest_a),
          std::vector<float>(static_cast<size_t>(terms), rest_b)};
  if (terms > 0) dot.a[0] = dot.b[0] = first;
  return dot;
}

/// Cuts off what is below `step`, a power of two.
double cut(double x, double step) {
  return std::trunc(x / step) * step;
}

}  // namespace

std::vector<Dot> lossy_dots(int64_t terms) {
  constexpr float HALF = 0x1p-12f;  // its square is half a unit in the last place of 1
  std::vector<Dot> dots;
  for (const float sign : {1.0f, -1.0f}) {
    dots.push_back(dot_of(terms, 1, sign * HALF, HALF));                   // a tie: 1 stays
    dots.push_back(dot_of(terms, 1, sign * HALF * (1 + 0x1p-23f), HALF));  // more: rounded up
    dots.push_back(dot_of(terms, 1, sign * HALF / 2, HALF));               // the same below 1
    dots.push_back(dot_of(terms, 1 + 0x1p-12f, sign * HALF, HALF));  // and the first one's bit
  }
  return dots;
}

std::vector<Dot> lossy_dots_if_cut(int64_t terms) {
  constexpr float NEARLY_1 = 1 - 0x1p-8f;
  std::vector<Dot> dots;
  for (const float sign : {1.0f, -1.0f}) {
    dots.push_back(dot_of(terms, 1, sign * 0x1p-11f * NEARLY_1, 0x1p-12f));
    dots.push_back(dot_of(terms, 1, sign * 0x1p-12f * NEARLY_1, 0x1p-12f));
    dots.push_back(dot_of(terms, NEARLY_1, sign * 0x1p-12f * NEARLY_1, 0x1p-12f * NEARLY_1));
  }
  return dots;
}

float sum_by_fma(const Dot& dot) {
  float sum = 0;
  for (size_t k = 0; k < dot.a.size(); ++k) sum = std::fma(dot.a[k], dot.b[k], sum);
  return sum;
}

double cut_and_added(const std::vector<double>& terms) {
  double largest = 0, sum = 0;
  for (const double term : terms) largest = std::max(largest, std::abs(term));
  if (largest == 0) return 0;
  const double step = std::ldexp(1.0, std::ilogb(largest) - 23);
  for (const double term : terms) sum += cut(term, step);
  return sum == 0 ? 0 : cut(sum, std::ldexp(1.0, std::ilogb(sum) - 23));
}

float sum_by_cutting(const Dot& dot) {
  double sum = 0;
  for (size_t k = 0; k < dot.a.size(); k += 4) {
    std::vector<double> terms = {sum};
    for (size_t t = k; t < std::min(k + 4, dot.a.size()); ++t)
      terms.push_back(double{dot.a[t]} * dot.b[t]);
    sum = cut_and_added(terms);
  }
  return static_cast<float>(sum);
}

float rough_exp(float x, int direction) {
  const double exact = std::exp(double{x});
  if (exact == 0) return 0;
  const double units = std::trunc(2 + 1.17 * std::abs(x));
  return static_cast<float>(exact + direction * units * std::ldexp(1.0, std::ilogb(exact) - 23));
}

void check_bound_is_reached(const std::vector<Dot>& dots,
                            const std::function<float(const Dot&)>& sum,
                            const std::function<Expected(const Dot&)>& reference, double part) {
  double most = 0;
  for (const Dot& dot : dots) {
    const Expected want = reference(dot);
    REQUIRE(want.value.size() == 1);
    const double error = std::abs(sum(dot) - want.value[0]);
    CAPTURE(dot.a.size(), dot.a, dot.b);
    CHECK(error <= want.bound[0]);
    most = std::max(most, error / want.bound[0]);
  }
  CAPTURE(dots.front().a.size(), most);
  CHECK(most >= part);
}

}  // namespace tutorial
