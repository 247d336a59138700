#include <algorithm>
#include <cmath>

#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int64_t LANES = 32;

/// Four kinds of rows, one after another: around 0; around 1000, where the square of the mean hides
/// the variance; equal numbers, whose variance is 0; and numbers so small that EPSILON is most of
/// what is divided by.
std::vector<float> rows_of_all_kinds(int64_t rows, int64_t width) {
  std::vector<float> x = make_values({rows, width}, Init::normal, 1);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t c = 0; c < width; ++c) {
      float& value = x[static_cast<size_t>(row * width + c)];
      if (row % 4 == 1) value = 1000 + value / 4;
      if (row % 4 == 2) value = 3;
      if (row % 4 == 3) value /= 1000;
    }
  return x;
}

struct Problem {
  int64_t rows, width;
  std::vector<float> x = rows_of_all_kinds(rows, width),
                     gain = make_values({width}, Init::normal, 2),
                     shift = make_values({width}, Init::normal, 3);
};

/// In double, with what float32 may make of it in any order of summation.
Expected normed(const Problem& problem) {
  constexpr double UNIT = 0x1p-24;
  const int64_t width = problem.width;
  const auto count = static_cast<double>(width);
  Expected want;
  for (int64_t row = 0; row < problem.rows; ++row) {
    const float* x = problem.x.data() + row * width;
    double mean = 0, magnitude = 0, variance = 0, squared_errors = 0;
    for (int64_t c = 0; c < width; ++c) {
      mean += x[c] / count;
      magnitude += std::abs(x[c]) / count;
    }
    // The sum rounds, and the division, or a product with 1 / width.
    const double mean_error = gamma_bound(width + 2) * magnitude;
    const auto error_of = [&](double distance) {  // the subtraction rounds, too
      return mean_error + UNIT * (std::abs(distance) + mean_error);
    };
    for (int64_t c = 0; c < width; ++c) {
      variance += (x[c] - mean) * (x[c] - mean) / count;
      squared_errors += std::pow(error_of(x[c] - mean), 2) / count;
    }
    // Distances off by e make √(the mean of their squares) wrong by at most √(the mean of e²): the
    // triangle inequality. Then the squares, their sum and its mean round.
    const double deviation = std::sqrt(variance), off = std::sqrt(squared_errors);
    const double rounded = gamma_bound(width + 3);
    const double most = std::pow(deviation + off, 2) * (1 + rounded);
    const double least = std::pow(std::max(0.0, deviation - off), 2) * (1 - rounded);
    // The sum with EPSILON rounds, and either a root and a division or rsqrtf, which is off by two
    // units in the last place, each up to 2·UNIT.
    const auto inverse_of = [](double z) { return 1 / std::sqrt(z + double{EPSILON}); };
    const double inverse = inverse_of(variance);
    const double inverse_error = std::max(inverse_of(least) * (1 + 5 * UNIT) - inverse,
                                          inverse - inverse_of(most) * (1 - 5 * UNIT));
    for (int64_t c = 0; c < width; ++c) {
      const double distance = x[c] - mean, error = error_of(distance);
      const double gain = problem.gain[c], shift = problem.shift[c];
      const double off_by = error * inverse + (std::abs(distance) + error) * inverse_error;
      want.value.push_back(distance * inverse * gain + shift);
      want.bound.push_back(
          std::abs(gain) * off_by +  // two products and a sum round
          gamma_bound(3) *
              (std::abs(gain) * (std::abs(distance) * inverse + off_by) + std::abs(shift)));
    }
  }
  return want;
}

}  // namespace

TEST_CASE("every row has mean 0 and variance 1 before gain and shift") {
  const int64_t rows = GENERATE(9, 1, 0);
  const int width = GENERATE(32, 64, 1, 2, 31, 33, 97, 768, 0);
  CAPTURE(rows, width);
  const Problem problem = {rows, width};
  const DeviceBuffer<float> x(problem.x), gain(problem.gain), shift(problem.shift);
  check_launch([&](float* y) { layer_norm(x.data(), gain.data(), shift.data(), y, rows, width); },
               normed(problem),
               {.name = "y",
                .rows = rows,
                .cols = width,
                .tile = {.rows = 4, .cols = std::max(width, 1), .thread_rows = 0, .x_down = true}});
}

TEST_CASE("the budget: ten shuffles a row, three passes, no shared memory, no barrier") {
  constexpr int64_t ROWS = 8, WIDTH = 96;
  const Problem problem = {ROWS, WIDTH};
  const DeviceBuffer<float> x(problem.x), gain(problem.gain), shift(problem.shift);
  DeviceBuffer<float> y(ROWS * WIDTH);
  const Counts counts = counts_for_budget(
      [&] { layer_norm(x.data(), gain.data(), shift.data(), y.data(), ROWS, WIDTH); });
  check_budget("warp operations", counts.warp_operations, 2 * 5 * ROWS);  // a sum has five rounds
  check_budget("loads and stores of shared memory",
               counts.shared_loads.requests + counts.shared_stores.requests, 0);
  check_budget("barriers", counts.barriers, 0);
  // A warp's 128 bytes are 4 sectors: of the row three times, of gain and of shift.
  constexpr int64_t SECTORS = ROWS * WIDTH / LANES * 4;
  check_sectors("loaded", counts.loads, (3 + 2) * SECTORS);
  check_sectors("stored", counts.stores, SECTORS);
}

}  // namespace tutorial::exercise
