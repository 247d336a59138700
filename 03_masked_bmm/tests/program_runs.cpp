// The chapter's program: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include "problem.hpp"

namespace tutorial::masked_bmm {
namespace {

const Words all_rows_of_table = {"bmm_then_fill", "coarse_masks", "three_level_mask",
                                 "whole_sectors", "wide_copies",  "four_blocks",
                                 "cuBLAS + fill"};

TEST_CASE("the program checks every step, and says what the least work is", "[program]") {
  const ProgramRun run = run_program({"--batch", "2", "--m", "40", "--n", "50", "--k", "8"});
  // Row i keeps i + 11 elements: 1220 of a matrix. 2·8 FLOP for each; bytes: A and B, the mask, C.
  check_all_right(run, all_rows_of_table,
                  {.flop = 16 * 2440, .bytes = 4 * 2 * (40 + 50) * 8 + 2000 + 4 * 2 * 2000});
  CHECK_THAT(run.out, ContainsSubstring("C[2×40×50] = A[2×40×8] · B[2×8×50], mask causal, -inf "
                                        "where it does not keep, fp32\n"
                                        "39.0 kFLOP, at least 23.8 kB, 1.64 FLOP/byte"));
  CHECK_THAT(run.out, ContainsSubstring("kept: elements 2440 of 4000 (61.0 %)") &&
                          ContainsSubstring("skipped: blocks 0 of 2 (0.0 %)"));
  // A and B, then a byte of the mask for each element; all elements, then the 780 of a matrix that
  // are not kept.
  check_counted(run.row("bmm_then_fill"), {{"global_load_bytes", 4 * 2 * (40 + 50) * 8 + 4000},
                                           {"global_store_bytes", 4 * 4000 + 4 * 2 * 780}});
  check_counted(run.row("coarse_masks"),
                {{"global_load_bytes", 2000}, {"global_store_bytes", 1 + 35}});
  check_counted(run.row("cuBLAS + fill"),
                {{"global_load_bytes", 4000}, {"global_store_bytes", 4 * 2 * 780}});
  // The mask is read; a byte a block and one for each of 35 patches.
  CHECK(run.row("coarse_masks").cost.bytes == 2000 + 1 + 35);
}

TEST_CASE("the program counts a mask for each matrix, and what is kept in each", "[program]") {
  const ProgramRun run =
      run_program({"--batch", "3", "--m", "8", "--n", "130", "--k", "4", "--mask", "window:3",
                   "--mask-per-batch", "--fill", "0", "--kernel", "four_blocks"});
  check_all_right(
      run, {"four_blocks"},
      {.flop = 2 * 4 * 3 * 3 * 8, .bytes = 4 * 3 * (8 + 130) * 4 + 3 * 8 * 130 + 4 * 3 * 8 * 130});
  CHECK_THAT(run.out, ContainsSubstring("kept: elements 72 of 3120 (2.3 %)") &&
                          ContainsSubstring("skipped: blocks 0 of 6 (0.0 %)"));
}

TEST_CASE("the program takes a problem of nothing", "[program]") {
  const Words small = {"--k", "4"};
  for (const Words& sizes : {Words{"--batch", "0", "--m", "8", "--n", "9"},
                             Words{"--batch", "2", "--m", "0", "--n", "9"},
                             Words{"--batch", "2", "--m", "8", "--n", "0"}}) {
    const ProgramRun run = run_program(small + sizes);
    INFO(run.command);
    CHECK(run.status == 0);
    for (const std::string& row : all_rows_of_table) CHECK(run.row(row).check == "ok");
    CHECK_THAT(run.out, ContainsSubstring("kept: elements 0 of 0 (0.0 %)"));
  }
}

TEST_CASE("the program finds one wrong element of a small product", "[program]") {
  const Words sizes = {"--batch", "2", "--m", "40", "--n", "50", "--k", "8"};
  check_wrong(run_spoiled(sizes, {"four_blocks", 2000 + 39 * 50 + 49, 1, 0.01f}),
              {"1 of 4000 elements", "C[1][39][49]", "M=40 N=50 K=8"});
}

// Of a large product 64 rows are compared, or as many as the host can afford.
TEST_CASE("the program compares some rows of a large product", "[program]") {
  const ProgramRun run = run_as_large({"--batch", "2", "--m", "33", "--n", "50", "--k", "8",
                                       "--mask", "random:0.5", "--kernel", "four_blocks"},
                                      1000, {"four_blocks", 65 * 50, 50, 10});
  // Infinity and 10 are infinity: half of the last row is wrong.
  check_wrong(run, {" of 3200 checked elements (64 of 66 rows)", "C[1][32][", "row 32 of 33"});
}

TEST_CASE("the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--batch", "2", "--m", "40", "--n", "50", "--k", "8"});
}

}  // namespace
}  // namespace tutorial::masked_bmm
