// Every step, with every mask, at every shape.
#include "block_lists/tests/problem.hpp"
#include "tests/masked_products.hpp"

namespace tutorial::masked_bmm::block_lists {
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
  const auto step = EACH_STEP(steps);
  check_small_grid<Problem>(step);
  if (step.launch != closed_form) return;
  const SmallGrid grid(3, 2);
  Problem band({3, 260, 132, 5}, make_mask("causal", 3, 260, 132, false, 0));
  band.p.band = band_of("causal", 260, 132);
  band.check(step);
}

TEST_CASE("a closed form, with rows of any alignment, and with more of K than shared memory holds",
          "[shapes]") {
  const auto step = EACH_STEP(steps_with({closed_form}));
  for (const int64_t N : {64, 131, 132})
    for (const int64_t K : {7, 64, 65, 100}) {
      Problem band({2, 140, N, K}, make_mask("window:20", 2, 140, N, false, 0));
      band.p.band = band_of("window:20", 140, N);
      band.check(step);
    }
}

TEST_CASE("sizes of zero") {
  check_empty<Problem>(EACH_STEP(steps));
}

TEST_CASE("more rows of blocks than a grid's y has", "[large]") {
  const auto step = EACH_STEP(steps);
  if (!device_has_clock()) SKIP("65536 blocks of each step would take the simulator too long");
  if (step.launch == closed_form) return;  // without a band it is overlapped_tiles
  Problem({1, ROWS_BEYOND_GRID, 1, 3}, every_third_row(ROWS_BEYOND_GRID)).check(step);
}

TEST_CASE("every step takes a C with more than 2^31 elements", "[.large]") {
  const auto step = EACH_STEP(steps);
  Problem problem(LARGE_C, make_mask("causal", LARGE_C.batch, LARGE_C.M, LARGE_C.N, false, 0));
  problem.p.band = band_of("causal", LARGE_C.M, LARGE_C.N);
  check_large_c(step, problem);
}

}  // namespace
}  // namespace tutorial::masked_bmm::block_lists
