// Every step, on scores that its likely mistakes do not survive.
#pragma once

#include <cmath>

#include "tests/check_step.hpp"

namespace tutorial::flash_attention {

template <class Launcher>
void check_scores_of_any_size(const Step<Launcher>& step) {
  for (float shift : {200.0f, -200.0f, -2e4f, 2e4f}) {
    INFO("scores near " << shift);
    check_both(step, {.Tq = 70, .Tk = 130, .HS = 5}, [&](const Attention& shape) {
      return with_scores(shape, [&](int64_t) { return shift; });
    });
  }
}

template <class Launcher>
void check_rescales(const Step<Launcher>& step) {
  const Attention shape = {.Tq = 33, .Tk = 260, .HS = own_head_size(step, 40)};
  check_both(step, shape, [](const Attention& s) {
    return with_scores(s, [](int64_t j) { return 0.1f * static_cast<float>(j); });
  });
  check_both(step, shape, [](const Attention& s) {
    return with_scores(s, [](int64_t j) { return -0.1f * static_cast<float>(j); });
  });
}

/// Segments as wide as the keys of a lane, of the lanes of a row, and of a tile.
template <class Launcher>
void check_hard_scores(const Step<Launcher>& step, const std::vector<int64_t>& widths) {
  for (const int64_t width : widths) {
    INFO("segments of " << width << " keys");
    check_step(step, hard_problem(2, width, own_head_size(step, 16), width % 3 == 0));
  }
}

/// A key of −∞ is masked for every query, wherever its tile is.
template <class Launcher>
void check_masked_tiles(const Step<Launcher>& step) {
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

template <class Launcher>
void check_nan_and_infinities(const Step<Launcher>& step) {
  const int64_t HS = own_head_size(step, 5);
  Problem problem = normal_problem({.Tq = 40, .Tk = 40, .HS = HS});
  problem.q[3 * HS + 1] = std::nanf("");  // query 3
  problem.k[30 * HS + 2] = INF;           // key 30: +∞ or −∞ for the queries from 30 on
  check_step(step, problem);
}

}  // namespace tutorial::flash_attention
