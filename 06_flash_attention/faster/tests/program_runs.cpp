// The part's program: what it computes, says and finds.
#include "common/testing/program_run.hpp"
#include "common/testing/testing.hpp"
#include "faster/faster.hpp"

namespace tutorial::flash_attention::faster {
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
  check_counted(run.row("larger_tiles"), {{"global_load_bytes", 4 * 8 * (24 + 2 * 2 * 12)},
                                          {"global_store_bytes", 4 * (24 * 8 + 24)}});
  const ProgramRun no_chapter_05 = run_program(sizes("1", "1", "5", "4"));
  check_all_right(no_chapter_05, names_of(steps), {.flop = 320, .bytes = 8 * (5 + 4) * 8 + 4 * 5});
  CHECK_THAT(no_chapter_05.out,
             ContainsSubstring("chapter 05 is left out: it needs as many keys as queries"));
}

TEST_CASE("the program finds one wrong element of out, and of lse", "[program]") {
  const Words small = sizes("2", "1", "12", "13") + Words{"--kernel", "larger_tiles"};
  check_wrong(run_spoiled(small, {"larger_tiles", 191, 1, 0.001f}),
              {"1 of 192 elements", "out[1][11][7]", "heads=2 kv-heads=1 seq=12 seq-kv=13"});
  check_wrong(run_spoiled(small, {"larger_tiles", 192 + 23, 1, 0.001f}),
              {"1 of 24 elements", "lse[1][11][0]"});
}

TEST_CASE("the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, sizes("2", "1", "12", "12"));
}

}  // namespace
}  // namespace tutorial::flash_attention::faster
