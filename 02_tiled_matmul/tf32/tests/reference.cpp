// The reference by another way, and its bound: neither too small nor too large.
#include <algorithm>
#include <cmath>

#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"
#include "common/testing/testing.hpp"
#include "tf32/tf32.hpp"

namespace tutorial::tiled_matmul::tf32 {
namespace {

/// What a step makes of one product: three, four terms at a time.
Dot split(const Dot& dot) {
  const std::vector<float> a_high = rounded_to_tf32(dot.a), b_high = rounded_to_tf32(dot.b);
  const auto low = [](float x, float high) {
    const float rest = x - high;  // of which 11 bits are taken
    if (rest == 0) return 0.0f;
    const float last = std::ldexp(1.0f, std::ilogb(rest) - 10);
    return std::trunc(rest / last) * last;
  };
  Dot terms;
  for (size_t first = 0; first < dot.a.size(); first += 8)
    for (int product = 0; product < 3; ++product)
      for (size_t k = first; k < std::min(first + 8, dot.a.size()); ++k) {
        terms.a.push_back(product == 0 ? low(dot.a[k], a_high[k]) : a_high[k]);
        terms.b.push_back(product == 1 ? low(dot.b[k], b_high[k]) : b_high[k]);
      }
  return terms;
}

/// Of each of the three products nearly a unit in the last place of 1 is cut off.
Dot lossy_dot(int64_t terms) {
  constexpr float LOW = 0x7p-14f;  // 7/8 of the most that rounding leaves
  // 73·7 = 511: 9 ones behind what is kept of the product of the high ones.
  Dot dot{std::vector<float>(terms, 0x1p-6f * (1 + 73 * 0x1p-10f + LOW)),
          std::vector<float>(terms, 0x1p-6f * (1 + 7 * 0x1p-10f + LOW))};
  dot.a[0] = dot.b[0] = 1;
  return dot;
}

}  // namespace

TEST_CASE("TF32: the reference adds up all products, with the bound of its derivation",
          "[reference]") {
  const int64_t M = 3, N = 5, K = 61, mmas = 8;
  const std::vector<float> A = full_mantissas(M * K, 1), B = full_mantissas(K * N, 2);
  const auto check = [&](unsigned products, Long relative) {
    check_derived(reference(A, B, N, K, all_rows(M), products),
                  derived_product({M, N, K}, A, B, relative));
  };
  check(ONE_PRODUCT, gamma_of(12 * mmas, 0x1p-23L));
  check(THREE_PRODUCTS, gamma_of(3 * 12 * mmas, 0x1p-23L) + 0x1p-22L + 2 * 0x1p-23L);
}

TEST_CASE("TF32: numbers are rounded to 11 bits, to nearest, ties away from zero", "[reference]") {
  const std::vector<float> values = full_mantissas(500, 1);
  const std::vector<float> got = rounded_to_tf32(values);
  for (size_t i = 0; i < values.size(); ++i) {
    const Long unit = std::ldexp(Long{1}, std::ilogb(values[i]) - 10);
    CHECK(got[i] == std::round(values[i] / unit) * unit);
  }
  CHECK(rounded_to_tf32(std::vector{1 + 0x1p-11f, -1 - 0x3p-11f}) ==
        std::vector{1 + 0x1p-10f, -1 - 0x2p-10f});
}

TEST_CASE("TF32: sums that are cut off keep the bound, and come near to it", "[reference]") {
  for (const int64_t K : {64, 300}) {
    const auto with = [&](unsigned products) {
      return [=](const Dot& dot) { return reference(dot.a, dot.b, 1, K, all_rows(1), products); };
    };
    check_bound_is_reached(lossy_dots_if_cut(K), sum_by_cutting, with(ONE_PRODUCT), 0.55);
    check_bound_is_reached(
        {lossy_dot(K)}, [](const Dot& dot) { return sum_by_cutting(split(dot)); },
        with(THREE_PRODUCTS), 0.55);
  }
}

// One product each: what is left of the operands is half of what they may lose, or more.
TEST_CASE("TF32: what three products leave out keeps its part of the bound, and comes near to it",
          "[reference]") {
  const double of_operands = 0x1p-21 * 1.001;
  double most = 0;
  for (const float bits : {0x1p-11f - 0x1p-23f, 0x1p-11f - 0x1p-22f, 0x1p-11f - 0x3p-23f})
    for (const float sign : {1.0f, -1.0f}) {
      const Dot one = {{1 + bits}, {1 + sign * bits}}, parts = split(one);
      Long left = Long{one.a[0]} * one.b[0];
      for (int p = 0; p < 3; ++p) left -= Long{parts.a[p]} * parts.b[p];
      const double error = std::abs(static_cast<double>(left));
      CHECK(error <= of_operands);
      CHECK(error <= relative_bound(1, THREE_PRODUCTS) - relative_bound(1, ONE_PRODUCT));
      most = std::max(most, error / of_operands);
    }
  CHECK(most > 0.5);
}

}  // namespace tutorial::tiled_matmul::tf32
