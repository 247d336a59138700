// What a step cannot do it says before it launches.
#pragma once

#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/kernel/error.hpp"
#include "tests/check_step.hpp"

namespace tutorial::flash_attention {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

template <class Launcher>
void check_refusals(const Step<Launcher>& step) {
  const auto launch = [&](const Attention& shape) { launch_step(step, shape); };
  const bool loops = largest_head_size(step) == INT64_MAX;  // any head size, if there is memory
  CHECK_THROWS_MATCHES(
      launch({.Tq = 8, .Tk = 8, .HS = 5000}), Error,
      MessageMatches(ContainsSubstring(loops ? "bytes of shared memory a block; this device allows "
                                             : "head size 5000 is too large for ")));
  CHECK_THROWS_MATCHES(launch({.NH = 6, .NH_kv = 4}), Error,
                       MessageMatches(ContainsSubstring("--heads a multiple of --kv-heads")));
  CHECK_THROWS_AS(launch({.B = 0, .HS = 5000}), Error);  // so the program asks
  CHECK_THROWS_AS(launch({.NH = 6, .NH_kv = 0}), Error);
  CHECK_THROWS_AS(launch({.Tq = -1}), Error);
  CHECK(cudaGetLastError() == cudaSuccess);
}

template <class Launcher>
void check_tiles_for_every_device(const Step<Launcher>& step) {
  const int64_t largest = largest_head_size(step);
  for (int64_t HS : {1, 32, 64, 80, 128, 256}) {
    if (HS > (largest == INT64_MAX ? 64 : largest)) continue;  // the two loops grow with it
    INFO(step.name << ", head size " << HS);
    CHECK_NOTHROW(launch_step(step, {.B = 0, .HS = HS}));
  }
}

template <class Launcher>
void check_too_many_blocks(const Step<Launcher>& step) {
  if (is_too_large_here(step, {})) return;
  const SmallGrid grid(2, 2);
  CHECK_THROWS_MATCHES(
      launch_step(step, {.NH = 3, .NH_kv = 3}), Error,
      MessageMatches(ContainsSubstring("3 blocks are more than the 2 that a grid can have")));
}

/// `by` says so: the step, or the one that it hands the problem to.
template <class Launcher>
void check_larger_head_sizes(const Step<Launcher>& step, const std::string& by) {
  const int64_t largest = largest_head_size(step);
  if (largest == INT64_MAX) return;  // its tiles are as wide as the head
  if (is_too_large_here(step, {.HS = largest})) return;
  CHECK_THROWS_MATCHES(
      launch_step(step, {.HS = largest + 1}), Error,
      MessageMatches(ContainsSubstring("head size " + std::to_string(largest + 1) +
                                       " is too large for " + by) &&
                     ContainsSubstring("takes at most " + std::to_string(largest))));
}

}  // namespace tutorial::flash_attention
