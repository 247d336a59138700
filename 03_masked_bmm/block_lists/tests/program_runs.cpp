// The part's program: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include "block_lists/tests/problem.hpp"

namespace tutorial::masked_bmm::block_lists {
namespace {

TEST_CASE("the program checks every step, and says what the least work is", "[program]") {
  const ProgramRun run = run_program({"--batch", "2", "--m", "40", "--n", "50", "--k", "8"});
  // As the chapter's program: row i keeps i + 11 elements, 1220 of a matrix.
  check_all_right(run, Words{"mask_words_and_list"} + names_of(steps) + Words{"cuBLAS + fill"},
                  {.flop = 16 * 2440, .bytes = 4 * 2 * (40 + 50) * 8 + 2000 + 4 * 2 * 2000});
  CHECK_THAT(run.out, ContainsSubstring("C[2×40×50] = A[2×40×8] · B[2×8×50], mask causal, -inf "
                                        "where it does not keep, fp32"));
  CHECK_THAT(run.out, ContainsSubstring("kept: elements 2440 of 4000 (61.0 %)") &&
                          ContainsSubstring("skipped: blocks 0 of 2 (0.0 %)"));
  // A formula describes the mask, so that only A and B are read.
  check_counted(run.row("closed_form"),
                {{"global_load_bytes", 4 * 2 * (40 + 50) * 8}, {"global_store_bytes", 4 * 4000}});
  check_counted(run.row("cuBLAS + fill"),
                {{"global_load_bytes", 4000}, {"global_store_bytes", 4 * 2 * 780}});
  // The mask is read; 16 bytes and a byte a block, and 8 for each of 35 patches.
  CHECK(run.row("mask_words_and_list").cost.bytes == 2000 + 16 + 1 + 8 * 35);
}

TEST_CASE("the program counts a mask for each matrix, and what is kept in each", "[program]") {
  const ProgramRun run =
      run_program({"--batch", "3", "--m", "8", "--n", "130", "--k", "4", "--mask", "window:3",
                   "--mask-per-batch", "--fill", "0", "--kernel", "closed_form"});
  check_all_right(
      run, {"closed_form"},
      {.flop = 2 * 4 * 3 * 3 * 8, .bytes = 4 * 3 * (8 + 130) * 4 + 3 * 8 * 130 + 4 * 3 * 8 * 130});
  CHECK_THAT(run.out, ContainsSubstring("kept: elements 72 of 3120 (2.3 %)") &&
                          ContainsSubstring("skipped: blocks 0 of 6 (0.0 %)"));
}

TEST_CASE("the program finds one wrong element of a small product", "[program]") {
  const Words sizes = {"--batch", "2", "--m", "40", "--n", "50", "--k", "8"};
  check_wrong(run_spoiled(sizes, {"small_tiles", 2000 + 39 * 50 + 49, 1, 0.01f}),
              {"1 of 4000 elements", "C[1][39][49]", "M=40 N=50 K=8"});
}

TEST_CASE("the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--batch", "2", "--m", "40", "--n", "50", "--k", "8"});
}

}  // namespace
}  // namespace tutorial::masked_bmm::block_lists
