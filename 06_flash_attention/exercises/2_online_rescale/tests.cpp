#include <algorithm>
#include <cmath>

#include "common/compare/softmax_error.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

/// Rows of each kind: random; rising, so that every tile has a new maximum; falling by more than
/// exp can undo; near -1000, from which exp(s - 0) would be 0, the first two thirds masked; masked
/// in the middle; masked throughout.
std::vector<float> every_kind(int64_t Tq, int64_t Tk) {
  std::vector<float> S = make_values({Tq, Tk}, Init::normal, 1);
  for (int64_t i = 0; i < Tq; ++i) {
    const auto row = S.begin() + i * Tk;
    for (int64_t j = 0; j < Tk; ++j) {
      const int64_t kind = i % 6, third = 3 * j / Tk;
      if (kind == 1) row[j] += static_cast<float>(j) / 4;
      if (kind == 2) row[j] -= static_cast<float>(j) * 8;
      if (kind == 3) row[j] = third < 2 ? -INFINITY : row[j] - 1000;
      if (kind == 5 || (kind == 4 && third == 1)) row[j] = -INFINITY;
    }
  }
  return S;
}

/// A weight is off by its exp's error and the sum's, as softmax_error.hpp has it; the sum over the
/// values has the roundings of that sum once more.
Expected reference(const std::vector<float>& S, const std::vector<float>& V, int64_t Tq,
                   int64_t Tk) {
  Expected want{std::vector<double>(Tq * HS), std::vector<double>(Tq * HS)};
  for (int64_t i = 0; i < Tq; ++i) {
    const auto row = S.begin() + i * Tk;
    const double max = Tk == 0 ? -INFINITY : *std::max_element(row, row + Tk);
    if (max == -INFINITY) continue;  // zeros
    double sum = 0;
    for (int64_t j = 0; j < Tk; ++j) sum += std::exp(row[j] - max);
    for (int64_t j = 0; j < Tk; ++j) {
      if (row[j] == -INFINITY) continue;
      const double p = std::exp(row[j] - max) / sum;
      const double error = exp_error(max - row[j]) + sum_error(Tk) + gamma_bound(6 * Tk);
      for (int64_t d = 0; d < HS; ++d) {
        const double v = V[j * HS + d];
        want.value[i * HS + d] += p * v;
        want.bound[i * HS + d] += p * std::abs(v) * error + SUBNORMAL_ERROR;
      }
    }
  }
  return want;
}

}  // namespace

TEST_CASE("scores that rise, fall and are masked, tile by tile") {
  const int64_t Tq = GENERATE(64, 1, 63, 67, 0);
  const int64_t Tk = GENERATE(16, 1, 15, 17, 64, 101, 0);
  CAPTURE(Tq, Tk);
  const std::vector<float> S = every_kind(Tq, Tk), V = make_values({Tk, HS}, Init::normal, 2);
  const DeviceBuffer<float> s(S), v(V);
  check_launch([&](float* O) { weighted_values(s.data(), v.data(), O, Tq, Tk); },
               reference(S, V, Tq, Tk),
               {.name = "O",
                .rows = Tq,
                .cols = HS,
                .tile = {.rows = 64, .cols = HS, .thread_cols = HS, .x_down = true}});
}

}  // namespace tutorial::exercise
