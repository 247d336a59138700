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
           {.Tq = 20, .Tk = 140, .HS = 104},
           {.Tq = 20, .Tk = 40, .HS = 128},
           {.Tq = 20, .Tk = 40, .HS = 256}}) {
    if (a.HS > largest_head_size(step.launch) || is_too_large_here(step, a)) continue;
    CAPTURE(step.name, text(a));
    const Problem p = normal_problem(a);
    // any_address gives aligned tensors to head_sizes.
    const DeviceBuffer<bf16> q(narrowed<bf16>(p.q), step.launch == any_address ? 1 : 0),
        k(narrowed<bf16>(p.k)), v(narrowed<bf16>(p.v));
    DeviceBuffer<bf16> out(a.rows() * a.HS);
    DeviceBuffer<float> lse(a.rows());
    const Counts counts = check_asked_for(step, [&](auto run) {
      return run(a, q.data(), k.data(), v.data(), out.data(), lse.data(), nullptr);
    });
    if (step.launch == fragments) continue;  // step 2 is about its conflicts
    CHECK(counts.shared_loads.conflicts == 0);
    // any_address stores 2 bytes at a time where an address is odd, here q's.
    if (step.launch != any_address) CHECK(counts.shared_stores.conflicts == 0);
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::tensor_cores
