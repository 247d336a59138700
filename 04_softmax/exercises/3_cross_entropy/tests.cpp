#include <algorithm>
#include <cmath>

#include "common/compare/softmax_error.hpp"
#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

/// The right word of a row: anywhere, the first and the last included.
int target_of(int64_t row, int64_t cols) {
  return static_cast<int>(row % 3 == 0 ? 0 : row % 3 == 1 ? cols - 1 : 7 * row % cols);
}

std::vector<int> all_targets(int64_t rows, int64_t cols) {
  std::vector<int> target(rows);
  for (int64_t row = 0; row < rows; ++row) target[row] = target_of(row, cols);
  return target;
}

/// Rows of each kind: random; rising and falling; far from 0 on either side; -infinity but for the
/// target; -infinity in the first two thirds.
std::vector<float> every_kind(int64_t rows, int64_t cols) {
  std::vector<float> x = make_values({rows, cols}, Init::normal, 1);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t c = 0; c < cols; ++c) {
      float& value = x[row * cols + c];
      const int64_t kind = row % 7;
      if (kind == 1) value += static_cast<float>(c);
      if (kind == 2) value -= static_cast<float>(c);
      if (kind == 3) value += 200;
      if (kind == 4) value -= 200;
      if (c == target_of(row, cols)) continue;
      if (kind == 5 || (kind == 6 && c < 2 * cols / 3)) value = -INFINITY;
    }
  return x;
}

/// The sum of exponentials is off by its part of softmax_error.hpp, so its logarithm by as much;
/// then logf, and the additions.
Expected losses(const std::vector<float>& x, int64_t rows, int64_t cols) {
  Expected want;
  for (int64_t row = 0; row < rows; ++row) {
    const auto in = x.begin() + row * cols;
    const double max = *std::max_element(in, in + cols), right = in[target_of(row, cols)];
    double sum = 0;
    for (int64_t c = 0; c < cols; ++c) sum += std::exp(in[c] - max);
    const double log_sum = std::log(sum);
    want.value.push_back(max + log_sum - right);
    want.bound.push_back(sum_error(cols) + 0x1p-24 * (4 * log_sum + 2 * std::abs(max + log_sum) +
                                                      2 * std::abs(max + log_sum - right)));
  }
  return want;
}

}  // namespace

TEST_CASE("the loss of every row") {
  const int64_t rows = GENERATE(35, 1, 0);
  const int64_t cols = GENERATE(256, 512, 1, 31, 257, 1003);
  CAPTURE(rows, cols);
  const std::vector<float> x = every_kind(rows, cols);
  const DeviceBuffer<float> on_device(x);
  const DeviceBuffer<int> target(all_targets(rows, cols));
  check_launch(
      [&](float* loss) { cross_entropy(on_device.data(), target.data(), loss, rows, cols); },
      losses(x, rows, cols),
      {.name = "loss", .rows = rows, .tile = {.rows = 1, .thread_rows = 0, .x_down = true}});
}

TEST_CASE("the budget: a row is read once, two barriers") {
  constexpr int64_t ROWS = 4, COLS = 1024;
  const DeviceBuffer<float> x(every_kind(ROWS, COLS));
  const DeviceBuffer<int> target(all_targets(ROWS, COLS));
  DeviceBuffer<float> loss(ROWS);
  const Counts counts =
      counts_for_budget([&] { cross_entropy(x.data(), target.data(), loss.data(), ROWS, COLS); });
  check_budget("bytes loaded", counts.loads.bytes, ROWS * (COLS + 2) * 4);
  check_sectors("loaded", counts.loads, ROWS * (COLS / 8 + 2));
  check_budget("barriers", counts.barriers, ROWS * 2);
}

}  // namespace tutorial::exercise
