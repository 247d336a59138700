// What every step asks global memory for, beside what it says.
#include "common/testing/asked_for.hpp"

#include "tensor_cores/tests/problems.hpp"

namespace tutorial::flash_attention::tensor_cores {
namespace {

TEST_CASE("tensor cores: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& a : std::vector<Attention>{
           {.Tq = 64, .Tk = 64, .HS = 64, .causal = false},
           {.Tq = 150, .Tk = 140, .HS = 24},
           {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 32, .causal = false},
           {.Tq = 20, .Tk = 140, .HS = 104}}) {
    if (is_too_large_here(step, a)) continue;
    CAPTURE(step.name, text(a));
    const Problem p = normal_problem(a);
    // any_address gives aligned tensors to head_sizes.
    const DeviceBuffer<bf16> q(narrowed<bf16>(p.q), step.launch == any_address ? 1 : 0),
        k(narrowed<bf16>(p.k)), v(narrowed<bf16>(p.v));
    DeviceBuffer<bf16> out(a.rows() * a.HS);
    DeviceBuffer<float> lse(a.rows());
    check_asked_for(step, [&](auto run) {
      return run(a, q.data(), k.data(), v.data(), out.data(), lse.data(), nullptr);
    });
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::tensor_cores
