// What the tests of this part share: one way to check a step.
#pragma once

#include "fp16/fp16.hpp"
#include "tensor_cores/tests/problems.hpp"

namespace tutorial::flash_attention::fp16 {

using tensor_cores::Offsets;

/// Rounds the problem to fp16 and checks out and lse.
inline void check_step(const Step<Launcher>& step, const Problem& problem, Offsets offsets = {}) {
  if (!is_in_sample(step.name)) return;
  tensor_cores::check_problem<__half>(
      step, problem, offsets, 0,
      [&](const Attention& x, const __half* q, const __half* k, const __half* v, __half* out,
          float* lse, Workspace,
          cudaStream_t stream) { step.launch(x, q, k, v, out, lse, stream); });
}

/// With the causal mask and without.
inline void check_both(const Step<Launcher>& step, Attention shape,
                       const std::function<Problem(const Attention&)>& make) {
  for (bool causal : {true, false}) {
    shape.causal = causal;
    check_step(step, make(shape));
  }
}

}  // namespace tutorial::flash_attention::fp16
