#include "common/testing/derived.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "common/data/random.hpp"

namespace tutorial {

std::vector<float> full_mantissas(int64_t count, uint64_t seed) {
  std::vector<float> values = make_values({count}, Init::uniform, seed);  // in steps of 2^-23
  for (float& value : values) {
    const auto bits = static_cast<uint32_t>((value + 1) * 0x1p23f);  // 24 of them, at random
    const auto mantissa = static_cast<float>((bits >> 3 | 1) & 0x7fffff) * 0x1p-23f;
    const float sign = (bits & 1) != 0 ? -1.0f : 1.0f;
    value = std::ldexp(sign * (1 + mantissa), -static_cast<int>(bits >> 1 & 3));
  }
  return values;
}

std::vector<Derived> derived_product(ProductShape shape, const std::vector<float>& A,
                                     const std::vector<float>& B, Long relative) {
  std::vector<Derived> want;
  for (int64_t i = 0; i < shape.M; ++i)
    for (int64_t j = 0; j < shape.N; ++j) {
      LongSum sum;
      for (int64_t k = 0; k < shape.K; ++k)
        sum.add(A[static_cast<size_t>(i * shape.K + k)], B[static_cast<size_t>(k * shape.N + j)]);
      want.push_back({sum.value, sum.rounding(), relative * sum.magnitude});
    }
  return want;
}

void check_derived(const Expected& got, const std::vector<Derived>& want, Long most) {
  constexpr Long LITTLE = 1e-6L;  // the bound itself is computed in double
  REQUIRE(got.value.size() == want.size());
  REQUIRE(got.bound.size() == want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const Long off = std::abs(got.value[i] - want[i].value);
    if (!(off <= want[i].rounding))
      FAIL_CHECK("element " << i << " of the reference is " << got.value[i] << ", off by "
                            << static_cast<double>(off) << ": double's rounding explains "
                            << static_cast<double>(want[i].rounding));
    if (!(got.bound[i] >= want[i].bound * (1 - LITTLE) && got.bound[i] <= want[i].bound * most))
      FAIL_CHECK("element " << i << " of the reference has the bound " << got.bound[i]
                            << "; its derivation gives " << static_cast<double>(want[i].bound));
  }
}

}  // namespace tutorial
