// The reference of step epilogue by another way, and its bound: neither too small nor too large.
#include <algorithm>
#include <cmath>

#include "common/testing/derived.hpp"
#include "common/testing/testing.hpp"
#include "hopper/hopper.hpp"

namespace tutorial::tiled_matmul::hopper {
namespace {

constexpr Long U = 0x1p-24L;

Long gelu(Long x) {
  const Long u = std::sqrt(2 / std::acos(Long{-1})) * (x + 0.044715L * x * x * x);
  return x / (1 + std::exp(-2 * u));
}

/// Sums 0.1 apart from -6 on, each with this bound.
Expected sums_with(double bound) {
  Expected sums;
  for (int i = 0; i < 120; ++i) sums.value.push_back(-6 + 0.1 * i);
  sums.bound.assign(sums.value.size(), bound);
  return sums;
}

}  // namespace

TEST_CASE("hopper: the reference of the epilogue is exact, with the bound of its derivation",
          "[reference]") {
  const Expected sums = sums_with(0x1p-20);
  const std::vector<float> bias = full_mantissas(120, 1), before = full_mantissas(120, 2);
  Bf16Product product = {.M = 1, .N = 120, .alpha = 0.7f, .beta = -1.3f};
  for (const Activation act : {Activation::none, Activation::gelu}) {
    product.act = act;
    std::vector<Derived> want;
    for (size_t i = 0; i < 120; ++i) {
      LongSum sum;
      sum.add(product.alpha, sums.value[i]);
      sum.add(product.beta, before[i]);
      sum.add(bias[i]);
      Derived one = {sum.value, sum.rounding(), product.alpha * Long{0x1p-20L}};
      one.bound += gamma_of(3) * (sum.magnitude + one.bound);
      if (act == Activation::gelu) {
        // v = 2·√(2/π)·(|x| + 0.044715·|x|³), of the largest |x| that a kernel may have
        const Long most = std::abs(one.value) + one.bound;
        const Long v = 1.5957691216L * (most + 0.044715L * most * most * most);
        one.rounding = 2 * (one.rounding + 8 * 0x1p-53L * std::abs(one.value));
        one.value = gelu(one.value);
        one.bound *= 1.13L;
        one.bound += (9 + 8.4L * v) * U * (std::abs(one.value) + one.bound);
      }
      want.push_back(one);
    }
    check_derived(with_epilogue(sums, product, bias, before), want);
  }
}

// alpha·sum is a tie, and so is each addition: three half units are lost.
TEST_CASE("hopper: the bound of alpha, beta and bias is kept, and reached", "[reference]") {
  const float half = 1 + 0x1p-12f, little = 0x1p-24f;
  const float got = (half * half + little) + little;
  const Expected want = with_epilogue({{half}, {0}}, {.M = 1, .N = 1, .alpha = half, .beta = 1},
                                      std::vector{little}, std::vector{little});
  const double error = std::abs(got - want.value[0]);
  CHECK(error <= want.bound[0]);
  CHECK(error >= 0.95 * want.bound[0]);
}

// In float32, with exp and the division as far off as CUDA allows, in the worst direction. (The
// roundings of v are what they are: they seldom all go the same way, so a fifth of the bound.)
TEST_CASE("hopper: the bound of GELU is kept, and reached", "[reference]") {
  double most = 0;
  for (const float x : full_mantissas(4000, 1)) {
    const Expected want =
        with_epilogue({{4 * x}, {0}}, {.M = 1, .N = 1, .act = Activation::gelu}, {});
    const float y = 4 * x, v = 1.5957691216f * (y + 0.044715f * y * y * y);
    const double t = std::exp(-double{v});
    for (const int direction : {-1, 1}) {
      const double units = direction * (2 + 1.173 * std::abs(v));
      const auto exp = static_cast<float>(t + units * std::ldexp(1.0, std::ilogb(t) - 23));
      const double quotient = double{y} / (1 + exp);
      const double got = quotient - direction * 2 * std::ldexp(1.0, std::ilogb(quotient) - 23);
      const double error = std::abs(got - want.value[0]);
      CHECK(error <= want.bound[0]);
      most = std::max(most, error / want.bound[0]);
    }
  }
  CAPTURE(most);
  CHECK(most > 0.2);
}

}  // namespace tutorial::tiled_matmul::hopper
