// The reference by another way, and its bound: neither too small nor too large.
#include <algorithm>
#include <cmath>

#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"
#include "common/testing/testing.hpp"
#include "joint/joint.hpp"

namespace tutorial::flash_attention::joint {

TEST_CASE("joint: the reference adds up all products, with the bound of its derivation",
          "[reference]") {
  const int64_t m = 3, n = 41, k = 19;
  const std::vector<float> A = full_mantissas(m * k, 1), B = full_mantissas(k * n, 2),
                           C = full_mantissas(n * k, 3);
  std::vector<Derived> want;
  for (int64_t e = 0; e < m * k; ++e) {
    LongSum y;
    for (int64_t j = 0; j < n; ++j)
      for (int64_t x = 0; x < k; ++x)
        y.add(Long{A[e / k * k + x]} * B[x * n + j], C[j * k + e % k]);
    want.push_back({y.value, y.rounding(), gamma_of(n + k) * y.magnitude});
  }
  check_derived(reference(A, B, C, n, k, all_rows(m)), want);
}

// Each element of ỹ loses half a unit with every term, and then their sum does.
TEST_CASE("joint: float32 sums keep the bound, and come near to it", "[reference]") {
  const int64_t n = 60, k = 40;
  double most = 0;
  for (const Dot& inner : lossy_dots(k))
    for (const Dot& outer : lossy_dots(n)) {
      std::vector<float> B(k * n), C(n * k, 0.0f);
      float got = 0;
      for (int64_t j = 0; j < n; ++j) {
        Dot column = inner;
        for (int64_t x = 0; x < k; ++x) B[x * n + j] = column.b[x] *= outer.a[j];
        C[j * k] = outer.b[j];
        got = std::fma(sum_by_fma(column), outer.b[j], got);
      }
      const Expected want = reference(inner.a, B, C, n, k, all_rows(1));
      const double error = std::abs(got - want.value[0]);
      CHECK(error <= want.bound[0]);
      most = std::max(most, error / want.bound[0]);
    }
  CAPTURE(most);
  CHECK(most > 0.9);
}

}  // namespace tutorial::flash_attention::joint
