#include <algorithm>
#include <cmath>

#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int64_t LANES = 32;

/// Numbers around -100. In each row the largest is at another column, so that every lane has its
/// turn; every third row begins with -infinity, and every seventh has nothing else.
std::vector<float> rows_below_zero(int64_t rows, int64_t cols) {
  std::vector<float> x = make_values({rows, cols}, Init::normal, 1);
  for (int64_t row = 0; row < rows && cols > 0; ++row) {
    const auto in = x.begin() + row * cols;
    std::for_each(in, in + cols, [](float& value) { value -= 100; });
    if (row % 3 == 2) std::fill(in, in + cols / 2, -INFINITY);
    in[row * 11 % cols] = -80 + static_cast<float>(row);
    if (row % 7 == 6) std::fill(in, in + cols, -INFINITY);
  }
  return x;
}

/// Exact: nothing is computed.
Expected maxima(const std::vector<float>& x, int64_t rows, int64_t cols) {
  Expected want;
  want.bound.assign(static_cast<size_t>(rows * LANES), 0);
  for (int64_t row = 0; row < rows; ++row) {
    double max = -INFINITY;
    for (int64_t c = 0; c < cols; ++c)
      max = std::max<double>(max, x[static_cast<size_t>(row * cols + c)]);
    want.value.insert(want.value.end(), LANES, max);
  }
  return want;
}

}  // namespace

TEST_CASE("every lane has the row's maximum") {
  const int64_t rows = GENERATE(75, 1, 0);
  const int64_t cols = GENERATE(32, 64, 1, 31, 33, 97, 0);
  CAPTURE(rows, cols);
  const std::vector<float> x = rows_below_zero(rows, cols);
  const DeviceBuffer<float> on_device(x);
  check_launch([&](float* y) { row_max(on_device.data(), y, rows, cols); }, maxima(x, rows, cols),
               {.name = "y",
                .rows = rows,
                .cols = LANES,
                .tile = {.rows = 4, .cols = 32, .thread_rows = 0, .x_down = true}});
}

TEST_CASE("the budget: six shuffles a row, no shared memory, no barrier") {
  constexpr int64_t ROWS = 8, COLS = 96;
  const DeviceBuffer<float> x(rows_below_zero(ROWS, COLS));
  DeviceBuffer<float> y(ROWS * LANES);
  const Counts counts = counts_for_budget([&] { row_max(x.data(), y.data(), ROWS, COLS); });
  // Five rounds give every lane the result; six where the last one tells it to all.
  check_budget("warp operations", counts.warp_operations, 6 * ROWS);
  check_budget("loads and stores of shared memory",
               counts.shared_loads.requests + counts.shared_stores.requests, 0);
  check_budget("barriers", counts.barriers, 0);
  // A warp's 128 bytes are 4 sectors.
  check_sectors("loaded", counts.loads, ROWS * COLS / LANES * 4);
}

}  // namespace tutorial::exercise
