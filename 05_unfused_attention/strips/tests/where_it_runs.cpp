#include "common/testing/where_it_runs.hpp"

#include "common/testing/testing.hpp"
#include "strips/strips.hpp"

namespace tutorial::unfused_attention::strips {

TEST_CASE("part strips runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("05_unfused_attention/qkv_problem.cpp");
  const int64_t heads = gpu.at("--heads");
  const auto check = [&](int64_t channels, int64_t head_size) {
    const Attention a{.B = gpu.at("--batch"), .T = gpu.at("--seq"), .C = channels, .NH = heads};
    check_where_they_run(
        "05/strips", steps,
        [&](Launcher* launch) {
          DeviceBuffer<float> qkv(3 * a.elements()), out(a.elements());
          StageWorkspace workspace(a);
          launch(a, qkv.data(), workspace, out.data());
        },
        head_size);
  };
  check(gpu.at("--channels"), 0);
  for (const int64_t head_size : HEAD_SIZES) check(heads * head_size, head_size);
}

}  // namespace tutorial::unfused_attention::strips
