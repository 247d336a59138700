// The program: what it computes, says and finds.
#include "common/testing/program_run.hpp"
#include "problems.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

Words sizes(const char* heads, const char* kv_heads, const char* queries, const char* keys) {
  return {"--batch", "1",     "--heads",  heads, "--kv-heads", kv_heads,
          "--seq",   queries, "--seq-kv", keys,  "--head-dim", "8"};
}

TEST_CASE("backward_tensor_cores: the program checks every step", "[program]") {
  runnable(steps);
  const ProgramRun run = run_program(sizes("2", "1", "12", "12"));
  // Of a head 78 pairs, 10·8 FLOP each. 24 rows of q, out, dout and dq, 12 of k, v, dk and dv, of 8
  // numbers of 2 bytes; and lse.
  check_all_right(run, names_of(steps), {.flop = 2 * 78 * 80, .bytes = 8 * (24 + 12) * 8 + 4 * 24});
  CHECK_THAT(run.out,
             ContainsSubstring("dq, dk, dv of softmax(q·kᵀ/√8)·v, q[1×2×12×8], 12 keys, 1 key and "
                               "value heads, causal, bf16"));
}

// Head sizes that no forward pass in bf16 takes, or that one step alone does.
TEST_CASE("backward_tensor_cores: the program takes head sizes of any_shape", "[program]") {
  runnable(steps);
  for (const char* HS : {"7", "60", "136"}) {
    const ProgramRun run = run_program({"--seq", "12", "--seq-kv", "15", "--head-dim", HS});
    INFO(run.command);
    CHECK(run.row("any_shape").check == "ok");
    CHECK_THAT(run.out, ContainsSubstring("take --kernel any_shape."));
  }
}

TEST_CASE("backward_tensor_cores: the program takes problems of nothing", "[program]") {
  runnable(steps);
  for (const Words& options :
       {sizes("0", "0", "12", "12"), sizes("2", "1", "0", "12"), sizes("2", "1", "12", "0")}) {
    const ProgramRun run = run_program(options);
    INFO(run.command);
    CHECK(run.status == 0);
    for (const std::string& step : names_of(steps)) CHECK(run.row(step).check == "ok");
  }
}

TEST_CASE("backward_tensor_cores: the program finds one wrong element of each gradient",
          "[program]") {
  runnable(steps);
  const Words small = sizes("2", "1", "12", "13");
  check_wrong(run_spoiled(small, {"seven_products", 191, 1, 0.5f}),
              {"1 of 192 elements", "dq[1][11][7]"});
  check_wrong(run_spoiled(small, {"seven_products", 192 + 103, 1, 0.5f}),
              {"1 of 104 elements", "dk[12][7]"});
  check_wrong(run_spoiled(small, {"seven_products", 192 + 104, 1, 0.5f}),
              {"1 of 104 elements", "dv[0][0]"});
}

TEST_CASE("backward_tensor_cores: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, sizes("1", "1", "3", "3"));
}

}  // namespace
}  // namespace tutorial::flash_attention::backward_tensor_cores
