// The chapter's program: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include <cmath>

#include "01_naive_matmul.hpp"
#include "common/testing/folder.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::naive_matmul {
namespace {

TEST_CASE("the program checks every step, and says what the least work is", "[program]") {
  const ProgramRun run = run_program({"--m", "40", "--n", "30", "--k", "20"});
  // 2·40·30·20 FLOP; 4·(40·20 + 20·30 + 40·30) bytes
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 48000, .bytes = 10400});
  CHECK_THAT(run.out, ContainsSubstring("C[40×30] = A[40×20] · B[20×30], fp32\n"
                                        "48.0 kFLOP, at least 10.4 kB, 4.62 FLOP/byte"));
  // Each of 1200 threads loads 2·20 floats and stores one.
  for (const char* step : {"uncoalesced", "coalesced"})
    check_counted(run.row(step), {{"global_load_bytes", 4 * 1200 * 40},
                                  {"global_store_bytes", 4 * 1200},
                                  {"shared_loads", 0},
                                  {"barriers", 0}});
}

TEST_CASE("the program says the error and its bound where both are known", "[program]") {
  const Folder folder;  // of numbers that all are 1/4
  const ProgramRun run =
      run_program({"--m", "3", "--n", "5", "--k", "20", "--input",
                   "a=" + folder.tensor("a.npy", {3, 20}), "b=" + folder.tensor("b.npy", {20, 5})});
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 600, .bytes = 4 * 175});
  for (const ProgramRun::Row& row : run.rows) {
    CAPTURE(row.name);
    CHECK(row.number("max_error") == 0);
    // γ of 20 terms, 20·2^-24 and a little, of 20 products of 1/16.
    CHECK(std::abs(row.number("bound") / (20 * 0x1p-24 * 20 / 16) - 1) < 2e-6);
  }
}

TEST_CASE("the program finds one wrong element of a small product", "[program]") {
  const Words sizes = {"--m", "40", "--n", "30", "--k", "20"};
  check_wrong(run_spoiled(sizes, {"uncoalesced", 17 * 30 + 4, 1, 0.01f}),
              {"1 of 1200 elements", "C[17][4]", "M=40 N=30 K=20"});
}

TEST_CASE("the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--m", "40", "--n", "30", "--k", "20"});
}

TEST_CASE("the program checks a large product by rows and sums", "[program]") {
  check_large_product(TUTORIAL_TESTS, "uncoalesced");
}

}  // namespace
}  // namespace tutorial::naive_matmul
