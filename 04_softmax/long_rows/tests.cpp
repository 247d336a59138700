// The part's steps, tested for what the road's are.
#include "common/testing/testing.hpp"
#include "common/testing/two_streams.hpp"
#include "long_rows/long_rows.hpp"
#include "tests/every_step.hpp"

namespace tutorial::softmax::long_rows {
namespace {

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

TEST_CASE("long rows: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  const auto check = [&](int64_t cols) {
    CAPTURE(step.name, cols);
    const DeviceBuffer<float> x(normal(2, cols));
    check_in_two_streams<float>(2 * cols, 0, [&](float* y, Workspace, cudaStream_t stream) {
      step.launch({2, cols}, x.data(), y, stream);
    });
  };
  // any_row hands these to warp_per_row, row_in_shared, row_on_chip and half_in_registers …
  for (const int64_t cols : {100, 1025, 1800, 33001}) check(cols);
  const SmallSharedMemory little(16 * 1024);
  check(33001);  // … and all steps this one to online
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  check_asked_for_by(EACH_STEP(steps));
}

}  // namespace
}  // namespace tutorial::softmax::long_rows
