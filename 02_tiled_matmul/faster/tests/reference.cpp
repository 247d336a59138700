// The reference by another way, and its bound: neither too small nor too large.
#include <cmath>

#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"
#include "common/testing/testing.hpp"
#include "faster/faster.hpp"

namespace tutorial::tiled_matmul::faster {

TEST_CASE("the reference adds up all terms, exactly, with the bound of its derivation",
          "[reference]") {
  const int64_t M = 3, N = 5, K = 61;
  const std::vector<float> A = full_mantissas(M * K, 1), B = full_mantissas(K * N, 2),
                           before = full_mantissas(M * N, 3), factors = full_mantissas(2, 4);
  std::vector<Derived> want;
  for (int64_t e = 0; e < M * N; ++e) {
    LongSum sum;
    for (int64_t k = 0; k < K; ++k) sum.add(Long{factors[0]} * A[e / N * K + k], B[k * N + e % N]);
    sum.add(factors[1], before[e]);
    want.push_back({sum.value, 3 * sum.rounding(), gamma_of(K + 2) * sum.magnitude});
  }
  check_derived(reference(A, B, N, K, all_rows(M), factors[0], factors[1], before), want);
}

// alpha·sum and + beta·C round, too.
TEST_CASE("float32 sums with alpha and beta keep the bound, and come near to it", "[reference]") {
  const float alpha = 1 + 0x1p-12f;
  const std::vector<float> before = {0x1p-24f};
  for (const int64_t K : {20, 300})
    check_bound_is_reached(
        lossy_dots(K),
        [&](const Dot& dot) { return std::fma(1.0f, before[0], alpha * sum_by_fma(dot)); },
        [&](const Dot& dot) {
          return reference(dot.a, dot.b, 1, K, all_rows(1), alpha, 1, before);
        },
        0.9);
}

}  // namespace tutorial::tiled_matmul::faster
