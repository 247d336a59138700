// Every step, with every mask, at every shape.
#include "masked_products.hpp"
#include "problem.hpp"

namespace tutorial::masked_bmm {
namespace {

TEST_CASE("every mask at every kind of shape", "[shapes]") {
  check_shapes<Problem>(EACH_STEP(steps));
}

TEST_CASE("a mask of its own for each batch") {
  check_masks_of_a_batch<Problem>(EACH_STEP(steps));
}

TEST_CASE("any nonzero byte of the mask keeps") {
  check_other_bytes<Problem>(EACH_STEP(steps));
}

TEST_CASE("fill values: infinite, finite, zero and NaN") {
  check_fill_values<Problem>(EACH_STEP(steps));
}

TEST_CASE("rows, blocks and whole problems that are masked") {
  check_masked_rows<Problem>(EACH_STEP(steps));
}

TEST_CASE("what the mask hides does not leak: NaN and infinity in hidden rows and columns") {
  check_nothing_leaks<Problem>(EACH_STEP(steps));
}

TEST_CASE("NaN and infinity where the mask keeps reach the result") {
  check_special_values<Problem>(EACH_STEP(steps));
}

TEST_CASE("no alignment but a float's is needed") {
  check_alignments<Problem>(EACH_STEP(steps));
}

TEST_CASE("more matrices and blocks than a small grid has") {
  check_small_grid<Problem>(EACH_STEP(steps));
}

TEST_CASE("more matrices than the fill has blocks in y") {
  const auto step = EACH_STEP(steps_with({bmm_then_fill}));
  Problem({1030, 1, 2, 0}, make_mask("random:0.5", 1030, 1, 2, true, 8)).check(step);
}

TEST_CASE("sizes of zero") {
  check_empty<Problem>(EACH_STEP(steps));
}

// [slow]: a page leaves it out, which would take a minute.
TEST_CASE("more matrices than a grid's z has blocks", "[large][slow]") {
  const auto step = EACH_STEP(steps);
  // One step shows on the simulator, too, what a grid that is too deep does.
  if (step.launch != bmm_then_fill && !device_has_clock())
    SKIP("65537 blocks of each step would take the simulator too long");
  const int64_t batch = grid_limit.y + 2, K = device_has_clock() ? 3 : 0;
  const Mask mask = make_mask("random:0.5", batch, 1, 2, true, 8);
  Problem({batch, 1, 2, K}, mask).check(step);
}

TEST_CASE("more rows of blocks than a grid's y has", "[large]") {
  const auto step = EACH_STEP(steps);
  if (!device_has_clock()) SKIP("65536 blocks of each step would take the simulator too long");
  Problem({1, ROWS_BEYOND_GRID, 1, 3}, every_third_row(ROWS_BEYOND_GRID)).check(step);
}

TEST_CASE("every step takes a C with more than 2^31 elements", "[.large]") {
  const auto step = EACH_STEP(steps);
  Problem problem(LARGE_C, make_mask("causal", LARGE_C.batch, LARGE_C.M, LARGE_C.N, false, 0));
  check_large_c(step, problem);
}

}  // namespace
}  // namespace tutorial::masked_bmm
