#include <cmath>

#include "04_softmax.hpp"
#include "common/testing/testing.hpp"
#include "tests/every_step.hpp"

namespace tutorial::softmax {
namespace {

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
  CHECK(expected_row_sums({}, 0).value.empty());  // of rows without columns
  CHECK(row_sums({}, 0).empty());
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

// ---- the steps: tests/every_step.hpp

TEST_CASE("an empty matrix is left alone") {
  check_empty(EACH_STEP(steps));
}
TEST_CASE("any shape", "[shapes]") {
  check_any_shape(EACH_STEP(steps));
}
TEST_CASE("more rows than a small grid has blocks") {
  check_small_grid(EACH_STEP(steps));
}
TEST_CASE("more rows than a grid has blocks in y", "[large]") {
  check_many_rows(EACH_STEP(steps));
}
TEST_CASE("long rows", "[shapes]") {
  check_long_rows(EACH_STEP(steps));
}
// 18 GB, so it must be asked for by its tag.
TEST_CASE("every step takes more than 2^31 elements", "[.large]") {
  check_large(EACH_STEP(steps));
}
TEST_CASE("any alignment of x and y") {
  check_any_alignment(EACH_STEP(steps));
}
TEST_CASE("values far from zero", "[values]") {
  check_far_from_zero(EACH_STEP(steps));
}
TEST_CASE("rows that are nothing like their neighbours", "[values]") {
  check_unlike_neighbours(EACH_STEP(steps));
}
TEST_CASE("values so far apart that most results are 0 or subnormal", "[values]") {
  check_far_apart(EACH_STEP(steps));
}
TEST_CASE("many equal columns", "[values]") {
  check_equal_columns(EACH_STEP(steps));
}
TEST_CASE("a maximum that rises or falls all along the row", "[values]") {
  check_rising_maximum(EACH_STEP(steps));
}
TEST_CASE("maxima that rise, fall, jump or are minus infinity, in every combination", "[values]") {
  check_hard_rows(EACH_STEP(steps));
}
TEST_CASE("the same in the parts of long rows", "[values]") {
  check_hard_long_rows(EACH_STEP(steps));
}
TEST_CASE("minus infinity beside finite values gives 0") {
  check_minus_infinity(EACH_STEP(steps));
}
TEST_CASE("a row of -infinity alone gives NaN, and its neighbours are right") {
  check_row_of_minus_infinity(EACH_STEP(steps));
}
TEST_CASE("NaN or +infinity anywhere gives a row of NaN") {
  check_no_answer(EACH_STEP(steps));
}
TEST_CASE("every row adds up to 1") {
  check_sums(EACH_STEP(steps));
}

TEST_CASE("long rows at any alignment") {
  check_rows_of(EACH_STEP(steps), {32768, 32769, 40001});
}
TEST_CASE("very long rows", "[large]") {
  const auto step = EACH_STEP(steps);
  if (!device_has_clock()) SKIP("rows of up to 695784 columns would take the simulator too long");
  check_very_long_rows(step);
}
TEST_CASE("special values in long rows", "[large]") {
  const auto step = EACH_STEP(steps);
  if (!device_has_clock()) SKIP("rows of 140002 columns would take the simulator too long");
  check_special_values(step);
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  check_asked_for_by(EACH_STEP(steps));
}

Counts counts_of_step(Launcher* launch, int64_t rows, int64_t cols) {
  const DeviceBuffer<float> x(normal(rows, cols));
  DeviceBuffer<float> y(rows * cols);
  return counts_of([&] { launch(x.data(), y.data(), rows, cols); });
}

TEST_CASE("a warp's requests touch the sectors that the headers say", "[counts]") {
  if (device_has_clock()) SKIP("only the simulator counts sectors");
  const auto step = EACH_STEP(steps);
  CAPTURE(step.name);
  // 32 rows, 32 sectors; 128 neighbouring bytes, 4 sectors.
  for (const auto& [name, sectors] : {std::pair("thread_per_row", 32), {"block_per_row", 4}}) {
    if (step.name != std::string(name)) continue;
    const Counts counts = counts_of_step(step.launch, 32, 64);
    CHECK(counts.loads.sectors == sectors * counts.loads.requests);
    CHECK(counts.stores.sectors == sectors * counts.stores.requests);
  }
  // Each sector once, 16 bytes a lane, where rows begin with a sector.
  if (const std::string name = step.name; name == "row_on_chip" || name == "warp_per_row")
    for (const int64_t cols : {8, 40, 128, 304, 1024, 1032}) {
      CAPTURE(cols);
      const Counts counts = counts_of_step(step.launch, 5, cols);
      CHECK(counts.loads.sectors == 5 * cols / 8);
      CHECK(counts.stores.sectors == 5 * cols / 8);
      CHECK(counts.loads.lanes == 5 * cols / 4);
      CHECK(counts.stores.lanes == 5 * cols / 4);
    }
}

TEST_CASE("warp_per_row takes no shared memory and no barrier up to 1024 columns", "[counts]") {
  if (device_has_clock()) SKIP("only the simulator counts barriers");
  const auto step = EACH_STEP(steps);
  if (step.name != std::string("warp_per_row")) return;
  for (const int64_t cols : {1, 5, 31, 100, 128, 129, 500, 1000, 1023, 1024}) {
    CAPTURE(cols);
    const Counts counts = counts_of_step(step.launch, 9, cols);
    CHECK(counts.barriers == 0);
    CHECK(counts.shared_loads.requests + counts.shared_stores.requests == 0);
  }
  CHECK(counts_of_step(step.launch, 9, 1025).barriers > 0);  // step 4's way
}

}  // namespace
}  // namespace tutorial::softmax
