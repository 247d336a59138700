// What every step asks global memory for, beside what it says; and what a mask saves.
#include "common/testing/asked_for.hpp"

#include "problems.hpp"

namespace tutorial::flash_attention::backward {
namespace {

TEST_CASE("backward: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  const SmallSharedMemory small(GENERATE(1024, 99, 64) * 1024);
  for (const Attention& a :
       std::vector<Attention>{{.Tq = 20, .Tk = 10, .HS = 64, .causal = false},
                              {.NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 72, .causal = false},
                              {.Tq = 97, .Tk = 129, .HS = 68}}) {  // tiles are hidden
    if (is_too_large_here(step, a) || !is_in_sample(step.name)) continue;
    CAPTURE(step.name, text(a));
    REQUIRE(step.asked != nullptr);
    OnDevice on(step, normal_problem(a));
    const auto call = [&](auto run) {
      return run(a, on.tensors(), workspace_in(on.memory), nullptr);
    };
    check_asked_for(call(step.asked), [&] { call(step.launch); });
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::backward
