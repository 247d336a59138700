#include <algorithm>
#include <cmath>

#include "common/compare/softmax_error.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

/// Rows of each kind: random; around 100, -200, 30000 and -30000; half of it -infinity; all of it.
std::vector<float> every_magnitude(int64_t rows, int64_t keys) {
  constexpr float AROUND[] = {0, 100, -200, 30'000, -30'000, 0, 0};
  std::vector<float> S = make_values({rows, keys}, Init::normal, 1);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t key = 0; key < keys; ++key) {
      float& score = S[static_cast<size_t>(row * keys + key)];
      score += AROUND[row % 7];
      if (row % 7 == 6 || (row % 7 == 5 && key < keys / 2)) score = -INFINITY;
    }
  return S;
}

/// An error of the sum, relative to it, is one of its logarithm, as long as it is small; twice for
/// good measure. Then the logarithm, at most log n, and the sum with the maximum round.
Expected log_sums(const std::vector<float>& S, int64_t rows, int64_t keys) {
  Expected want;
  for (int64_t row = 0; row < rows; ++row) {
    const auto begin = S.begin() + row * keys, end = begin + keys;
    const double max = keys == 0 ? -INFINITY : *std::max_element(begin, end);
    if (max == -INFINITY) {
      want.value.push_back(-INFINITY);
      want.bound.push_back(0);
      continue;
    }
    double sum = 0;
    for (auto score = begin; score != end; ++score) sum += std::exp(*score - max);
    want.value.push_back(max + std::log(sum));
    want.bound.push_back(2 * sum_error(keys) + 0x1p-24 * (4 * std::log(static_cast<double>(keys)) +
                                                          std::abs(want.value.back())));
  }
  return want;
}

}  // namespace

TEST_CASE("scores of any magnitude") {
  const int64_t rows = GENERATE(14, 1, 0);
  const int64_t keys = GENERATE(128, 256, 1, 127, 129, 31, 1021, 0);
  CAPTURE(rows, keys);
  const std::vector<float> S = every_magnitude(rows, keys);
  const DeviceBuffer<float> on_device(S);
  check_launch([&](float* L) { log_sum_exp(on_device.data(), L, rows, keys); },
               log_sums(S, rows, keys),
               {.name = "L",
                .rows = rows,
                .cols = 1,
                .tile = {.rows = 1, .cols = 1, .thread_rows = 0, .x_down = true}});
}

}  // namespace tutorial::exercise
