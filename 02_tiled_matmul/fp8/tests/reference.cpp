// The reference itself, and its bound.
#include <cmath>

#include "fp8/tests/check_step.hpp"

namespace tutorial::tiled_matmul::fp8 {

TEST_CASE("fp8: the reference is right where it is known") {
  const int64_t M = 3, N = 4, K = 300;
  Operand A = {std::vector<float>(M * K, 0.0f), {2, 4, 8, 1, 1, 1, 16, 32, 64}, {1, SCALED}};
  Operand B = {make_values({N, K}, Init::normal, 3), {0.5f, 1, 0.25f}, {SCALED, SCALED}};
  for (int64_t m = 0; m < M; ++m) A.values[m * K + 100 * m] = 3;  // k = 0, 100, 200
  const Expected got = reference(A, B, {M, N, K}, all_rows(M), OF_BLOCKS | SHORT_SUMS);
  const double scales[] = {2 * 0.5, 4 * 0.5, 1 * 1};
  for (int64_t m = 0; m < M; ++m)
    for (int64_t n = 0; n < N; ++n)
      CHECK(got.value[m * N + n] == scales[m] * 3.0 * B.values[n * K + 100 * m]);
}

// The bound of one product, of 32 and of more: the number of cuts that the comment counts.
TEST_CASE("fp8: the bound counts the cuts") {
  const Operand one = {{1.0f}, {1.0f}, {1, 1}};
  const auto bound_of = [&](int64_t K, unsigned features) {
    const Operand X = {std::vector<float>(K, 1.0f), std::vector<float>(K, 1.0f), {1, K}};
    return reference(X, X, {1, 1, K}, all_rows(1), features).bound[0];
  };
  const double rounding = 0x1p-8;  // of C to bf16, of itself and of its bound
  const auto check = [&](double got, double C, double cuts) {
    CAPTURE(got, C, cuts);
    CHECK(got > 0x1p-13 * cuts + 0.99 * rounding * C);
    CHECK(got < 1.02 * (0x1p-13 * cuts + rounding * C));
  };
  check(bound_of(1, OF_ROWS), 1, 33 + 1);  // the product is the largest, and the sum
  check(bound_of(32, OF_ROWS), 32, 33 + 32);
  check(bound_of(64, OF_ROWS), 64, 33 + 32 + 33 * 32 + 64);
  // Two sums of 128 are short: the second does not see the first.
  const double of_128 = 33 + 32 + 33 * 32 + 64 + 33 * 64 + 96 + 33 * 96 + 128;
  check(bound_of(256, OF_ROWS | SHORT_SUMS), 256, 2 * of_128);
}

}  // namespace tutorial::tiled_matmul::fp8
