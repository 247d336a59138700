#include "hopper/tests/problems.hpp"

#include "common/data/narrow.hpp"
#include "common/testing/asked_for.hpp"

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

void check_asks(const Step<Launcher>& step, const Attention& shape, int64_t offset) {
  CAPTURE(step.name, text(shape));
  const Problem p = normal_problem(shape);
  const DeviceBuffer<bf16> q(narrowed<bf16>(p.q), offset), k(narrowed<bf16>(p.k)),
      v(narrowed<bf16>(p.v));
  DeviceBuffer<bf16> out(shape.rows() * shape.HS);
  DeviceBuffer<float> lse(shape.rows());
  DeviceBuffer<std::byte> memory(workspace_bytes(shape));
  check_asked_for(step, [&](auto run) {
    return run(shape, q.data(), k.data(), v.data(), out.data(), lse.data(), workspace_in(memory),
               nullptr);
  });
}

}  // namespace tutorial::flash_attention::hopper
