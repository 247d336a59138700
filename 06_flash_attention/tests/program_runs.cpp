// The chapter's program: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include "tests/attention_problems.hpp"

namespace tutorial::flash_attention {
namespace {

Words sizes(const char* heads, const char* kv_heads, const char* queries, const char* keys) {
  return {"--batch", "1",     "--heads",  heads, "--kv-heads", kv_heads,
          "--seq",   queries, "--seq-kv", keys,  "--head-dim", "8"};
}

TEST_CASE("the program checks every step beside chapter 05, and says what the least work is",
          "[program]") {
  const ProgramRun run = run_program(sizes("2", "1", "12", "12"));
  // Of a head 1 + 2 + … + 12 = 78 pairs of query and key, 4·8 FLOP each. 24 rows of q and out, 12
  // of k and v, of 8 floats; and lse.
  check_all_right(run, names_of(steps) + Words{"chapter 05", "05, not fused"},
                  {.flop = 2 * 78 * 32, .bytes = 8 * (24 + 12) * 8 + 4 * 24});
  // Each of two heads reads its 12 rows of q, and the 12 of k and v for itself; lse.
  check_counted(run.row("q_outer"), {{"global_load_bytes", 4 * 8 * (24 + 2 * 2 * 12)},
                                     {"global_store_bytes", 4 * (24 * 8 + 24)}});
  // Chapter 05 reads 16 bytes of a row of scores at a time, 3 quarters of the rows after another,
  // writes the row, and 48 bytes of pointers a head. Not fused it reads a head's 78 scores and
  // three times 144, and writes 144 twice more than q, k and v are permuted.
  check_counted(run.row("chapter 05"), {{"global_load_bytes", 4 * 2 * 4 * (4 + 8 + 12)},
                                        {"global_store_bytes", 4 * 2 * 144 + 48 * 2}});
  check_counted(run.row("05, not fused"), {{"global_load_bytes", 4 * 2 * (78 + 3 * 144)},
                                           {"global_store_bytes", 4 * 2 * 3 * 144}});
  CHECK_THAT(run.out, ContainsSubstring(
                          "out[1×2×12×8] = softmax(q·kᵀ/√8)·v, 12 keys, 1 key and value heads, "
                          "causal, fp32\n4.99 kFLOP, at least 2.40 kB, 2.08 FLOP/byte"));
  CHECK_THAT(run.out, ContainsSubstring("chapter 05 2.30 kB for S and P (8·B·NH·Tq·Tk); the steps "
                                        "96 B for lse"));
}

TEST_CASE("the rows of chapter 05 have the right heads, where several share keys", "[program]") {
  const Words shared = {"--batch", "2",     "--heads", "4",          "--kv-heads",
                        "2",       "--seq", "5",       "--head-dim", "4"};
  const ProgramRun run = run_program(shared);
  // 8 heads with 15 pairs; 40 rows of q and out, 20 of k and v.
  check_all_right(run, names_of(steps) + Words{"chapter 05", "05, not fused"},
                  {.flop = 8 * 15 * 16, .bytes = 8 * (40 + 20) * 4 + 4 * 40});
  check_counted(run.row("05, not fused"), {{"global_load_bytes", 4 * 8 * (15 + 3 * 25)},
                                           {"global_store_bytes", 4 * 8 * 3 * 25}});
}

TEST_CASE("the program counts the keys that each query sees", "[program]") {
  const auto costs = [](const Words& options, double pairs, double bytes) {
    const ProgramRun run = run_program(options + Words{"--kernel", "q_outer"});
    check_all_right(run, {"q_outer"}, {.flop = 32 * pairs, .bytes = bytes});
  };
  // Bottom right: the first of 10 queries sees 5 of 14 keys; the first 4 of 14 see none of 10.
  costs(sizes("2", "2", "10", "14"), 2 * (10 * 4 + 55), 8 * (20 + 28) * 8 + 4 * 20);
  costs(sizes("1", "1", "14", "10"), 55, 8 * (14 + 10) * 8 + 4 * 14);
  costs(sizes("1", "1", "14", "10") + Words{"--full"}, 140, 8 * (14 + 10) * 8 + 4 * 14);

  const ProgramRun all = run_program(sizes("1", "1", "5", "4"));
  check_all_right(all, names_of(steps), {.flop = 320, .bytes = 8 * (5 + 4) * 8 + 4 * 5});
  CHECK_THAT(all.out,
             ContainsSubstring("chapter 05 is left out: it needs as many keys as queries"));
}

TEST_CASE("the program finds one wrong element of out, and of lse", "[program]") {
  const Words small = sizes("2", "1", "12", "13") + Words{"--kernel", "kv_outer"};
  check_wrong(run_spoiled(small, {"kv_outer", 191, 1, 0.001f}),
              {"1 of 192 elements", "out[1][11][7]", "heads=2 kv-heads=1 seq=12 seq-kv=13"});
  check_wrong(run_spoiled(small, {"kv_outer", 192 + 23, 1, 0.001f}),
              {"1 of 24 elements", "lse[1][11][0]"});
}

// Of a large one 64 rows are compared, or as many as the host can afford. Beside the wrong step
// another one is right.
TEST_CASE("the program compares some rows of a large result", "[program]") {
  const Words two = {"--kernel", "kv_outer,q_outer"};
  const ProgramRun run =
      run_as_large(sizes("1", "1", "66", "70") + two, 1000, {"kv_outer", 65 * 8, 1, 1});
  check_wrong(run, {"1 of 512 checked elements (64 of 66 rows)", "out[65][0]"});
}

TEST_CASE("the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, sizes("2", "1", "12", "12"));
}

}  // namespace
}  // namespace tutorial::flash_attention
