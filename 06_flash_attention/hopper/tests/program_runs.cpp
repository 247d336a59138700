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
  // Each of two heads reads its 12 rows of q, and the 14 of k and v for itself; lse.
  check_counted(run.row("warpgroups"), {{"global_load_bytes", 2 * 8 * (24 + 2 * 2 * 14)},
                                        {"global_store_bytes", 2 * 24 * 8 + 4 * 24}});
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

TEST_CASE("hopper: the program takes a length for each sequence", "[program]") {
  const auto words = [](const char* batch, const char* keys) -> Words {
    return {"--batch",  batch, "--heads",    "1", "--seq",     keys,
            "--seq-kv", keys,  "--head-dim", "8", "--lengths", "12,3"};
  };
  const Words two = words("2", "12");
  const ProgramRun run = run_program(two);
  CHECK(run.status == 0);
  CHECK(run.rows.size() == 1);
  // 78 pairs and 6, 4·8 FLOP each; 24 rows of out, and 15 of q, k and v; and lse.
  CHECK(run.row("lengths").check == "ok");
  CHECK(run.row("lengths").cost.flop == 84 * 32);
  CHECK(run.row("lengths").cost.bytes == 2 * (24 + 45) * 8 + 4 * 24);
  CHECK_THAT(run.out, ContainsSubstring("queries and keys have lengths: 15 of 24 tokens"));
  CHECK(run_program(two + Words{"--layout", "qkv"}).status == 0);
  const ProgramRun three = run_program(words("3", "12"));
  CHECK(three.status == 2);
  CHECK_THAT(three.err, ContainsSubstring("--lengths names 2 lengths, and there are 3 sequences"));
  const ProgramRun long_one = run_program(words("2", "11"));
  CHECK(long_one.status == 2);
  CHECK_THAT(long_one.err, ContainsSubstring("--lengths"));
}

TEST_CASE("hopper: the program takes other layouts, in the steps that do", "[program]") {
  for (const char* layout : {"bthd", "qkv"}) {
    const ProgramRun run = run_program(sizes("2", "1", "12", "12") + Words{"--layout", layout});
    CHECK(run.status == 0);
    CHECK(run.rows.size() == 3);
    CHECK(run.row("layouts").check == "ok");
    CHECK(run.row("lengths").check == "ok");
    CHECK(run.row("permuted first").check == "ok");
  }
}

TEST_CASE("hopper: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, sizes("2", "1", "12", "12"));
  // Those that take another layout, and the row beside them.
  check_every_row_can_fail(TUTORIAL_TESTS, sizes("2", "1", "4", "4") + Words{"--layout", "bthd"});
}

}  // namespace
}  // namespace tutorial::flash_attention::hopper
