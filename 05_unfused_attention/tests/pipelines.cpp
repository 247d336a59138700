// The steps.
#include "tests/every_pipeline.hpp"

namespace tutorial::unfused_attention {
namespace {

TEST_CASE("rows of scores that a warp's registers do not hold") {
  check_long_rows(EACH_STEP(steps));
}
TEST_CASE("an infinite value reaches the queries that are multiplied with it, and no other") {
  check_infinite_value(EACH_STEP(steps));
}
TEST_CASE("what follows on the default stream finds the result") {
  check_default_stream(EACH_STEP(steps));
}
TEST_CASE("any shape, causal and full", "[shapes]") {
  check_any_shape(EACH_STEP(steps));
}
// 18 GB, so it must be asked for by its tag.
TEST_CASE("every pipeline takes more than 2^31 scores", "[.large]") {
  check_large(EACH_STEP(steps));
}
TEST_CASE("an empty problem is left alone") {
  check_empty(EACH_STEP(steps));
}
TEST_CASE("any block size", "[shapes]") {
  check_any_block_size(EACH_STEP(steps));
}
TEST_CASE("more rows of scores than a small grid has blocks") {
  check_small_grid(EACH_STEP(steps));
}
TEST_CASE("any alignment of qkv and out") {
  check_any_alignment(EACH_STEP(steps));
}
TEST_CASE("scores far from zero") {
  check_far_from_zero(EACH_STEP(steps));
}
TEST_CASE("maxima that rise, fall, jump or are -infinity, in every combination", "[values]") {
  check_hard_scores(EACH_STEP(steps));
}
TEST_CASE("products in TF32") {
  check_tf32(EACH_STEP(steps));
}
TEST_CASE("a NaN reaches the queries that see its key, and no other") {
  check_nan_key(EACH_STEP(steps));
}
TEST_CASE("the height of part strips' strips is nothing to the road", "[shapes]") {
  check_any_strip(EACH_STEP(steps));
}

}  // namespace
}  // namespace tutorial::unfused_attention
