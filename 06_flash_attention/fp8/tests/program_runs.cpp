// The program's part: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include "fp8/tests/check_step.hpp"

namespace tutorial::flash_attention::fp8 {
namespace {

Words sizes(const char* heads, const char* kv_heads, const char* queries, const char* keys) {
  return {"--batch", "1",     "--heads",  heads, "--kv-heads", kv_heads,
          "--seq",   queries, "--seq-kv", keys,  "--head-dim", "16"};
}

TEST_CASE("fp8 attention: the program checks every step, and says that it rounds", "[program]") {
  runnable(steps);
  const ProgramRun run = run_program(sizes("2", "1", "12", "14"));
  std::vector<std::string> rows = names_of(steps);
  rows.push_back("bf16, head_sizes");
  // Of a head 3 + 4 + … + 14 = 102 pairs of query and key, 4·16 FLOP each. 24 rows of q and 14 of k
  // and v, of 16 bytes, out of twice as many; and lse.
  check_all_right(run, rows, {.flop = 2 * 102 * 64, .bytes = (3 * 24 + 2 * 14) * 16 + 4 * 24});
  CHECK_THAT(run.out, ContainsSubstring("out[1×2×12×16] = softmax(q·kᵀ/√16)·v, 14 keys, 1 key and "
                                        "value heads, causal, e4m3"));
  CHECK_THAT(run.out, ContainsSubstring("is divided by its scale and rounded to e4m3"));
}

TEST_CASE("fp8 attention: the program finds one wrong element of out, and of lse", "[program]") {
  runnable(steps);
  const Words small = sizes("2", "1", "12", "13") + Words{"--kernel", "transposed_as_loaded"};
  check_wrong(run_spoiled(small, {"transposed_as_loaded", 383, 1, 2.0f}),
              {"1 of 384 elements", "out[1][11][15]", "heads=2 kv-heads=1 seq=12 seq-kv=13"});
  check_wrong(run_spoiled(small, {"transposed_as_loaded", 384 + 23, 1, 0.1f}),
              {"1 of 24 elements", "lse[1][11][0]"});
}

TEST_CASE("fp8 attention: the program says how far 8 bits and 16 are off", "[program]") {
  runnable(steps);
  const ProgramRun run = run_program(sizes("2", "2", "100", "200"));
  CHECK_THAT(run.out, ContainsSubstring("error of out against double, of 200 rows"));
  const auto errors_of = [&](const std::string& name) {
    const size_t at = run.out.find("\n  " + name + " ", run.out.find("error of out"));
    REQUIRE(at != std::string::npos);
    return std::pair(std::stod(run.out.substr(at + 24, 8)), std::stod(run.out.substr(at + 38)));
  };
  // Rounded are q, k and v, and the weights; to bf16 1/32 as much.
  for (const std::string& name : names_of(steps)) {
    const auto [of_all, of_weights] = errors_of(name);
    CHECK((of_all > 0.02 && of_all < 0.06));
    CHECK((of_weights > 0.01 && of_weights < 0.03));
  }
  CHECK(errors_of("bf16, head_sizes").first < 0.005);
  // Without keys out is zeros, of which an error is no part.
  const ProgramRun none = run_program(sizes("1", "1", "4", "0"));
  CHECK(none.status == 0);
  CHECK_THAT(none.out, ContainsSubstring("0.0e+00") && !ContainsSubstring("nan"));
}

TEST_CASE("fp8 attention: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, sizes("2", "1", "12", "12"));
}

}  // namespace
}  // namespace tutorial::flash_attention::fp8
