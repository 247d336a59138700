// The part's program: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include "common/testing/testing.hpp"
#include "long_rows/long_rows.hpp"

namespace tutorial::softmax::long_rows {
namespace {

TEST_CASE("long rows: the program checks every step, and says what the least work is",
          "[program]") {
  const ProgramRun run = run_program({"--rows", "2", "--cols", "33000"});
  check_all_right(run, names_of(steps) + Words{"plain copy of x"},
                  {.flop = 5 * 66000, .bytes = 8 * 66000});
  CHECK_THAT(run.out, ContainsSubstring("y[2×33000] = softmax of each row of x, fp32\n"
                                        "330 kFLOP, at least 528 kB, 0.62"));
  // Each element is read and written once, in whole sectors of 32 bytes.
  for (const char* step : {"row_in_shared", "cluster", "any_row"})
    check_counted(run.row(step), {{"global_load_bytes", 4 * 66000},
                                  {"global_store_bytes", 4 * 66000},
                                  {"load_sectors", 66000 / 8},
                                  {"store_sectors", 66000 / 8}});
  const Cost copy = run.row("plain copy of x").cost;
  CHECK((copy.flop == 0 && copy.bytes == 8 * 66000));
}

TEST_CASE("long rows: the program finds one wrong element", "[program]") {
  check_wrong(run_spoiled({"--rows", "5", "--cols", "300", "--kernel", "row_in_shared"},
                          {"row_in_shared", 4 * 300 + 299, 1, 1e-6f}),
              {"1 of 1500 elements", "y[4][299]", "rows=5 cols=300"});
}

TEST_CASE("long rows: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--rows", "2", "--cols", "3000"});
}

}  // namespace
}  // namespace tutorial::softmax::long_rows
