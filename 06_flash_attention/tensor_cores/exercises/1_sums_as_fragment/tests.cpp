#include <cmath>

#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

using bf16 = __nv_bfloat16;

struct Problem {
  int64_t m, n;
  std::vector<bf16> A, B, C;
  Problem(int64_t rows, int64_t others) : m(rows), n(others) {
    A = narrowed<bf16>(make_values({m, K}, Init::normal, 1));
    B = narrowed<bf16>(make_values({n, K}, Init::normal, 2));
    C = narrowed<bf16>(make_values({n, K}, Init::normal, 3));
  }
};

/// A sum on tensor cores cuts off at most 2^-23 of the magnitudes twice for each product; S is
/// rounded to bf16, by at most 2^-8 of it.
Expected products(const Problem& p) {
  const auto sum_error = [](int64_t products) { return gamma_bound(2 * products, 0x1p-23); };
  Expected want;
  want.value.assign(p.m * K, 0);
  want.bound.assign(p.m * K, 0);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      double s = 0, magnitude = 0;
      for (int64_t x = 0; x < K; ++x) {
        const double product = double{float{p.A[i * K + x]}} * float{p.B[j * K + x]};
        s += product;
        magnitude += std::abs(product);
      }
      const double error = sum_error(K) * magnitude + 0x1p-8 * std::abs(s);
      for (int64_t d = 0; d < K; ++d) {
        const double c = float{p.C[j * K + d]};
        want.value[i * K + d] += s * c;
        want.bound[i * K + d] += std::abs(c) * (error + 2 * sum_error(p.n) * (std::abs(s) + error));
      }
    }
  return want;
}

void skip_without_tensor_cores() {
  if (const std::string reason = why_not_here("sm_80"); !reason.empty()) SKIP(reason);
}

}  // namespace

TEST_CASE("y = (A·Bᵀ)·C, of any number of rows") {
  skip_without_tensor_cores();
  struct Shape {
    int64_t m, n;
  };
  const auto [m, n] = GENERATE(Shape{16, 16}, Shape{1, 1}, Shape{16, 48}, Shape{37, 50},
                               Shape{5, 100}, Shape{40, 3}, Shape{3, 0}, Shape{0, 3});
  CAPTURE(m, n);
  const Problem p(m, n);
  const DeviceBuffer<bf16> A(p.A), B(p.B), C(p.C);
  check_launch([&](float* y) { two_products(A.data(), B.data(), C.data(), y, m, n); }, products(p),
               {.name = "y", .rows = m, .cols = K, .tile = tile_in_any_order(16, 16)});
}

TEST_CASE("the budget: S stays in registers, and no read has a bank conflict") {
  skip_without_tensor_cores();
  const Problem p(32, 64);
  const DeviceBuffer<bf16> A(p.A), B(p.B), C(p.C);
  DeviceBuffer<float> y(32 * K);
  const Counts counts =
      counts_for_budget([&] { two_products(A.data(), B.data(), C.data(), y.data(), 32, 64); });
  // Two blocks, each with 16 rows of A, and of B and C 4 times 16: 8 stores of a warp each.
  check_budget("stores to shared memory", counts.shared_stores.requests, 2 * (1 + 2 * 4) * 8);
  check_budget("bank conflicts of loads", counts.shared_loads.conflicts, 0);
}

}  // namespace tutorial::exercise
