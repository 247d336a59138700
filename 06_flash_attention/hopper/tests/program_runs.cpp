// The program's part: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include "hopper/tests/problems.hpp"

namespace tutorial::flash_attention::hopper {
namespace {

Words sizes(const char* heads, const char* kv_heads, const char* queries, const char* keys) {
  return {"--batch", "1",     "--heads",  heads, "--kv-heads", kv_heads,
          "--seq",   queries, "--seq-kv", keys,  "--head-dim", "8"};
}

TEST_CASE("hopper: the program checks every step, and says that it rounds", "[program]") {
  const ProgramRun run = run_program(sizes("2", "1", "12", "14"));
  // Of a head 3 + 4 + … + 14 = 102 pairs of query and key, 4·8 FLOP each. 24 rows of q and out, 14
  // of k and v, of 8 numbers of 2 bytes; and lse.
  check_all_right(run, names_of(steps),
                  {.flop = 2 * 102 * 32, .bytes = 4 * (24 + 14) * 8 + 4 * 24});
  CHECK_THAT(run.out, ContainsSubstring("out[1×2×12×8] = softmax(q·kᵀ/√8)·v, 14 keys, 1 key and "
                                        "value heads, causal, bf16\n6.53 kFLOP, at least 1.31 kB"));
  CHECK_THAT(run.out, ContainsSubstring("q, k and v are rounded to bf16 (to nearest even)"));
}

TEST_CASE("hopper: the program finds one wrong element of out, and of lse", "[program]") {
  const Words small = sizes("2", "1", "12", "13") + Words{"--kernel", "warpgroups"};
  check_wrong(run_spoiled(small, {"warpgroups", 191, 1, 0.1f}),
              {"1 of 192 elements", "out[1][11][7]", "heads=2 kv-heads=1 seq=12 seq-kv=13"});
  check_wrong(run_spoiled(small, {"warpgroups", 192 + 23, 1, 0.001f}),
              {"1 of 24 elements", "lse[1][11][0]"});
}

TEST_CASE("hopper: the program takes other layouts, in the steps that do", "[program]") {
  for (const char* layout : {"bthd", "qkv"}) {
    const ProgramRun run = run_program(sizes("2", "1", "12", "12") + Words{"--layout", layout});
    CHECK(run.status == 0);
    CHECK(run.rows.size() == 2);
    CHECK(run.row("layouts").check == "ok");
    CHECK(run.row("permuted first").check == "ok");
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::hopper
