// Every step, on scores that its likely mistakes do not survive.
#include <cmath>

#include "attention_problems.hpp"

namespace tutorial::flash_attention {
namespace {

TEST_CASE("every step takes scores of any size", "[values]") {
  const auto step = EACH_STEP(steps);
  for (float shift : {200.0f, -200.0f, -2e4f, 2e4f}) {
    INFO("scores near " << shift);
    check_both(step, {.Tq = 70, .Tk = 130, .HS = 5}, [&](const Attention& shape) {
      return with_scores(shape, [&](int64_t) { return shift; });
    });
  }
}

TEST_CASE("every step rescales when the maximum rises, and when it falls", "[values]") {
  const auto step = EACH_STEP(steps);
  const Attention shape = {.Tq = 33, .Tk = 260, .HS = own_head_size(step, 40)};
  check_both(step, shape, [](const Attention& s) {
    return with_scores(s, [](int64_t j) { return 0.1f * static_cast<float>(j); });
  });
  check_both(step, shape, [](const Attention& s) {
    return with_scores(s, [](int64_t j) { return -0.1f * static_cast<float>(j); });
  });
}

// So many keys that each warp of own_keys has some, and that split_keys gives them to several
// blocks.
TEST_CASE("every step rescales from part to part of the keys", "[values]") {
  const auto step = EACH_STEP(steps);
  if (step.launch != own_keys && step.launch != split_keys) return;  // the others have no parts
  const Attention shape = {.B = 1, .NH = 4, .NH_kv = 2, .Tq = 3, .Tk = 700, .HS = 8};
  for (float slope : {0.1f, -0.1f})
    for (float shift : {0.0f, -200.0f, -2e4f}) {
      INFO("scores near " << shift << " + " << slope << "·j");
      check_both(step, shape, [&](const Attention& s) {
        return with_scores(s, [&](int64_t j) { return shift + slope * static_cast<float>(j); });
      });
    }
  const auto masked = [&](int64_t first, int64_t last, float others) {
    INFO("keys " << first << " to " << last << " are masked, other scores near " << others);
    check_both(step, shape, [&](const Attention& s) {
      return with_scores(s, [&](int64_t j) { return j >= first && j <= last ? -INF : others; });
    });
  };
  masked(0, 255, -100);    // the first parts
  masked(128, 255, -100);  // one of them
  masked(300, 699, 0);     // the last
  masked(0, 699, 0);       // all
}

// A key of −∞ is masked for every query, wherever its tile is.
TEST_CASE("every step survives tiles that are masked from end to end", "[values]") {
  const auto step = EACH_STEP(steps);
  const Attention shape = {.Tq = 140, .Tk = 200, .HS = 5};
  const auto masked = [&](int64_t first, int64_t last, float others) {
    INFO("keys " << first << " to " << last << " are masked, other scores near " << others);
    check_both(step, shape, [&](const Attention& s) {
      return with_scores(s, [&](int64_t j) { return j >= first && j <= last ? -INF : others; });
    });
  };
  masked(0, 63, 0);      // the first tiles
  masked(0, 150, -100);  // and what is left is small: 0 is not a maximum that may be kept
  masked(64, 127, -100);
  masked(130, 199, 0);  // the last ones
  masked(0, 199, 0);    // all
}

TEST_CASE("every step passes NaN and infinite scores on to their queries, and to no others",
          "[values]") {
  const auto step = EACH_STEP(steps);
  const int64_t HS = own_head_size(step, 5);
  Problem problem = normal_problem({.Tq = 40, .Tk = 40, .HS = HS});
  problem.q[3 * HS + 1] = std::nanf("");  // query 3
  problem.k[30 * HS + 2] = INF;           // key 30: +∞ or −∞ for the queries from 30 on
  check_step(step, problem);
}

}  // namespace
}  // namespace tutorial::flash_attention
