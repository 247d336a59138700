// Every step of the road, on shapes, addresses and scores that its likely mistakes do not survive;
// and what it cannot do it says before it launches.
#include "tests/refusals.hpp"
#include "tests/shapes.hpp"
#include "tests/values.hpp"

namespace tutorial::flash_attention {
namespace {

TEST_CASE("every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  check_every_shape(step);
}

TEST_CASE("every step takes any address that a float can have") {
  const auto step = EACH_STEP(steps);
  check_any_address(step);
}

TEST_CASE("every step takes more heads than a grid has blocks in y", "[large]") {
  const auto step = EACH_STEP(steps);
  check_many_heads(step);
}

TEST_CASE("every step takes more than 2^31 elements", "[.large]") {
  const auto step = EACH_STEP(steps);
  check_many_elements(step);
}

TEST_CASE("every step does nothing when there is nothing to do") {
  const auto step = EACH_STEP(steps);
  check_nothing_to_do(step);
}

TEST_CASE("every step takes scores of any size", "[values]") {
  const auto step = EACH_STEP(steps);
  check_scores_of_any_size(step);
}

TEST_CASE("every step rescales when the maximum rises, and when it falls", "[values]") {
  const auto step = EACH_STEP(steps);
  check_rescales(step);
}

TEST_CASE("every step takes maxima that rise, fall, jump or are −∞, in every combination",
          "[values]") {
  const auto step = EACH_STEP(steps);
  check_hard_scores(step, {8, 30, 32});
}

TEST_CASE("every step survives tiles that are masked from end to end", "[values]") {
  const auto step = EACH_STEP(steps);
  check_masked_tiles(step);
}

TEST_CASE("every step passes NaN and infinite scores on to their queries, and to no others",
          "[values]") {
  const auto step = EACH_STEP(steps);
  check_nan_and_infinities(step);
}

TEST_CASE("every step refuses what it cannot do, before it launches") {
  const auto step = EACH_STEP(steps);
  check_refusals(step);
}

TEST_CASE("strides and lengths are refused where a step does not say that it takes them") {
  const int64_t one = 1;
  for (const unsigned takes : {0u, STRIDES, LENGTHS}) {
    const auto is_valid = [&](const Attention& shape) {
      try {
        require_valid(shape, takes);
      } catch (const Error&) {
        return false;
      }
      return true;
    };
    CAPTURE(takes);
    CHECK(is_valid({}));
    CHECK(is_valid({.strides = {.v = {.token = 8}}}) == (takes == STRIDES));
    CHECK(is_valid({.lengths = {.queries = &one}}) == (takes == LENGTHS));
    CHECK(is_valid({.lengths = {.keys = &one}}) == (takes == LENGTHS));
  }
}

TEST_CASE("every step has tiles for every device", "[shapes]") {
  const auto step = EACH_STEP(steps);
  check_tiles_for_every_device(step);
}

TEST_CASE("every step refuses more blocks than a grid has") {
  const auto step = EACH_STEP(steps);
  check_too_many_blocks(step);
}

TEST_CASE("every step with tiles of so many columns refuses larger head sizes") {
  const auto step = EACH_STEP(steps);
  check_larger_head_sizes(step, step.name);
}

}  // namespace
}  // namespace tutorial::flash_attention
