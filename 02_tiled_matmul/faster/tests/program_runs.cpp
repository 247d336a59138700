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
  // One tile of 128×128 loads all once; from step 4 on it copies what is beyond an edge, too.
  check_counted(run.row("alpha_beta"), {{"global_load_bytes", 4 * (40 * 20 + 20 * 30)},
                                        {"global_store_bytes", 4 * 40 * 30}});
  check_counted(run.row("clamped_edges"),
                {{"global_load_bytes", 4 * (256 + 128) * 20}, {"global_store_bytes", 4 * 40 * 30}});
}

TEST_CASE("the program adds to what C held, and counts that C is read", "[program]") {
  const Words scaled = SIZES + Words{"--alpha", "2", "--beta", "3"};
  const ProgramRun run = run_program(scaled);
  // 4·(40·20 + 20·30 + 2·40·30) bytes
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 48000, .bytes = 15200});
  CHECK_THAT(run.out, ContainsSubstring("C[40×30] = 2 · A[40×20] · B[20×30] + 3 · C, fp32\n"));
  check_wrong(run_spoiled(scaled + Words{"--kernel", "alpha_beta"}, {"alpha_beta", 1199, 1, 0.01f}),
              {"1 of 1200 elements", "C[39][29]"});
}

TEST_CASE("the program checks a large product by rows and sums", "[program]") {
  check_large_product(TUTORIAL_TESTS, "alpha_beta");
}

TEST_CASE("the program checks 64 rows of a large product with alpha and beta", "[program]") {
  const Words sizes = {"--m",     "110", "--n",    "20", "--k",      "10",
                       "--alpha", "2",   "--beta", "3",  "--kernel", "alpha_beta"};
  const auto wrong = [&](int64_t first, int64_t count) {
    return run_as_large(sizes, 20000, {"alpha_beta", first, count, 0.5f});
  };
  check_all_right(wrong(0, 0), {"alpha_beta"}, {.flop = 44000, .bytes = 22800});
  check_wrong(wrong(0, 1), {"1 of 1280 checked elements (64 of 110 rows)", "C[0][0]"});
  // Of three neighbours one is compared.
  check_wrong(wrong(50 * 20, 60), {" of 1280 checked elements"});
}

TEST_CASE("the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, SIZES);
}

}  // namespace
}  // namespace tutorial::tiled_matmul::faster
