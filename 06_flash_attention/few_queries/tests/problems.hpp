// What the tests of this part share: one way to check a step.
#pragma once

#include "few_queries/few_queries.hpp"
#include "tensor_cores/tests/problems.hpp"

namespace tutorial::flash_attention::few_queries {

using tensor_cores::Offsets;

/// Rounds the problem to bf16 and checks out and lse.
inline void check_step(const Step<Launcher>& step, const Problem& problem, Offsets offsets = {}) {
  if (!is_in_sample(step.name)) return;
  tensor_cores::check_problem(step, problem, offsets, workspace_bytes(problem.shape), step.launch);
}
/// With the causal mask and without.
inline void check_both(const Step<Launcher>& step, Attention shape,
                       const std::function<Problem(const Attention&)>& make) {
  for (bool causal : {true, false}) {
    shape.causal = causal;
    check_step(step, make(shape));
  }
}

}  // namespace tutorial::flash_attention::few_queries
