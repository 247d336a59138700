#include "hopper/tests/problems.hpp"

namespace tutorial::flash_attention::hopper {

void check_step(const Step<Launcher>& step, const Problem& problem, Offsets offsets) {
  if (!is_in_sample(step.name) || problem.shape.HS > largest_head_size(step.launch)) return;
  tensor_cores::check_problem(step, problem, offsets, workspace_bytes(problem.shape), step.launch);
}

void check_both(const Step<Launcher>& step, Attention shape,
                const std::function<Problem(const Attention&)>& make) {
  for (bool causal : {true, false}) {
    shape.causal = causal;
    check_step(step, make(shape));
  }
}

}  // namespace tutorial::flash_attention::hopper
