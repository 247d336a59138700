#include <cmath>

#include "common/data/narrow.hpp"
#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

using e4m3 = __nv_fp8_e4m3;

struct Problem {
  int64_t m, n;
  std::vector<e4m3> A, B, C;
  Problem(int64_t rows, int64_t others) : m(rows), n(others) {
    A = narrowed<e4m3>(make_values({m, K}, Init::normal, 1));
    B = narrowed<e4m3>(make_values({n, K}, Init::normal, 2));
    C = narrowed<e4m3>(make_values({n, D}, Init::normal, 3));
  }
};

/// One wgmma may cut 2^-13 of the largest magnitude of each of 33 addends, and of the sum; S is
/// rounded to e4m3, by at most 2^-4 of it, or by half of e4m3's smallest number.
Expected products(const Problem& p) {
  constexpr double CUT = 34 * 0x1p-13;
  Expected want;
  want.value.assign(p.m * D, 0);
  want.bound.assign(p.m * D, 0);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      double s = 0, magnitude = 0;
      for (int64_t x = 0; x < K; ++x) {
        const double product = double{float{p.A[i * K + x]}} * float{p.B[j * K + x]};
        s += product;
        magnitude += std::abs(product);
      }
      const double error = CUT * magnitude + 0x1p-4 * std::abs(s) + 0x1p-10;
      const double cuts = CUT * static_cast<double>((p.n + 31) / 32);
      for (int64_t d = 0; d < D; ++d) {
        const double c = float{p.C[j * D + d]};
        want.value[i * D + d] += s * c;
        want.bound[i * D + d] += std::abs(c) * (error + 2 * cuts * (std::abs(s) + error));
      }
    }
  return want;
}

void skip_without_wgmma() {
  if (const std::string reason = why_not_here("sm_90a"); !reason.empty()) SKIP(reason);
}

}  // namespace

TEST_CASE("y = (A·Bᵀ)·C, of any number of rows") {
  skip_without_wgmma();
  struct Shape {
    int64_t m, n;
  };
  const auto [m, n] = GENERATE(Shape{64, 32}, Shape{1, 1}, Shape{64, 64}, Shape{100, 50},
                               Shape{5, 9}, Shape{70, 3}, Shape{3, 0}, Shape{0, 3});
  CAPTURE(m, n);
  const Problem p(m, n);
  const DeviceBuffer<e4m3> A(p.A), B(p.B), C(p.C);
  check_launch([&](float* y) { two_products(A.data(), B.data(), C.data(), y, m, n); }, products(p),
               {.name = "y", .rows = m, .cols = D, .tile = tile_in_any_order(64, D)});
}

TEST_CASE("the budget: S stays in registers") {
  skip_without_wgmma();
  const Problem p(64, 64);
  const DeviceBuffer<e4m3> A(p.A), B(p.B), C(p.C);
  DeviceBuffer<float> y(64 * D);
  const Counts counts =
      counts_for_budget([&] { two_products(A.data(), B.data(), C.data(), y.data(), 64, 64); });
  // A byte a lane: 64 rows of A; twice 32 of B, and of C's 64 columns 32 each.
  check_budget("stores to shared memory", counts.shared_stores.requests, 64 + 2 * (32 + 64));
  check_budget("loads from shared memory", counts.shared_loads.requests, 0);
}

}  // namespace tutorial::exercise
