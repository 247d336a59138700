// The chapter's program: what it computes, says and finds.
#include "common/testing/program_run.hpp"

#include "tests/attention_testing.hpp"

namespace tutorial::unfused_attention {
namespace {

const Words small = {"--batch", "2", "--seq", "10", "--channels", "6", "--heads", "2"};

TEST_CASE("the program says that products are in TF32, and takes a problem of nothing",
          "[program]") {
  const ProgramRun tf32 = run_program(small + Words{"--tf32", "--kernel", "unfused"});
  CHECK(tf32.status == 0);
  CHECK_THAT(tf32.out, ContainsSubstring("2 heads of 3, products in TF32, blocks of"));
  CHECK(tf32.row("scores (cuBLAS, TF32)").check == "ok");
  const ProgramRun nothing = run_program({"--batch", "0", "--seq", "10", "--channels", "6"});
  check_all_right(nothing, names_of(steps), {});
}

TEST_CASE("the program checks every stage and step, and says what the least work is", "[program]") {
  const Words rows = {"permute", "scores (cuBLAS, fp32)", "scale_mask",
                      "softmax", "values (cuBLAS, fp32)", "unpermute",
                      "unfused", "scale_mask_softmax",    "fused_softmax",
                      "strided", "masked_softmax",        "row_in_registers"};
  const ProgramRun causal = run_program(small);
  // 20 queries see 5.5 keys each on average: 4 FLOP for each and each of 6 channels. qkv and out.
  check_all_right(causal, rows, {.flop = 4 * 110 * 6, .bytes = 16 * 20 * 6});
  CHECK_THAT(causal.out, ContainsSubstring("out (2, 10, 6) = causal attention of qkv, 2 heads of "
                                           "3, fp32, blocks of 256 threads\n"
                                           "2.64 kFLOP, at least 1.92 kB, 1.38 FLOP/byte"));
  CHECK_THAT(causal.out, ContainsSubstring("qkv 1.44 kB") && ContainsSubstring("out 480 B each") &&
                             ContainsSubstring("preatt and att 1.60 kB each"));
  check_all_right(run_program(small + Words{"--full", "--kernel", "strided"}), {"strided"},
                  {.flop = 4 * 200 * 6, .bytes = 16 * 20 * 6});

  // permute, scale_mask, softmax (three times 400) and unpermute; cuBLAS counts nothing. Later 220
  // seen scores are read once. 48 bytes of pointers a head.
  check_counted(causal.row("unfused"), {{"global_load_bytes", 4 * (360 + 220 + 3 * 400 + 120)},
                                        {"global_store_bytes", 4 * (360 + 400 + 2 * 400 + 120)}});
  check_counted(causal.row("row_in_registers"),
                {{"global_load_bytes", 4 * 220}, {"global_store_bytes", 4 * 400 + 48 * 4}});
  check_counted(causal.row("permute"),
                {{"global_load_bytes", 4 * 360}, {"global_store_bytes", 4 * 360}});

  // Of the stages: 120 elements of q, k, v or out; 400 scores, of which 220 are seen.
  CHECK(causal.row("permute").cost.bytes == 24 * 120);
  CHECK(causal.row("scores (cuBLAS, fp32)").cost.flop == 2 * 400 * 3);
  CHECK(causal.row("scores (cuBLAS, fp32)").cost.bytes == 8 * 120 + 4 * 400);
  CHECK(causal.row("scale_mask").cost.bytes == 4 * 220 + 4 * 400);
  CHECK(causal.row("softmax").cost.bytes == 8 * 400);
  CHECK(causal.row("values (cuBLAS, fp32)").cost.flop == 2 * 400 * 3);
  CHECK(causal.row("values (cuBLAS, fp32)").cost.bytes == 4 * 400 + 8 * 120);
  CHECK(causal.row("unpermute").cost.bytes == 8 * 120);
  CHECK(causal.row("scale_mask_softmax").cost.bytes == 4 * 220 + 4 * 400);
  CHECK(causal.row("masked_softmax").cost.bytes == 4 * 220 + 4 * 400);
}

TEST_CASE("the program finds one wrong element of a small result", "[program]") {
  check_wrong(run_spoiled(small, {"unfused", 119, 1, 0.001f}),
              {"1 of 120 elements", "out[1][9][5]", "batch=2 seq=10 channels=6 heads=2"});
}

TEST_CASE("the program compares some rows of a large result", "[program]") {
  // A row takes 10·(2·6 + 20·2) = 520 steps of the reference.
  check_wrong(
      run_as_large(small + Words{"--kernel", "unfused,strided"}, 15 * 520, {"unfused", 119, 1, 1}),
      {"1 of 96 checked elements (16 of 20 rows)", "out[1][9][5]"});
}

TEST_CASE("the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS,
                           {"--batch", "1", "--seq", "4", "--channels", "6", "--heads", "2"});
}

}  // namespace
}  // namespace tutorial::unfused_attention
