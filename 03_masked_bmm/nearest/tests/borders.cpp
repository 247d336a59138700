// Every step on both sides of the borders of its rules: where it launches other kernels, or so many
// times others.
#include "common/testing/borders.hpp"
#include "common/testing/for_now.hpp"
#include "nearest/tests/problem.hpp"

namespace tutorial::masked_bmm::nearest {

TEST_CASE("nearest: every step is right on both sides of the borders of its rules", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (is_too_large_here(step)) return;
  const ForNow a_strip_at_a_time(most_minima, int64_t{1});
  const auto search_of = [&](const Sizes<3>& sizes) {
    const auto [M, more, k] = sizes;
    return Search{.M = M,
                  .N = k + more,
                  .D = 3,
                  .k = k,
                  .measure = step.features & DISTANCE ? Measure::distance : Measure::product};
  };
  const auto choice = [&](const Sizes<3>& sizes) {
    const Search search = search_of(sizes);
    return kernels_of([&] {
      const DeviceBuffer<float> a(search.M * search.D), b(search.N * search.D);
      DeviceBuffer<float> out(search.M * search.k), values(search.M * search.k);
      DeviceBuffer<std::byte> memory(workspace_bytes(search, step.launch));
      step.launch(search, a.data(), b.data(), out.data(), values.data(), workspace_in(memory),
                  nullptr);
    });
  };
  const auto work = [](const Sizes<3>& sizes) {
    const auto [M, more, k] = sizes;
    return static_cast<double>((M + 128) * (more + 256) * (k + 8));
  };
  const int64_t most_k = step.features & MANY ? MOST_NEIGHBOURS : 1;
  for (const Sizes<3>& sizes : border_shapes<3>({0, 0, 1}, {300, 1400, most_k}, choice, work, 4e6))
    check_all(step, random_problem(search_of(sizes)));
}

}  // namespace tutorial::masked_bmm::nearest
