#include "fp8/tests/check_step.hpp"

#include <cmath>

namespace tutorial::flash_attention::fp8 {

bool is_handed_on(const Step<Launcher>& step, const Attention& shape) {
  if (step.launch == third_consumer) return tile_sizes(step.launch, shape).queries < 192;
  return step.launch == wide_tiles && shape.HS <= 64;
}

void check_step(const Step<Launcher>& step, const Problem& problem, Offsets offsets,
                const std::function<void(Operands&)>& spoil) {
  if (!is_in_sample(step.name)) return;
  const Attention& shape = problem.shape;
  if (shape.rows() > 0 && is_handed_on(step, shape)) return;
  const auto& [of_q, of_k, of_v, of_out, of_lse] = offsets;
  INFO(step.name << " " << text(shape) << " offsets q " << of_q << ", k " << of_k << ", v " << of_v
                 << ", out " << of_out << ", lse " << of_lse);
  Operands in(shape, problem.q, problem.k, problem.v, of_q, of_k, of_v);
  if (spoil) spoil(in);
  DeviceBuffer<float> lse(shape.rows(), of_lse);
  DeviceBuffer<std::byte> memory(workspace_bytes(shape));
  const Reference want = reference(shape, in.q.to_host(), in.k.to_host(), in.v.to_host(),
                                   all_rows(shape.rows()), tile_sizes(step.launch, shape).keys);
  check_launch(
      [&](bf16* out) {
        memory.poison();
        step.launch(shape, in.q.values.data(), in.k.values.data(), in.v.values.data(),
                    in.on_device(), out, lse.data(), workspace_in(memory), nullptr);
      },
      want.out,
      {.name = "out",
       .batch = shape.B * shape.NH,
       .rows = shape.Tq,
       .cols = shape.HS,
       .tile = step.tile},
      of_out);
  const Comparison sums = compare(lse.to_host(), want.lse,
                                  {.name = "lse", .batch = shape.B * shape.NH, .rows = shape.Tq});
  if (!sums.ok) FAIL_CHECK(sums.report);
  if (!lse.guards_intact()) FAIL_CHECK("the kernel wrote outside of lse");
  if (!memory.guards_intact()) FAIL_CHECK("the kernel wrote outside of the workspace");
}

void check_both(const Step<Launcher>& step, Attention shape,
                const std::function<Problem(const Attention&)>& make) {
  for (bool causal : {true, false}) {
    shape.causal = causal;
    check_step(step, make(shape));
  }
}

Problem with_positive_values(Problem problem) {
  for (float& v : problem.v) v = 1 + std::abs(std::fmod(v, 1.0f));
  return problem;
}

}  // namespace tutorial::flash_attention::fp8
