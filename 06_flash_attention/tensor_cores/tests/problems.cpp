#include "tensor_cores/tests/problems.hpp"

namespace tutorial::flash_attention::tensor_cores {

bool is_too_large_here(const Step<Launcher>& step, Attention shape) {
  shape.B = 0;  // so that it launches nothing
  return is_device_too_small(
      step.name, [&] { step.launch(shape, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr); });
}

void check_step(const Step<Launcher>& step, const Problem& problem, Offsets offsets) {
  if (!is_in_sample(step.name)) return;
  const Attention& shape = problem.shape;
  if (shape.HS > largest_head_size(step.launch) || is_too_large_here(step, shape)) return;
  if (step.launch == any_address && offsets.q % 8 == 0) offsets.q += 1;
  check_problem(
      step, problem, offsets, 0,
      [&](const Attention& x, const bf16* q, const bf16* k, const bf16* v, bf16* out, float* lse,
          Workspace, cudaStream_t stream) { step.launch(x, q, k, v, out, lse, stream); });
}

void check_both(const Step<Launcher>& step, Attention shape,
                const std::function<Problem(const Attention&)>& make) {
  for (bool causal : {true, false}) {
    shape.causal = causal;
    check_step(step, make(shape));
  }
}

}  // namespace tutorial::flash_attention::tensor_cores
