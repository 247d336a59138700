#include "common/testing/where_it_runs.hpp"

#include "common/testing/testing.hpp"
#include "device_masks.hpp"

namespace tutorial::masked_bmm {

TEST_CASE("chapter 03 runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("03_masked_bmm/masked_problem.cpp");
  MaskedBmm p;
  p.batch = gpu.at("--batch");
  p.M = gpu.at("--m");
  p.N = gpu.at("--n");
  p.K = gpu.at("--k");
  const Mask mask = {.keep = std::vector<uint8_t>(static_cast<size_t>(p.M * p.N))};
  check_where_they_run("03", steps, [&](Launcher* launch) {
    DeviceMasks device(p, mask);
    build_coarse_masks(p, device.block_mask.data(), device.thread_mask.data());
    DeviceBuffer<float> A(p.batch * p.M * p.K), B(p.batch * p.K * p.N), C(p.batch * p.M * p.N);
    launch(p, A.data(), B.data(), C.data());
  });
}

}  // namespace tutorial::masked_bmm
