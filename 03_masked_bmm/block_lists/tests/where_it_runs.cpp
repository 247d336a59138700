#include "common/testing/where_it_runs.hpp"

#include "block_lists/device_lists.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::masked_bmm::block_lists {

TEST_CASE("part block_lists runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("03_masked_bmm/masked_problem.cpp");
  ListedBmm p;
  p.batch = gpu.at("--batch");
  p.M = gpu.at("--m");
  p.N = gpu.at("--n");
  p.K = gpu.at("--k");
  p.band = band_of("causal", p.M, p.N);
  const Mask mask = {.keep = std::vector<uint8_t>(static_cast<size_t>(p.M * p.N))};
  check_where_they_run("03/block_lists", steps, [&](Launcher* launch) {
    DeviceLists device(p, mask);
    build_mask_words(p, device.words.data(), device.states.data(), device.list.data());
    DeviceBuffer<float> A(p.batch * p.M * p.K), B(p.batch * p.K * p.N), C(p.batch * p.M * p.N);
    launch(p, A.data(), B.data(), C.data());
  });
}

}  // namespace tutorial::masked_bmm::block_lists
