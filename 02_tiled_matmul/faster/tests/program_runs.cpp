// The part's program: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include "common/testing/testing.hpp"
#include "faster/faster.hpp"

namespace tutorial::tiled_matmul::faster {
namespace {

const Words SIZES = {"--m", "40", "--n", "30", "--k", "20"};

TEST_CASE("the program checks every step, and says what the least work is", "[program]") {
  const ProgramRun run = run_program(SIZES);
  // 2·40·30·20 FLOP; 4·(40·20 + 20·30 + 40·30) bytes
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 48000, .bytes = 10400});
  CHECK_THAT(run.out, ContainsSubstring("C[40×30] = A[40×20] · B[20×30], fp32\n"));
}

TEST_CASE("the program adds to what C held, and counts that C is read", "[program]") {
  const Words scaled = SIZES + Words{"--alpha", "2", "--beta", "3"};
  const ProgramRun run = run_program(scaled);
  // 4·(40·20 + 20·30 + 2·40·30) bytes
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 48000, .bytes = 15200});
  CHECK_THAT(run.out, ContainsSubstring("C[40×30] = 2 · A[40×20] · B[20×30] + 3 · C, fp32\n"));
  check_wrong(run_stand_in(scaled + Words{"--kernel", "alpha_beta"}, {1199, 1, 0.01f}),
              "alpha_beta", {"1 of 1200 elements", "C[39][29]"});
}

TEST_CASE("the program checks a large product by rows and sums", "[program]") {
  check_large_product(TUTORIAL_STAND_IN, "alpha_beta");
}

TEST_CASE("the program checks 64 rows of a large product with alpha and beta", "[program]") {
  const Words large = {"--m",     "110", "--n",    "2000", "--k",      "1000",
                       "--alpha", "2",   "--beta", "3",    "--kernel", "alpha_beta"};
  const ProgramRun right = run_stand_in(large);
  check_all_right(right, {"alpha_beta"}, {.flop = 4.4e8, .bytes = 1.02e7});
  check_wrong(run_stand_in(large, {.first = 0, .count = 1, .by = 0.5f}), "alpha_beta",
              {"1 of 128000 checked elements (64 of 110 rows)", "C[0][0]"});
  // Of three neighbours one is compared.
  check_wrong(run_stand_in(large, {.first = 50 * 2000, .count = 6000, .by = 0.5f}), "alpha_beta",
              {" of 128000 checked elements"});
}

}  // namespace
}  // namespace tutorial::tiled_matmul::faster
