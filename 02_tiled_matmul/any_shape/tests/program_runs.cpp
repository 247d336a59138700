// The part's program: what it computes, says and finds. Part faster's tests have the rest of what
// both share.
#include "common/testing/program_run.hpp"

#include "any_shape/any_shape.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::tiled_matmul::any_shape {
namespace {

TEST_CASE("the program checks every step, and finds one wrong element", "[program]") {
  const Words sizes = {"--m", "40", "--n", "30", "--k", "20"};
  // 2·40·30·20 FLOP; 4·(40·20 + 20·30 + 40·30) bytes
  const ProgramRun run = run_program(sizes);
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 48000, .bytes = 10400});
  // Its one tile loads all once.
  check_counted(run.row("short_k"), {{"global_load_bytes", 4 * (40 * 20 + 20 * 30)},
                                     {"global_store_bytes", 4 * 40 * 30}});
  check_wrong(run_spoiled(sizes + Words{"--kernel", "thin_tiles"}, {"thin_tiles", 1199, 1, 0.01f}),
              {"1 of 1200 elements", "C[39][29]"});
}

TEST_CASE("the program adds to what C held", "[program]") {
  const ProgramRun run = run_program({"--m", "40", "--n", "30", "--k", "20", "--alpha", "2",
                                      "--beta", "3", "--kernel", "padded_rows"});
  // 4·(40·20 + 20·30 + 2·40·30) bytes
  check_all_right(run, {"padded_rows"}, {.flop = 48000, .bytes = 15200});
  CHECK_THAT(run.out, ContainsSubstring("C[40×30] = 2 · A[40×20] · B[20×30] + 3 · C, fp32\n"));
}

TEST_CASE("the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--m", "40", "--n", "30", "--k", "20"});
}

}  // namespace
}  // namespace tutorial::tiled_matmul::any_shape
