#include <algorithm>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <limits>

#include "04_softmax.hpp"
#include "common/backend/backend.hpp"
#include "common/testing/testing.hpp"
#include "tests/check_step.hpp"

namespace tutorial::softmax {
namespace {

constexpr float INF = std::numeric_limits<float>::infinity();
constexpr float QUIET_NAN = std::numeric_limits<float>::quiet_NaN();

/// Rows of normal values, moved and stretched.
std::vector<float> normal_around(float middle, float deviation, int64_t rows, int64_t cols) {
  std::vector<float> x = normal(rows, cols);
  for (float& value : x) value = middle + deviation * value;
  return x;
}

// ---- the reference against closed forms

TEST_CASE("the reference gives 1/n for n equal values") {
  for (const int64_t n : {1, 2, 3, 1000}) {
    const Expected want = whole_reference(std::vector<float>(n, 3.5f), 1, n);
    for (const double value : want.value) CHECK(value == 1.0 / static_cast<double>(n));
  }
}

TEST_CASE("the reference gives known fractions") {
  // exp(0) : exp(ln 3) = 1 : 3, and adding a constant changes nothing.
  for (const float shift : {0.0f, -200.0f, 200.0f, -20000.0f}) {
    const double step = static_cast<double>(shift + 1.0f) - shift;
    const Expected want = whole_reference({shift, shift + 1.0f}, 1, 2);
    CHECK(std::abs(want.value[0] - 1 / (1 + std::exp(step))) < 1e-15);
    CHECK(std::abs(want.value[0] + want.value[1] - 1) < 1e-15);
  }
  const Expected one_hot = whole_reference({-INF, 7.0f, -INF}, 1, 3);
  CHECK(one_hot.value == std::vector<double>{0, 1, 0});
  CHECK(one_hot.bound[0] == 0);
}

TEST_CASE("the reference follows PyTorch for a row with no answer") {
  const std::vector<std::vector<float>> rows = {
      {-INF, -INF, -INF}, {1, QUIET_NAN, 2}, {1, INF, 2}, {INF, INF, 0}, {QUIET_NAN, -INF, -INF}};
  for (const auto& row : rows) {
    for (const double value : whole_reference(row, 1, 3).value) CHECK(std::isnan(value));
    CHECK(std::isnan(expected_row_sums(row, 3).value[0]));
  }
}

TEST_CASE("the reference computes the rows asked for") {
  const std::vector<float> x = normal(5, 7);
  const Expected all = whole_reference(x, 5, 7);
  const Expected some = reference(x, 7, std::vector<int64_t>{4, 1});
  REQUIRE(some.value.size() == 14);
  for (int c = 0; c < 7; ++c) {
    CHECK(some.value[c] == all.value[4 * 7 + c]);
    CHECK(some.value[7 + c] == all.value[7 + c]);
  }
}

TEST_CASE("the bound is small beside the value, so that zeros or a lost column cannot pass") {
  const Expected want = whole_reference(std::vector<float>(4096, 1.0f), 1, 4096);
  const Layout layout = {.name = "y", .rows = 1, .cols = 4096};
  CHECK(compare(std::vector<float>(4096, 1.0f / 4096), want, layout).ok);
  CHECK_FALSE(compare(std::vector<float>(4096, 0.0f), want, layout).ok);
  CHECK_FALSE(compare(std::vector<float>(4096, 1.005f / 4096), want, layout).ok);
  // As if the sum had left out the last of 1000 columns.
  CHECK_FALSE(compare(std::vector<float>(1000, 1.0f / 999),
                      whole_reference(std::vector<float>(1000, 1.0f), 1, 1000),
                      {.name = "y", .rows = 1, .cols = 1000})
                  .ok);
}

// ---- the steps

TEST_CASE("an empty matrix is left alone") {
  const auto step = EACH_STEP(steps);
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{0, 0}, {0, 5}, {5, 0}})
    check_step(step, {}, rows, cols);
}

TEST_CASE("any shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const int64_t rows = GENERATE(1, 3, 37);
  for (const int64_t cols : {1,   2,   4,   5,   8,   9,   16,  17,  31,   32,   33,   64,  65,
                             127, 128, 129, 255, 256, 257, 512, 513, 1000, 1023, 1024, 1025})
    check_step(step, normal(rows, cols), rows, cols);
}

// Smaller than a GPU's, so that it does not take 2^31 rows. Rows differ by so much that what one
// leaves for the next shows.
TEST_CASE("more rows than a small grid has blocks") {
  const auto step = EACH_STEP(steps);
  const int64_t rows = 10;
  const SmallGrid grid(8, 2);  // of which a cluster takes all
  for (const int64_t cols : {5, 300, 1100, 33000}) {
    std::vector<float> x = normal(rows, cols);
    for (int64_t i = 0; i < rows * cols; ++i) x[i] += i / cols % 3 == 0 ? -300.0f : 300.0f;
    check_step(step, x, rows, cols);
  }
}

TEST_CASE("more rows than a grid has blocks in y", "[large]") {
  const auto step = EACH_STEP(steps);
  if (!device_has_clock()) SKIP("65537 blocks of each step would take the simulator too long");
  check_step(step, normal(65537, 2), 65537, 2);
}

TEST_CASE("long rows", "[shapes]") {
  const auto step = EACH_STEP(steps);
  // From 32766 columns on (32769 where every row starts on a 16-byte boundary) a row no longer fits
  // the registers of a block.
  // From 58024 on it no longer fits the shared memory of a block, on a GPU where that is 227 KB.
  for (const int64_t cols : {1791, 1792, 2049, 4100, 8191, 16385, 20000, 32765, 32766, 32768, 32772,
                             50257, 58023, 58024, 70001})
    check_step(step, normal(2, cols), 2, cols);
}

// 18 GB, so it must be asked for by its tag. All rows but the last two are equal values.
TEST_CASE("every step takes more than 2^31 elements", "[.large]") {
  const auto step = EACH_STEP(steps);
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

TEST_CASE("any alignment of x and y") {
  const auto step = EACH_STEP(steps);
  const int64_t cols = GENERATE(1, 3, 37, 128, 1025);
  for (int64_t x = 0; x < 4; ++x)
    for (int64_t y = 0; y < 4; ++y) check_step(step, normal(5, cols), 5, cols, {x, y});
}

TEST_CASE("values far from zero", "[values]") {
  const auto step = EACH_STEP(steps);
  const int64_t cols = GENERATE(5, 33, 300, 1025);
  for (const float middle : {200.0f, -200.0f, -20000.0f, 3e38f, -3e38f})
    check_step(step, normal_around(middle, 1.0f, 3, cols), 3, cols);
}

TEST_CASE("rows that are nothing like their neighbours", "[values]") {
  const auto step = EACH_STEP(steps);
  const int64_t rows = 4, cols = GENERATE(5, 128, 301);
  std::vector<float> x = normal(rows, cols);
  for (int64_t i = 0; i < rows * cols; ++i) x[i] += i / cols % 2 == 0 ? -300.0f : 300.0f;
  check_step(step, x, rows, cols);
}

TEST_CASE("values so far apart that most results are 0 or subnormal", "[values]") {
  const auto step = EACH_STEP(steps);
  for (const float deviation : {10.0f, 50.0f, 1000.0f, 5e37f})
    check_step(step, normal_around(0.0f, deviation, 3, 700), 3, 700);
}

TEST_CASE("many equal columns", "[values]") {
  const auto step = EACH_STEP(steps);
  check_step(step, std::vector<float>(2 * 4096, -7.25f), 2, 4096);
}

TEST_CASE("a maximum that rises or falls all along the row", "[values]") {
  const auto step = EACH_STEP(steps);
  const int64_t cols = 1500;
  for (const float slope : {0.01f, 0.25f, 3.0f, -0.01f, -0.25f, -3.0f}) {
    std::vector<float> x = normal(2, cols);
    for (int64_t i = 0; i < 2 * cols; ++i)
      x[i] = 0.001f * x[i] + slope * static_cast<float>(i % cols);
    check_step(step, x, 2, cols);
  }
}

TEST_CASE("minus infinity beside finite values gives 0") {
  const auto step = EACH_STEP(steps);
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

TEST_CASE("a row of -infinity alone gives NaN, and its neighbours are right") {
  const auto step = EACH_STEP(steps);
  const int64_t cols = GENERATE(1, 5, 300, 33000);
  std::vector<float> x = normal(3, cols);
  std::fill(x.begin() + cols, x.begin() + 2 * cols, -INF);
  check_step(step, x, 3, cols);
}

TEST_CASE("NaN or +infinity anywhere gives a row of NaN") {
  const auto step = EACH_STEP(steps);
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

TEST_CASE("every row adds up to 1") {
  const auto step = EACH_STEP(steps);
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

}  // namespace
}  // namespace tutorial::softmax
