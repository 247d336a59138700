// Every step on both sides of the borders of its rules: where it launches other kernels.
#include "common/testing/borders.hpp"

#include "any_shape/any_shape.hpp"
#include "tests/check_step.hpp"

namespace tutorial::flash_attention::any_shape {

TEST_CASE("every step is right on both sides of the borders of its rules", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const FewMultiprocessors few(2);
  const auto shape_of = [](const Sizes<4>& sizes) {
    const auto [heads, Tq, Tk, HS] = sizes;
    return Attention{.NH = heads, .NH_kv = 1, .Tq = Tq, .Tk = Tk, .HS = HS};
  };
  const auto choice = [&](const Sizes<4>& sizes) {
    if (is_too_large_here(step, shape_of(sizes))) return std::string();
    auto* const nowhere = reinterpret_cast<float*>(uintptr_t{256});
    return kernels_of([&] {
      step.launch(shape_of(sizes), nowhere, nowhere, nowhere, nowhere, nowhere,
                  {nowhere, INT64_MAX}, nullptr);
    });
  };
  const auto work = [](const Sizes<4>& sizes) {
    const auto [heads, Tq, Tk, HS] = sizes;
    return static_cast<double>((heads * Tq + 16) * (Tk + 32) * (HS + 16));
  };
  const Sizes<4> most = {4, 40, 300, std::min<int64_t>(256, largest_head_size(step))};
  for (const Sizes<4>& sizes : border_shapes<4>({1, 1, 1, 1}, most, choice, work, 6e6))
    check_step(step, normal_problem(shape_of(sizes)));
}

}  // namespace tutorial::flash_attention::any_shape
