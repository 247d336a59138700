// What the tests of this part share: one way to check a step. The problems are part tensor_cores'.
#pragma once

#include "hopper/hopper.hpp"
#include "tensor_cores/tests/problems.hpp"

namespace tutorial::flash_attention::hopper {

using tensor_cores::check_problem_asks;
using tensor_cores::check_problem_in_two_streams;
using tensor_cores::in_bf16;
using tensor_cores::Offsets;
using tensor_cores::reference_of;

/// Rounds the problem and checks out and lse, where the step takes the head size.
void check_step(const Step<Launcher>& step, const Problem& problem, Offsets offsets = {});
/// With the causal mask and without.
void check_both(const Step<Launcher>& step, Attention shape,
                const std::function<Problem(const Attention&)>& make);

}  // namespace tutorial::flash_attention::hopper
