// Every step, on scores that its likely mistakes do not survive.
#include <cmath>

#include "few_queries/tests/problems.hpp"

namespace tutorial::flash_attention::few_queries {
namespace {

TEST_CASE("few queries: every step takes scores of any size", "[values]") {
  const auto step = EACH_STEP(steps);
  for (float shift : {200.0f, -200.0f, -2e4f, 2e4f}) {
    INFO("scores near " << shift);
    check_both(step, {.NH = 2, .NH_kv = 1, .Tq = 3, .Tk = 140, .HS = 16},
               [&](const Attention& s) { return with_scores(s, [&](int64_t) { return shift; }); });
  }
}

// Maxima that rise or fall, so that warps, parts and tiles all have others.
TEST_CASE("few queries: every step rescales when the maximum rises, and when it falls",
          "[values]") {
  const auto step = EACH_STEP(steps);
  for (float slope : {0.05f, -0.1f})
    check_both(step, {.NH = 3, .NH_kv = 1, .Tq = 6, .Tk = 400, .HS = 40}, [&](const Attention& s) {
      return with_scores(s, [&](int64_t j) { return slope * static_cast<float>(j); });
    });
}

// Segments as wide as a part of the keys, as the keys of a warp, and of a quad's fragment.
TEST_CASE("few queries: every step takes maxima that rise, fall, jump or are −∞", "[values]") {
  const auto step = EACH_STEP(steps);
  for (const int64_t width : {8, 63, 128}) {
    INFO("segments of " << width << " keys");
    check_step(step, hard_problem(2, width, 16, width % 3 == 0));
  }
}

// A key of −∞ is masked for every query, wherever its tile and its part are.
TEST_CASE("few queries: every step survives keys that are masked from end to end", "[values]") {
  const auto step = EACH_STEP(steps);
  const Attention shape = {.NH = 2, .NH_kv = 1, .Tq = 2, .Tk = 400, .HS = 16};
  const auto masked = [&](int64_t first, int64_t last, float others) {
    INFO("keys " << first << " to " << last << " are masked, other scores near " << others);
    check_both(step, shape, [&](const Attention& s) {
      return with_scores(s, [&](int64_t j) { return j >= first && j <= last ? -INF : others; });
    });
  };
  masked(0, 127, 0);     // the first part
  masked(0, 350, -100);  // and what is left is small: 0 is not a maximum that may be kept
  masked(128, 255, -100);
  masked(260, 399, 0);  // the last ones
  masked(0, 399, 0);    // all
}

TEST_CASE(
    "few queries: every step passes NaN and infinite scores on to their queries, and to no others",
    "[values]") {
  const auto step = EACH_STEP(steps);
  const int64_t HS = 16;
  Problem problem = normal_problem({.NH = 4, .NH_kv = 2, .Tq = 5, .Tk = 300, .HS = HS});
  problem.q[3 * HS + 1] = std::nanf("");  // query 3 of head 0
  problem.k[297 * HS + 2] = INF;          // +∞ or −∞ for queries from 2 on, of heads 0 and 1
  problem.k[420 * HS + 2] = INF;          // key 120 of the other kv head: in another part
  check_step(step, problem);
}

}  // namespace
}  // namespace tutorial::flash_attention::few_queries
