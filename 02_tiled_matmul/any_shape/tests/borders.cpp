// Every step on both sides of the borders of its rules: where it launches other kernels.
#include "common/testing/borders.hpp"

#include "any_shape/any_shape.hpp"
#include "any_shape/tests/step_of.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::tiled_matmul::any_shape {

// On a device of few multiprocessors the borders lie where there is little to multiply.
TEST_CASE("every step is right on both sides of the borders of its rules", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const FewMultiprocessors few(3);
  const auto choice = [&](const Sizes<3>& sizes) {
    const auto [M, N, K] = sizes;
    auto* const nowhere = reinterpret_cast<float*>(uintptr_t{256});
    return kernels_of([&] {
      step.launch({M, N, K}, nowhere, nowhere, nowhere, {nowhere, INT64_MAX}, nullptr);
    });
  };
  const auto work = [](const Sizes<3>& sizes) {
    const auto [M, N, K] = sizes;
    return static_cast<double>((M + 16) * (N + 16) * (K + 16));
  };
  for (const auto& [M, N, K] : border_shapes<3>({0, 0, 0}, {300, 300, 1100}, choice, work, 3e6))
    check_step(with_workspace(step), {M, N, K});
}

}  // namespace tutorial::tiled_matmul::any_shape
