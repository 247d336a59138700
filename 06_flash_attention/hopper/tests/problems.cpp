#include "hopper/tests/problems.hpp"

#include "common/data/narrow.hpp"

namespace tutorial::flash_attention::hopper {

void check_step(const Step<Launcher>& step, const Problem& unrounded, Offsets offsets) {
  if (!is_in_sample(step.name)) return;
  const Attention& shape = unrounded.shape;
  if (shape.HS > largest_head_size(step.launch)) return;
  const auto& [of_q, of_k, of_v, of_out, of_lse] = offsets;
  INFO(step.name << " " << text(shape) << " offsets q " << of_q << ", k " << of_k << ", v " << of_v
                 << ", out " << of_out << ", lse " << of_lse);
  const Problem problem = in_bf16(unrounded);
  const DeviceBuffer<bf16> q(narrowed<bf16>(problem.q), of_q), k(narrowed<bf16>(problem.k), of_k),
      v(narrowed<bf16>(problem.v), of_v);
  DeviceBuffer<float> lse(shape.rows(), of_lse);
  DeviceBuffer<std::byte> memory(workspace_bytes(shape));
  const Reference want = reference_of(problem);
  check_launch(
      [&](bf16* out) {
        memory.poison();
        step.launch(shape, q.data(), k.data(), v.data(), out, lse.data(), workspace_in(memory),
                    nullptr);
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
}

void check_both(const Step<Launcher>& step, Attention shape,
                const std::function<Problem(const Attention&)>& make) {
  for (bool causal : {true, false}) {
    shape.causal = causal;
    check_step(step, make(shape));
  }
}

}  // namespace tutorial::flash_attention::hopper
