#include "common/testing/where_it_runs.hpp"

#include "common/testing/testing.hpp"
#include "joint/joint.hpp"

namespace tutorial::flash_attention::joint {

TEST_CASE("part joint runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("06_flash_attention/joint/main.cpp");
  const int64_t m = gpu.at("--m"), n = gpu.at("--n");
  const auto check = [&](int64_t k, int64_t head_size) {
    check_where_they_run(
        "06/joint", steps,
        [&](Launcher* launch) {
          DeviceBuffer<float> A(m * k), B(k * n), C(n * k), y(m * k), y_tilde(m * n);
          launch(A.data(), B.data(), C.data(), y.data(), y_tilde.data(), m, n, k);
        },
        head_size);
  };
  check(gpu.at("--k"), 0);
  for (const int64_t head_size : HEAD_SIZES) check(head_size, head_size);
}

}  // namespace tutorial::flash_attention::joint
