// What the tests of chapter 06 share: problems, and one way to check a step.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "06_flash_attention.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::flash_attention {

inline constexpr float INF = std::numeric_limits<float>::infinity();

struct Problem {
  Attention shape;
  std::vector<float> q, k, v;
};

Problem normal_problem(const Attention& shape);
/// Adds `add(j)` to the score of key j, for all queries.
Problem with_scores(const Attention& shape, const std::function<float(int64_t)>& add);

/// All rows.
Reference reference(const Problem& problem);

/// "B=1 NH=2 …", for messages.
std::string text(const Attention& shape);

/// How far the tensors begin, in floats, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t q = 0, k = 0, v = 0, out = 0, lse = 0, scratch = 0;
};

/// The largest head size that the step takes on every device: its tiles have no more columns.
/// Steps 1 and 2 have no such limit.
int64_t largest_head_size(const Step<Launcher>& step);
/// A head size like this one for which the step has a kernel of its own: large_heads has none up to
/// 128.
int64_t own_head_size(const Step<Launcher>& step, int64_t HS);
/// Does the step need more shared memory for this head size than the device has?
bool is_too_large_here(const Step<Launcher>& step, Attention shape);
/// Checks out and lse, where the device is large enough for the step, and the step does not hand
/// the head size on to the one before it.
void check_step(const Step<Launcher>& step, const Problem& problem, Offsets offsets = {});
/// With the causal mask and without.
void check_both(const Step<Launcher>& step, Attention shape,
                const std::function<Problem(const Attention&)>& make);

}  // namespace tutorial::flash_attention
