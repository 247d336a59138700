#include <algorithm>
#include <cmath>

#include "common/compare/softmax_error.hpp"
#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

struct Inputs {
  std::vector<float> q, k, v;
};

/// Random, the queries so long that scores reach ±100: the maximum rises often, and exp(s) alone
/// would overflow.
Inputs make_inputs(int64_t heads, int64_t T, float longer) {
  Inputs in = {make_values({heads, T, HS}, Init::normal, 1),
               make_values({heads, T, HS}, Init::normal, 2),
               make_values({heads, T, HS}, Init::normal, 3)};
  for (float& value : in.q) value *= longer;
  return in;
}

/// A score is off by `error`, so a weight at most by the factor exp(2·error) more; else as in
/// softmax_error.hpp, and the sum over the values has the roundings of that sum once more.
Expected reference(const Inputs& in, int64_t heads, int64_t T) {
  Expected want{std::vector<double>(heads * T * HS), std::vector<double>(heads * T * HS)};
  std::vector<double> s(T);
  for (int64_t row = 0; row < heads * T; ++row) {
    const int64_t first = row / T * T, keys = row - first + 1;
    double error = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double dot = 0, magnitude = 0;
      for (int d = 0; d < HS; ++d) {
        const double term = double{in.q[row * HS + d]} * in.k[(first + j) * HS + d];
        dot += term;
        magnitude += std::abs(term);
      }
      s[j] = dot / std::sqrt(double{HS});
      error = std::max(error, gamma_bound(HS + 3) * magnitude / std::sqrt(double{HS}));
    }
    const double max = *std::max_element(s.begin(), s.begin() + keys);
    double sum = 0;
    for (int64_t j = 0; j < keys; ++j) sum += std::exp(s[j] - max);
    for (int64_t j = 0; j < keys; ++j) {
      const double p = std::exp(s[j] - max) / sum;
      const double part = exp_error(max - s[j]) + sum_error(keys) + gamma_bound(6 * keys) +
                          1.01 * std::expm1(2 * error);
      for (int d = 0; d < HS; ++d) {
        const double v = in.v[(first + j) * HS + d];
        want.value[row * HS + d] += p * v;
        want.bound[row * HS + d] += p * std::abs(v) * part + SUBNORMAL_ERROR;
      }
    }
  }
  return want;
}

}  // namespace

TEST_CASE("any number of heads and tokens, scores of any size") {
  const int64_t heads = GENERATE(1, 3, 0);
  const int64_t T = GENERATE(64, 1, 31, 33, 101, 0);
  const float longer = GENERATE(1.0f, 20.0f);
  CAPTURE(heads, T, longer);
  const Inputs in = make_inputs(heads, T, longer);
  const DeviceBuffer<float> q(in.q), k(in.k), v(in.v);
  check_launch(
      [&](float* out) { attention(q.data(), k.data(), v.data(), out, heads, T); },
      reference(in, heads, T),
      {.name = "out", .batch = heads, .rows = T, .cols = HS, .tile = tile_in_any_order(32, HS)});
}

TEST_CASE("the budget: each key once for a tile of queries, no conflict, two barriers a tile") {
  constexpr int64_t HEADS = 2, T = 96, TILES = 1 + 2 + 3;  // of keys, for three tiles of queries
  const Inputs in = make_inputs(HEADS, T, 1);
  const DeviceBuffer<float> q(in.q), k(in.k), v(in.v);
  DeviceBuffer<float> out(HEADS * T * HS);
  const Counts counts =
      counts_for_budget([&] { attention(q.data(), k.data(), v.data(), out.data(), HEADS, T); });
  constexpr int64_t BYTES = HEADS * 4 * HS * (T + 2 * 32 * TILES);
  check_budget("bytes loaded", counts.loads.bytes, BYTES);
  check_sectors("loaded", counts.loads, BYTES / 32);
  check_budget("bank conflicts", counts.shared_loads.conflicts + counts.shared_stores.conflicts, 0);
  check_budget("barriers", counts.barriers, HEADS * (2 * TILES + 3));
}

}  // namespace tutorial::exercise
