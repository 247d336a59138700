#include "common/testing/where_it_runs.hpp"

#include "common/testing/testing.hpp"
#include "fp16/fp16.hpp"

namespace tutorial::tiled_matmul::fp16 {

TEST_CASE("part fp16 runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("02_tiled_matmul/fp16/main.cpp");
  const int64_t M = gpu.at("--m"), N = gpu.at("--n"), K = gpu.at("--k");
  check_where_they_run("02/fp16", fp16::steps, [&](fp16::Launcher* launch) {
    DeviceBuffer<__half> A(M * K), B(K * N), rounded(M * N);
    DeviceBuffer<float> C(M * N);
    launch({M, N, K}, A.data(), B.data(), C.data(), {}, nullptr);
    launch({M, N, K}, A.data(), B.data(), rounded.data(), {}, nullptr);
  });
}

}  // namespace tutorial::tiled_matmul::fp16
