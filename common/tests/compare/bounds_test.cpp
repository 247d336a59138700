// The bounds that all chapters share: neither too small nor too large.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "common/data/narrow.hpp"
#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"

namespace tutorial {

TEST_CASE("numbers for references have all 24 bits in use, and both signs", "[reference]") {
  const std::vector<float> values = full_mantissas(1000, 1);
  const auto negative = std::ranges::count_if(values, [](float x) { return x < 0; });
  CHECK((negative > 400 && negative < 600));
  for (const float x : values) {
    CHECK((std::abs(x) >= 0.125f && std::abs(x) < 2));
    CHECK(std::fmod(std::ldexp(std::abs(x), 23 - std::ilogb(x)), 2) == 1);
  }
}

TEST_CASE("sums that lose much lose as much as gamma_bound allows, or nearly", "[reference]") {
  for (const int64_t n : {1, 20, 300})
    check_bound_is_reached(
        lossy_dots(n), sum_by_fma,
        [&](const Dot& dot) {
          return product_reference({1, 1, n}, dot.a, dot.b);
        },
        0.9);
}

// By hand: 1 and three of 1.5 units in its last place, of which one is kept each time.
TEST_CASE("tensor cores' sums are cut off, not rounded", "[reference]") {
  CHECK(cut_and_added({1, 0x3p-24, 0x3p-24, 0x3p-24}) == 1 + 0x3p-23);
  CHECK(cut_and_added({-1, -0x3p-24, 0x1p-24}) == -1 - 0x1p-23);
  CHECK(cut_and_added({1, 1, 0x1p-23, 0x1p-30}) == 2);  // the result has one bit less
  CHECK(cut_and_added({0, 0}) == 0);
  CHECK(cut_and_added({1, -1}) == 0);
}

TEST_CASE("rounding to 16 bits keeps in_bf16() and in_fp16(), and reaches them", "[reference]") {
  double most_of_bf16 = 0, most_of_fp16 = 0;
  const auto check = [](double got, double x, const Expected& want, double& most) {
    const double error = std::abs(got - x);
    CHECK(error <= want.bound[0]);
    most = std::max(most, error / want.bound[0]);
  };
  // Among them numbers in the middle between two of bf16, and of fp16.
  for (const float x : {1 + 0x1p-8f, 1 + 0x1p-11f, 1.5f, 3 - 0x1p-8f, 0.3f, 1e-3f})
    for (const double off : {0.0, 1e-4}) {
      const Expected bf16 = in_bf16({{x}, {off}}), fp16 = in_fp16({{x}, {off}});
      const auto kernels = static_cast<float>(x + off);
      check(static_cast<float>(__nv_bfloat16(kernels)), x, bf16, most_of_bf16);
      check(static_cast<float>(__half(kernels)), x, fp16, most_of_fp16);
      const Long largest = Long{x} + off;
      check_derived(bf16, {{x, 0, off + largest * 0x1p-8L + 0x1p-134L}});
      check_derived(fp16, {{x, 0, off + largest * 0x1p-11L + 0x1p-25L}});
    }
  CHECK(most_of_bf16 > 0.95);
  CHECK(most_of_fp16 > 0.95);
}

// Of one column a row's sum is off by as much as its element. Of many the errors come with random
// signs: seven standard deviations are allowed for, of which a search over seeds finds two.
TEST_CASE("float32 products keep Freivalds' bound, and come near to it", "[reference]") {
  for (const int64_t N : {1, 100})
    for (const int64_t K : {40, 300}) {
      double most = 0;
      for (const Dot& dot : lossy_dots(K))
        for (uint64_t seed = 0; seed < 20; ++seed) {
          std::vector<float> B;
          for (const float b : dot.b) B.insert(B.end(), static_cast<size_t>(N), b);
          const std::vector<float> C(static_cast<size_t>(N), sum_by_fma(dot));
          const Comparison got = freivalds(dot.a, B, C, 1, N, K, seed, {.rows = 1, .cols = N});
          CHECK(got.ok);
          if (got.bound > 0) most = std::max(most, got.max_error / got.bound);

          LongSum size, a, b;
          for (size_t k = 0; k < dot.a.size(); ++k) {
            size.add(dot.a[k], dot.b[k]);
            a.add(dot.a[k], dot.a[k]);
            b.add(dot.b[k], dot.b[k]);
          }
          const Long columns = static_cast<Long>(N), all = size.magnitude * columns,
                     spread = 7 * std::sqrt(a.value * b.value * columns);
          check_derived({{0}, {got.bound}}, {{0, 0, gamma_of(K) * std::min(all, spread)}});
        }
      CAPTURE(N, K, most);
      CHECK(most > (N == 1 ? 0.9 : 0.2));
    }
}

}  // namespace tutorial
