#include <algorithm>
#include <cmath>

#include "common/compare/softmax_error.hpp"
#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

/// Rows of each kind: random; rising and falling by 1 from column to column; far from 0 on either
/// side; -infinity in the first two thirds, and throughout.
std::vector<float> every_kind(int64_t rows, int64_t cols) {
  std::vector<float> x = make_values({rows, cols}, Init::normal, 1);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t c = 0; c < cols; ++c) {
      float& value = x[static_cast<size_t>(row * cols + c)];
      switch (row % 7) {
        case 1:
          value += static_cast<float>(c);
          break;
        case 2:
          value -= static_cast<float>(c);
          break;
        case 3:
          value += 200;
          break;
        case 4:
          value -= 200;
          break;
        case 5:
          if (c < 2 * cols / 3) value = -INFINITY;
          break;
        case 6:
          value = -INFINITY;
          break;
      }
    }
  return x;
}

/// The maximum is exact. In the sum a term has the error of its exp, and passes at most n merges;
/// each costs it at most 6 roundings, as softmax_error.hpp says.
Expected pairs(const std::vector<float>& x, int64_t rows, int64_t cols) {
  Expected want;
  for (int64_t row = 0; row < rows; ++row) {
    const auto begin = x.begin() + row * cols, end = begin + cols;
    const double max = cols == 0 ? -INFINITY : *std::max_element(begin, end);
    double sum = 0, bound = static_cast<double>(cols) * SUBNORMAL_ERROR;
    for (auto element = begin; element != end; ++element) {
      if (*element == -INFINITY) continue;
      const double term = std::exp(*element - max);
      sum += term;
      bound += term * (exp_error(max - *element) + gamma_bound(6 * cols));
    }
    want.value.insert(want.value.end(), {max, sum});
    want.bound.insert(want.bound.end(), {0, bound});
  }
  return want;
}

}  // namespace

TEST_CASE("the pair of every row") {
  const int64_t rows = GENERATE(35, 1, 0);
  const int64_t cols = GENERATE(32, 64, 1, 31, 33, 331, 0);
  CAPTURE(rows, cols);
  const std::vector<float> x = every_kind(rows, cols);
  const DeviceBuffer<float> on_device(x);
  check_launch([&](float* y) { row_pairs(on_device.data(), y, rows, cols); }, pairs(x, rows, cols),
               {.name = "y",
                .rows = rows,
                .cols = 2,
                .tile = {.rows = 4, .cols = 2, .thread_rows = 0, .x_down = true}});
}

TEST_CASE("the budget: a row is read once, and no barrier") {
  constexpr int64_t ROWS = 8, COLS = 96;
  const DeviceBuffer<float> x(every_kind(ROWS, COLS));
  DeviceBuffer<float> y(ROWS * 2);
  const Counts counts = counts_for_budget([&] { row_pairs(x.data(), y.data(), ROWS, COLS); });
  check_budget("bytes loaded", counts.loads.bytes, ROWS * COLS * 4);
  check_sectors("loaded", counts.loads, ROWS * COLS / 32 * 4);
  check_budget("barriers", counts.barriers, 0);
}

}  // namespace tutorial::exercise
