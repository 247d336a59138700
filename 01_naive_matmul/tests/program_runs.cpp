// The chapter's program: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include "01_naive_matmul.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::naive_matmul {
namespace {

TEST_CASE("the program checks every step, and says what the least work is", "[program]") {
  const ProgramRun run = run_program({"--m", "40", "--n", "30", "--k", "20"});
  // 2·40·30·20 FLOP; 4·(40·20 + 20·30 + 40·30) bytes
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 48000, .bytes = 10400});
  CHECK_THAT(run.out, ContainsSubstring("C[40×30] = A[40×20] · B[20×30], fp32\n"
                                        "48.0 kFLOP, at least 10.4 kB, 4.62 FLOP/byte"));
}

TEST_CASE("the program finds one wrong element of a small product", "[program]") {
  const Words sizes = {"--m", "40", "--n", "30", "--k", "20"};
  check_all_right(run_stand_in(sizes), names_of(steps) + Words{"cuBLAS"},
                  {.flop = 48000, .bytes = 10400});
  check_wrong(run_stand_in(sizes, {.first = 17 * 30 + 4, .count = 1, .by = 0.01f}), "uncoalesced",
              {"1 of 1200 elements", "C[17][4]", "M=40 N=30 K=20"});
}

// Beyond 2·10^8 products 16 rows are compared, and all rows by their sums: the one finds an error
// that is large for an element, the other one that is large for a row of 2000.
TEST_CASE("the program checks a large product by rows and sums", "[program]") {
  const Words large = {"--m", "110", "--n", "2000", "--k", "1000", "--kernel", "uncoalesced"};
  const auto wrong_from = [&](int64_t row, int64_t col, int64_t count, float by) {
    return run_stand_in(large, {.first = row * 2000 + col, .count = count, .by = by});
  };
  const int64_t other = row_not_compared(110, 16);
  const Words by_sums = {"1 of 110 rows are wrong (Freivalds' check",
                         "the worst is row " + std::to_string(other) + " of C"};
  SECTION("which is right") {
    const ProgramRun run = run_stand_in(large);
    check_all_right(run, {"uncoalesced"}, {.flop = 4.4e8, .bytes = 9.32e6});
    CHECK_THAT(run.out, ContainsSubstring("440 MFLOP, at least 9.32 MB, 47.2 FLOP/byte"));
  }
  SECTION("a small error in the last row, which is always compared") {
    check_wrong(wrong_from(109, 1999, 1, 0.5f), "uncoalesced",
                {"1 of 32000 checked elements (16 of 110 rows)", "C[109][1999]"});
  }
  SECTION("one element, in a row that is not compared") {
    check_wrong(wrong_from(other, 7, 1, 100), "uncoalesced", by_sums);
  }
  SECTION("a whole row that is not compared") {
    check_wrong(wrong_from(other, 0, 2000, 100), "uncoalesced", by_sums);
  }
}

}  // namespace
}  // namespace tutorial::naive_matmul
