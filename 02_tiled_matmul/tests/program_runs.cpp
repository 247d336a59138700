// The chapter's program: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include "02_tiled_matmul.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::tiled_matmul {
namespace {

TEST_CASE("the program checks every step, and says what the least work is", "[program]") {
  const ProgramRun run = run_program({"--m", "40", "--n", "30", "--k", "20"});
  // 2·40·30·20 FLOP; 4·(40·20 + 20·30 + 40·30) bytes
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 48000, .bytes = 10400});
  CHECK_THAT(run.out, ContainsSubstring("C[40×30] = A[40×20] · B[20×30], fp32\n"
                                        "48.0 kFLOP, at least 10.4 kB, 4.62 FLOP/byte"));
  // Of 3×2 tiles of 16×16 each loads its rows of A and its columns of B, whose 20 rows take two
  // turns with two barriers each.
  check_counted(run.row("shared_tile"), {{"global_load_bytes", 4 * (2 * 40 * 20 + 3 * 20 * 30)},
                                         {"global_store_bytes", 4 * 40 * 30},
                                         {"barriers", 6 * 2 * 2},
                                         {"shared_loads", 6 * 256 * 2 * 32}});
  // One tile of 128×128 loads all once.
  check_counted(run.row("conflict_free"), {{"global_load_bytes", 4 * (40 * 20 + 20 * 30)},
                                           {"global_store_bytes", 4 * 40 * 30},
                                           {"shared_load_conflicts", 0},
                                           {"shared_store_conflicts", 0}});
}

TEST_CASE("the program finds one wrong element of a small product", "[program]") {
  check_wrong(run_spoiled({"--m", "40", "--n", "30", "--k", "20", "--kernel", "shared_tile"},
                          {"shared_tile", 1199, 1, 0.01f}),
              {"1 of 1200 elements", "C[39][29]"});
}

TEST_CASE("the program checks a large product by rows and sums", "[program]") {
  check_large_product(TUTORIAL_TESTS, "shared_tile");
}

TEST_CASE("the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--m", "40", "--n", "30", "--k", "20"});
}

}  // namespace
}  // namespace tutorial::tiled_matmul
