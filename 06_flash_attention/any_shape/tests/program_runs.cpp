// The part's program: what it computes, says and finds.
#include "any_shape/any_shape.hpp"
#include "common/testing/program_run.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::flash_attention::any_shape {
namespace {

Words sizes(const char* heads, const char* kv_heads, const char* queries, const char* keys) {
  return {"--batch", "1",     "--heads",  heads, "--kv-heads", kv_heads,
          "--seq",   queries, "--seq-kv", keys,  "--head-dim", "8"};
}

TEST_CASE("the program checks every step beside chapter 05", "[program]") {
  const ProgramRun run = run_program(sizes("2", "1", "12", "12"));
  // As the road's: of a head 78 pairs of query and key.
  check_all_right(run, names_of(steps) + Words{"chapter 05", "05, not fused"},
                  {.flop = 2 * 78 * 32, .bytes = 8 * (24 + 12) * 8 + 4 * 24});
  // Each of two heads reads its 12 rows of q, and the 12 of k and v for itself; lse.
  check_counted(run.row("own_keys"), {{"global_load_bytes", 4 * 8 * (24 + 2 * 2 * 12)},
                                      {"global_store_bytes", 4 * (24 * 8 + 24)}});
  // Both heads together read k and v once.
  check_counted(run.row("group_rows"), {{"global_load_bytes", 4 * 8 * (24 + 2 * 12)},
                                        {"global_store_bytes", 4 * (24 * 8 + 24)}});
  const ProgramRun no_chapter_05 = run_program(sizes("1", "1", "5", "4"));
  check_all_right(no_chapter_05, names_of(steps), {.flop = 320, .bytes = 8 * (5 + 4) * 8 + 4 * 5});
  CHECK_THAT(no_chapter_05.out,
             ContainsSubstring("chapter 05 is left out: it needs as many keys as queries"));
}

TEST_CASE("the program shows a copy of k where few queries have many keys", "[program]") {
  const Words few = sizes("2", "1", "1", "70");
  const ProgramRun run = run_program(few);
  check_all_right(run, names_of(steps) + Words{"plain copy of k"},
                  {.flop = 32 * 2 * 70, .bytes = 8 * (2 + 70) * 8 + 4 * 2});
  CHECK(run.row("plain copy of k").cost.bytes == 2 * 4 * 70 * 8);
}

TEST_CASE("the program takes a length for each sequence", "[program]") {
  const Words two = {"--batch",  "2",  "--heads",    "1", "--seq",     "12",
                     "--seq-kv", "12", "--head-dim", "8", "--lengths", "12,3"};
  const ProgramRun run = run_program(two);
  check_all_right(run, {"lengths"}, {.flop = 84 * 32, .bytes = 4 * (24 + 45) * 8 + 4 * 24});
  CHECK_THAT(run.out, ContainsSubstring("queries and keys have lengths: 15 of 24 tokens"));
  CHECK_THAT(run.out, ContainsSubstring("chapter 05 is left out: it knows one length"));
}

TEST_CASE("the program takes a problem without heads", "[program]") {
  const ProgramRun run = run_program(sizes("0", "0", "1", "70"));
  CHECK(run.status == 0);
  CHECK_THAT(run.out, ContainsSubstring("an empty problem: nothing to compute"));
}

TEST_CASE("the program finds one wrong element of out, and of lse", "[program]") {
  const Words small = sizes("2", "1", "12", "13") + Words{"--kernel", "head_sizes"};
  check_wrong(run_spoiled(small, {"head_sizes", 191, 1, 0.001f}),
              {"1 of 192 elements", "out[1][11][7]", "heads=2 kv-heads=1 seq=12 seq-kv=13"});
  check_wrong(run_spoiled(small, {"head_sizes", 192 + 23, 1, 0.001f}),
              {"1 of 24 elements", "lse[1][11][0]"});
}

TEST_CASE("the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, sizes("2", "1", "12", "12"));
  check_every_row_can_fail(TUTORIAL_TESTS, sizes("2", "1", "1", "70"));  // a copy of k beside them
}

}  // namespace
}  // namespace tutorial::flash_attention::any_shape
