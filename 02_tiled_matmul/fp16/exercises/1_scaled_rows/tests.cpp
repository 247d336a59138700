#include <algorithm>
#include <cmath>

#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr Tile ROWS{.rows = 4, .cols = 1 << 30, .thread_rows = 0, .x_down = true};

/// Rows from 2^-140 to 2^126, each with its largest number at another column; every eighth is of
/// zeros, and some largest numbers are powers of two or just below one.
std::vector<float> rows_of_all_sizes(int64_t m, int64_t n) {
  std::vector<float> A = make_values({m, n}, Init::uniform, 1);
  for (int64_t i = 0; i < m && n > 0; ++i) {
    const auto row = A.begin() + i * n;
    const int exponent = static_cast<int>(i * 37 % 267) - 140;
    row[i * 11 % n] = i % 3 == 0 ? -1 : i % 3 == 1 ? std::nextafter(2.0f, 0.0f) : 1.5f;
    std::for_each(row, row + n, [&](float& x) { x = i % 8 == 7 ? 0 : std::ldexp(x, exponent); });
  }
  return A;
}

struct Scaled {
  Expected narrow, scale;
};

/// Exact: a scale is a power of two, and __half rounds to nearest even.
Scaled scaled(const std::vector<float>& A, int64_t m, int64_t n) {
  Scaled want;
  for (int64_t i = 0; i < m; ++i) {
    double most = 0;
    for (int64_t k = 0; k < n; ++k) most = std::max(most, std::abs(double{A[i * n + k]}));
    const int exponent = most == 0 ? 0 : std::max(std::ilogb(most) - 14, -126);
    want.scale.value.push_back(std::ldexp(1, exponent));
    for (int64_t k = 0; k < n; ++k) {
      // What float32 cannot hold of it is far below what fp16 rounds to zero.
      const float quotient = static_cast<float>(std::ldexp(A[i * n + k], -exponent));
      want.narrow.value.push_back(static_cast<float>(__half(quotient)));
    }
  }
  want.scale.bound.assign(want.scale.value.size(), 0);
  want.narrow.bound.assign(want.narrow.value.size(), 0);
  return want;
}

}  // namespace

TEST_CASE("each row fits fp16 by its own scale") {
  const int64_t m = GENERATE(41, 4, 1, 0), n = GENERATE(32, 64, 1, 31, 33, 97, 0);
  CAPTURE(m, n);
  const std::vector<float> A = rows_of_all_sizes(m, n);
  const Scaled want = scaled(A, m, n);
  const DeviceBuffer<float> in(A);
  DeviceBuffer<float> other_scale(m);
  DeviceBuffer<__half> other_narrow(m * n);
  check_launch([&](__half* narrow) { scale_rows(in.data(), narrow, other_scale.data(), m, n); },
               want.narrow, {.name = "narrow", .rows = m, .cols = n, .tile = ROWS});
  check_launch([&](float* scale) { scale_rows(in.data(), other_narrow.data(), scale, m, n); },
               want.scale, {.name = "scale", .rows = m, .cols = 1, .tile = ROWS});
}

TEST_CASE("the budget: a row is read twice, and neither shared memory nor a barrier is used") {
  constexpr int64_t M = 8, N = 96;
  const DeviceBuffer<float> A(rows_of_all_sizes(M, N));
  DeviceBuffer<__half> narrow(M * N);
  DeviceBuffer<float> scale(M);
  const Counts counts =
      counts_for_budget([&] { scale_rows(A.data(), narrow.data(), scale.data(), M, N); });
  check_budget("loads and stores of shared memory",
               counts.shared_loads.requests + counts.shared_stores.requests, 0);
  check_budget("barriers", counts.barriers, 0);
  // A warp's 32 floats are 4 sectors, its 32 numbers in fp16 two, and a scale is one.
  check_sectors("loaded", counts.loads, 2 * M * N / 32 * 4);
  check_sectors("stored", counts.stores, M * N / 32 * 2 + M);
}

}  // namespace tutorial::exercise
