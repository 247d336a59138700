// What every step is tested for, the road's and those of part long_rows: each function is the body
// of a TEST_CASE.
#pragma once

#include <algorithm>
#include <array>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <limits>

#include "04_softmax.hpp"
#include "common/backend/backend.hpp"
#include "common/data/hard_rows.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/testing.hpp"
#include "tests/check_step.hpp"

namespace tutorial::softmax {

inline constexpr float INF = std::numeric_limits<float>::infinity();
inline constexpr float QUIET_NAN = std::numeric_limits<float>::quiet_NaN();

/// Rows of normal values, moved and stretched.
inline std::vector<float> normal_around(float middle, float deviation, int64_t rows, int64_t cols) {
  std::vector<float> x = normal(rows, cols);
  for (float& value : x) value = middle + deviation * value;
  return x;
}

inline void check_empty(const AnyStep& step) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{0, 0}, {0, 5}, {5, 0}})
    check_step(step, {}, rows, cols);
}

inline void check_any_shape(const AnyStep& step) {
  const int64_t rows = GENERATE(1, 3, 37);
  for (const int64_t cols : {1,   2,   4,   5,   8,   9,   16,  17,  31,   32,   33,   64,  65,
                             127, 128, 129, 255, 256, 257, 512, 513, 1000, 1023, 1024, 1025})
    check_step(step, normal(rows, cols), rows, cols);
}

// Smaller than a GPU's, so that it does not take 2^31 rows. Rows differ by so much that what one
// leaves for the next shows.
inline void check_small_grid(const AnyStep& step) {
  const int64_t rows = 10;
  const SmallGrid grid(8, 2);  // of which a cluster takes all
  for (const int64_t cols : {5, 300, 1100, 33000}) {
    std::vector<float> x = normal(rows, cols);
    for (int64_t i = 0; i < rows * cols; ++i) x[i] += i / cols % 3 == 0 ? -300.0f : 300.0f;
    check_step(step, x, rows, cols);
  }
}

inline void check_many_rows(const AnyStep& step) {
  check_step(step, normal(577, 3), 577, 3);  // more than a block has threads
  if (!device_has_clock()) SKIP("65537 blocks of each step would take the simulator too long");
  check_step(step, normal(65537, 2), 65537, 2);
}

inline void check_long_rows(const AnyStep& step) {
  // From 32766 columns on (32769 where every row starts on a 16-byte boundary) a row no longer fits
  // the registers of a block. From 58024 on it no longer fits the shared memory of a block, on a
  // GPU where that is 227 KB.
  for (const int64_t cols : {1791, 1792, 2049, 4100, 8191, 16385, 20000, 32765, 32766, 32768, 32772,
                             50257, 58023, 58024, 70001})
    check_step(step, normal(2, cols), 2, cols);
}

// 18 GB, so it must be asked for by its tag. All rows but the last two are equal values.
inline void check_large(const AnyStep& step) {
  // For the registers of a warp, of a block, and longer rows.
  for (const auto& [rows, cols] :
       {std::pair<int64_t, int64_t>{2097155, 1024}, {262147, 8192}, {65537, 32769}}) {
    CAPTURE(step.name, rows, cols);
    DeviceBuffer<float> x(rows * cols), y(rows * cols);
    CUDA_CHECK(cudaMemset(x.data(), 0, rows * cols * sizeof(float)));
    const std::vector<float> last = normal(2, cols);
    const int64_t before = (rows - 2) * cols;
    CUDA_CHECK(cudaMemcpy(x.data() + before, last.data(), 2 * cols * sizeof(float),
                          cudaMemcpyHostToDevice));
    step.launch(x.data(), y.data(), rows, cols);
    CUDA_CHECK_LAUNCH();
    std::vector<float> got(2 * cols);
    CUDA_CHECK(cudaMemcpy(got.data(), y.data() + before, 2 * cols * sizeof(float),
                          cudaMemcpyDeviceToHost));
    const Comparison comparison =
        compare(got, whole_reference(last, 2, cols), {.name = "y", .rows = 2, .cols = cols});
    INFO("the last two rows:\n" << comparison.report);
    CHECK(comparison.ok);
    CHECK(y.guards_intact());
  }
}

inline void check_any_alignment(const AnyStep& step) {
  const int64_t cols = GENERATE(1, 3, 37, 128, 1025);
  for (int64_t x = 0; x < 4; ++x)
    for (int64_t y = 0; y < 4; ++y) check_step(step, normal(5, cols), 5, cols, {x, y});
}

inline void check_far_from_zero(const AnyStep& step) {
  const int64_t cols = GENERATE(5, 33, 300, 1025);
  for (const float middle : {200.0f, -200.0f, -20000.0f, 3e38f, -3e38f})
    check_step(step, normal_around(middle, 1.0f, 3, cols), 3, cols);
}

inline void check_unlike_neighbours(const AnyStep& step) {
  const int64_t rows = 4, cols = GENERATE(5, 128, 301);
  std::vector<float> x = normal(rows, cols);
  for (int64_t i = 0; i < rows * cols; ++i) x[i] += i / cols % 2 == 0 ? -300.0f : 300.0f;
  check_step(step, x, rows, cols);
}

inline void check_far_apart(const AnyStep& step) {
  for (const float deviation : {10.0f, 50.0f, 1000.0f, 5e37f})
    check_step(step, normal_around(0.0f, deviation, 3, 700), 3, 700);
}

inline void check_equal_columns(const AnyStep& step) {
  check_step(step, std::vector<float>(2 * 4096, -7.25f), 2, 4096);
}

inline void check_rising_maximum(const AnyStep& step) {
  const int64_t cols = 1500;
  for (const float slope : {0.01f, 0.25f, 3.0f, -0.01f, -0.25f, -3.0f}) {
    std::vector<float> x = normal(2, cols);
    for (int64_t i = 0; i < 2 * cols; ++i)
      x[i] = 0.001f * x[i] + slope * static_cast<float>(i % cols);
    check_step(step, x, 2, cols);
  }
}

// Segments as wide as a lane's numbers, in one access or one after the other; a warp's; a block's.
inline void check_hard_rows(const AnyStep& step) {
  for (const auto& [segments, width] :
       {std::pair<int, int64_t>{3, 1}, {3, 4}, {3, 32}, {2, 128}, {2, 256}, {2, 1024}}) {
    const HardRows hard = hard_rows(segments, width);
    check_step(step, hard.values, hard.rows, hard.cols);
  }
}

// As wide as the parts of a row that blocks of a cluster have; some of the combinations.
inline void check_hard_long_rows(const AnyStep& step) {
  using enum Run;
  const std::vector<std::array<Run, 4>> rows = {
      {jump_down, jump_down, jump_down, jump_down},
      {minus_infinity, jump_down, minus_infinity, jump_down},
      {jump_down, minus_infinity, minus_infinity, minus_infinity},
      {minus_infinity, minus_infinity, minus_infinity, underflow},
      {jump_up, jump_up, jump_up, jump_up},
      {fall, minus_infinity, jump_up, underflow},
      {underflow, rise, jump_down, minus_infinity},
      {minus_infinity, minus_infinity, minus_infinity, minus_infinity}};
  const int64_t width = 8300;
  std::vector<float> x;
  for (const auto& row : rows)
    for (int segment = 0; segment < 4; ++segment)
      for (int64_t at = 0; at < width; ++at)
        x.push_back(score_of(row[static_cast<size_t>(segment)], segment, 4, at, width));
  check_step(step, x, std::ssize(rows), 4 * width);
}

inline void check_minus_infinity(const AnyStep& step) {
  const int64_t rows = 4, cols = GENERATE(3, 64, 1000, 33000);
  std::vector<float> x = normal(rows, cols);
  for (int64_t c = 0; c < cols; ++c) {
    if (c < cols - 1) x[c] = -INF;             // all but the last
    if (c >= cols / 2) x[cols + c] = -INF;     // the second half
    if (c % 256 != 2) x[2 * cols + c] = -INF;  // all that some threads see
    if (c < std::min<int64_t>(cols - 1, 300))
      x[3 * cols + c] = -INF;  // the first stretch,
    else
      x[3 * cols + c] -= 100;  // before negative values
  }
  check_step(step, x, rows, cols);
}

inline void check_row_of_minus_infinity(const AnyStep& step) {
  const int64_t cols = GENERATE(1, 5, 300, 33000);
  std::vector<float> x = normal(3, cols);
  std::fill(x.begin() + cols, x.begin() + 2 * cols, -INF);
  check_step(step, x, 3, cols);
}

inline void check_no_answer(const AnyStep& step) {
  const float value = GENERATE(QUIET_NAN, INF);
  for (const int64_t cols : {3, 300, 33000}) {
    std::vector<float> x = normal(5, cols);
    x[0] = value;                // the first element
    x[cols + cols - 1] = value;  // the last
    x[3 * cols + 1] = value;     // twice
    x[3 * cols + cols / 2] = value;
    std::fill(x.begin() + 4 * cols, x.end(), -INF);  // nothing but -infinity besides
    x[4 * cols + 1] = value;
    check_step(step, x, 5, cols);  // row 2 stays right
  }
}

inline void check_sums(const AnyStep& step) {
  const int64_t rows = 7, cols = GENERATE(1, 45, 4096, 40000);
  const std::vector<float> x = normal(rows, cols);
  const DeviceBuffer<float> input(x);
  DeviceBuffer<float> y(rows * cols);
  step.launch(input.data(), y.data(), rows, cols);
  const Comparison sums = compare(row_sums(y.to_host(), cols), expected_row_sums(x, cols),
                                  {.name = "row sum", .rows = rows, .cols = 1});
  INFO(step.name << '\n' << sums.report);
  CHECK(sums.ok);
}

/// Beside its header's formula.
inline void check_asked_for_by(const AnyStep& step) {
  for (const auto& [rows, cols] :
       {std::pair<int64_t, int64_t>{3, 1}, {37, 45}, {5, 128}, {3, 1025}, {2, 4100}, {1, 33001}}) {
    CAPTURE(step.name, rows, cols);
    for (const int64_t offset : {0, 3}) {
      const DeviceBuffer<float> x(make_values({rows, cols}, Init::normal, 1), offset);
      DeviceBuffer<float> y(rows * cols, offset);
      check_asked_for(step, [&](auto run) { return run(x.data(), y.data(), rows, cols); });
    }
  }
}

/// Rows for several blocks, at several alignments.
inline void check_rows_of(const AnyStep& step, const std::vector<int64_t>& columns) {
  for (const int64_t cols : columns)
    for (const auto& [x, y] : {std::pair<int64_t, int64_t>{0, 0}, {3, 3}, {1, 2}})
      check_step(step, normal(2, cols), 2, cols, {x, y});
}

/// On both sides of each length that part long_rows chooses a cluster by; and one from every
/// distance to a 128-byte boundary. Up to 65536 columns its step half_in_registers has 4 blocks, up
/// to 131072 8, then 16, and from 695784 columns on none. From 463848 on a row no longer fits the
/// cluster of `cluster`, where a block has 227 KB.
inline void check_very_long_rows(const AnyStep& step) {
  check_rows_of(step, {65536, 65537, 131072, 131073, 250002, 463847, 463848, 695783, 695784});
  check_step(step, normal(33, 40001), 33, 40001);
}

/// For 4, 8 and 16 blocks.
inline void check_special_values(const AnyStep& step) {
  for (const int64_t cols : {40000, 70001, 140002}) {
    std::vector<float> x = normal(6, cols);
    const auto row = [&](int64_t r) { return x.begin() + r * cols; };
    std::fill(row(1), row(2), -INF);                 // all: NaN
    std::fill(row(2), row(2) + cols * 3 / 4, -INF);  // all that most blocks see
    x[3 * cols + cols / 2] = QUIET_NAN;
    x[4 * cols + cols - 1] = INF;
    std::fill(row(5), row(6), -INF);
    x[5 * cols + cols - 1] = QUIET_NAN;
    check_step(step, x, 6, cols);
  }
}

}  // namespace tutorial::softmax
