// What the tests of this part share: one way to check a step.
#pragma once

#include <functional>

#include "common/testing/asked_for.hpp"
#include "common/testing/two_streams.hpp"
#include "fp8/operands.hpp"
#include "tests/attention_problems.hpp"

namespace tutorial::flash_attention::fp8 {

/// How far the tensors begin, in elements, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t q = 0, k = 0, v = 0, out = 0, lse = 0;
};

/// Does the step hand the problem on to one before it? (The tests of the program and of what is
/// asked for look at these, too.)
bool is_handed_on(const Step<Launcher>& step, const Attention& shape);

/// Rounds the problem and checks out and lse, where the step has a kernel of its own for it.
/// `spoil` may change what was rounded.
void check_step(const Step<Launcher>& step, const Problem& problem, Offsets offsets = {},
                const std::function<void(Operands&)>& spoil = {});
/// With the causal mask and without.
void check_both(const Step<Launcher>& step, Attention shape,
                const std::function<Problem(const Attention&)>& make);

/// The problem with values from 1 to 2: no weight's error is cancelled by another's, so the bound
/// is as tight as a weight's rounding.
Problem with_positive_values(Problem problem);

}  // namespace tutorial::flash_attention::fp8
