// Every step on both sides of the borders of its rules: where it launches other kernels.
#include "common/testing/borders.hpp"

#include "few_queries/few_queries.hpp"
#include "tensor_cores/tests/problems.hpp"

namespace tutorial::flash_attention::few_queries {

// On a device of few multiprocessors the borders lie where there is little to do.
TEST_CASE("few queries: every step is right on both sides of its rules' borders", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const FewMultiprocessors few(3);
  const auto shape_of = [](const Sizes<4>& sizes) {
    const auto [heads, Tq, Tk, eighths] = sizes;
    return Attention{.NH = heads, .NH_kv = 1, .Tq = Tq, .Tk = Tk, .HS = 8 * eighths};
  };
  const auto choice = [&](const Sizes<4>& sizes) {
    const Attention shape = shape_of(sizes);
    auto* const nowhere = reinterpret_cast<bf16*>(uintptr_t{256});
    return kernels_of([&] {
      DeviceBuffer<float> lse(1);
      DeviceBuffer<std::byte> memory(workspace_bytes(shape));
      step.launch(shape, nowhere, nowhere, nowhere, nowhere, lse.data(), workspace_in(memory),
                  nullptr);
    });
  };
  const auto work = [](const Sizes<4>& sizes) {
    const auto [heads, Tq, Tk, eighths] = sizes;
    return static_cast<double>((heads * Tq + 16) * (Tk + 64) * (8 * eighths + 16));
  };
  for (const Sizes<4>& sizes :
       border_shapes<4>({1, 1, 1, 1}, {8, 40, 700, 32}, choice, work, 2e7)) {
    if (!is_in_sample(step.name)) continue;
    const Problem problem = normal_problem(shape_of(sizes));
    tensor_cores::check_problem(step, problem, {}, workspace_bytes(problem.shape), step.launch);
  }
}

}  // namespace tutorial::flash_attention::few_queries
