// Every step, on scores that its likely mistakes do not survive.
#include <cmath>

#include "tensor_cores/tests/problems.hpp"

namespace tutorial::flash_attention::tensor_cores {
namespace {

TEST_CASE("tensor cores: every step takes scores of any size", "[values]") {
  const auto step = EACH_STEP(steps);
  for (float shift : {200.0f, -200.0f, -2e4f, 2e4f}) {
    INFO("scores near " << shift);
    check_both(step, {.Tq = 17, .Tk = 130, .HS = 16}, [&](const Attention& shape) {
      return with_scores(shape, [&](int64_t) { return shift; });
    });
  }
}

// In a tile of 64 keys the maximum moves by 9 in log2, which lazy_rescale follows, or by 4.6 or
// 1.8, which it follows after some tiles or never.
TEST_CASE("tensor cores: every step rescales when the maximum rises, and when it falls",
          "[values]") {
  const auto step = EACH_STEP(steps);
  for (float slope : {0.1f, 0.05f, 0.02f, -0.1f})
    check_both(step, {.Tq = 19, .Tk = 300, .HS = 40}, [&](const Attention& shape) {
      return with_scores(shape, [&](int64_t j) { return slope * static_cast<float>(j); });
    });
}

// Segments as wide as a tile, as the keys of a quad's fragment, and a tile's but one.
TEST_CASE("tensor cores: every step takes maxima that rise, fall, jump or are −∞", "[values]") {
  const auto step = EACH_STEP(steps);
  for (const auto& [segments, width] : {std::pair<int, int64_t>{3, 64}, {2, 8}, {2, 63}}) {
    INFO(segments << " segments of " << width << " keys");
    check_step(step, hard_problem(segments, width, 16, width % 3 == 0));
  }
}

// A key of −∞ is masked for every query, wherever its tile is.
TEST_CASE("tensor cores: every step survives tiles that are masked from end to end", "[values]") {
  const auto step = EACH_STEP(steps);
  const Attention shape = {.Tq = 20, .Tk = 200, .HS = 16};
  const auto masked = [&](int64_t first, int64_t last, float others) {
    INFO("keys " << first << " to " << last << " are masked, other scores near " << others);
    check_both(step, shape, [&](const Attention& s) {
      return with_scores(s, [&](int64_t j) { return j >= first && j <= last ? -INF : others; });
    });
  };
  masked(0, 63, 0);      // the first tile
  masked(0, 150, -100);  // and what is left is small: 0 is not a maximum that may be kept
  masked(64, 127, -100);
  masked(130, 199, 0);  // the last ones
  masked(0, 199, 0);    // all
}

TEST_CASE(
    "tensor cores: every step passes NaN and infinite scores on to their queries, and to no "
    "others",
    "[values]") {
  const auto step = EACH_STEP(steps);
  const int64_t HS = 16;
  Problem problem = normal_problem({.Tq = 40, .Tk = 40, .HS = HS});
  problem.q[3 * HS + 1] = std::nanf("");  // query 3
  problem.k[30 * HS + 2] = INF;           // key 30: +∞ or −∞ for the queries from 30 on
  check_step(step, problem);
}

}  // namespace
}  // namespace tutorial::flash_attention::tensor_cores
