#include "common/testing/where_it_runs.hpp"

#include "common/testing/testing.hpp"
#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {

TEST_CASE("part nearest runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("03_masked_bmm/nearest/main.cpp");
  Search search{.M = gpu.at("--m"), .N = gpu.at("--n"), .D = gpu.at("--d")};
  for (const auto& step : steps) {
    const bool has_distances = (step.features & DISTANCE) != 0;
    search.measure = has_distances ? Measure::distance : Measure::product;
    search.k = (step.features & MANY) != 0 ? MOST_NEIGHBOURS : gpu.at("--neighbours");
    check_where_it_runs({"03/nearest", step.name, step.needs}, [&] {
      DeviceBuffer<float> A(search.M * search.D), B(search.N * search.D), out(search.M * search.k),
          values(search.M * search.k);
      DeviceBuffer<std::byte> memory(workspace_bytes(search, step.launch));
      step.launch(search, A.data(), B.data(), out.data(), values.data(), workspace_in(memory),
                  nullptr);
    });
  }
}

}  // namespace tutorial::masked_bmm::nearest
