// The chapter's program: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include "04_softmax.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::softmax {
namespace {

TEST_CASE("the program checks every step, and says what the least work is", "[program]") {
  const ProgramRun run = run_program({"--rows", "5", "--cols", "300"});
  // 5 FLOP an element, which is read and written once.
  check_all_right(run, names_of(steps) + Words{"plain copy of x"},
                  {.flop = 5 * 1500, .bytes = 8 * 1500});
  CHECK_THAT(run.out, ContainsSubstring("y[5×300] = softmax of each row of x, fp32\n"
                                        "7.50 kFLOP, at least 12.0 kB, 0.62"));
  // One warp has a row a thread, which it reads three times and writes: 5 sectors a request.
  check_counted(run.row("thread_per_row"), {{"global_load_bytes", 3 * 4 * 1500},
                                            {"global_store_bytes", 4 * 1500},
                                            {"load_requests", 3 * 300},
                                            {"load_sectors", 3 * 1500},
                                            {"store_requests", 300},
                                            {"store_sectors", 1500}});
  check_counted(run.row("online"),
                {{"global_load_bytes", 2 * 4 * 1500}, {"global_store_bytes", 4 * 1500}});
  check_counted(run.row("row_on_chip"),
                {{"global_load_bytes", 4 * 1500}, {"global_store_bytes", 4 * 1500}});
  const Cost copy = run.row("plain copy of x").cost;
  CHECK((copy.flop == 0 && copy.bytes == 8 * 1500));
}

TEST_CASE("the program finds one wrong element of a small matrix", "[program]") {
  check_wrong(run_spoiled({"--rows", "5", "--cols", "300", "--kernel", "thread_per_row"},
                          {"thread_per_row", 4 * 300 + 299, 1, 1e-6f}),
              {"1 of 1500 elements", "y[4][299]", "rows=5 cols=300"});
}

// Of a large matrix some rows are compared, and the sum of every row.
TEST_CASE("the program checks a large matrix by rows and sums", "[program]") {
  const int64_t rows = 21, cols = 40, compared = 12;
  const auto wrong = [](int64_t first, int64_t count, float by) {
    return run_as_large({"--rows", "21", "--cols", "40", "--kernel", "thread_per_row"},
                        (compared - 2) * cols, {"thread_per_row", first, count, by});
  };
  SECTION("which is right") {
    check_all_right(wrong(0, 0, 0), {"thread_per_row"},
                    {.flop = 5.0 * rows * cols, .bytes = 8.0 * rows * cols});
  }
  SECTION("a small error in the last row, which is always compared") {
    check_wrong(wrong(rows * cols - 1, 1, 1e-6f),
                {"1 of 480 checked elements (12 of 21 rows)", "y[20][39]"});
  }
  SECTION("one element, in a row that is not compared") {
    const int64_t row = row_not_compared(rows, compared);
    check_wrong(wrong(row * cols + 17, 1, 0.01f),
                {"1 of 21 elements", "row sum[" + std::to_string(row) + "][0]"});
  }
}

TEST_CASE("the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--rows", "5", "--cols", "300"});
}

}  // namespace
}  // namespace tutorial::softmax
