#include "common/testing/where_it_runs.hpp"

#include "fp8/tests/check_step.hpp"

namespace tutorial::tiled_matmul::fp8 {

TEST_CASE("part fp8 runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("02_tiled_matmul/fp8/main.cpp");
  const int64_t M = gpu.at("--m"), N = gpu.at("--n"), K = gpu.at("--k");
  check_where_they_run("02/fp8", steps, [&](Launcher* launch) {
    DeviceBuffer<e4m3> A(M * K), B(N * K);
    DeviceBuffer<float> scales((M + N) * (K / SCALED + 1));
    DeviceBuffer<bf16> C(M * N);
    launch({M, N, K}, A.data(), B.data(), {scales.data(), scales.data()}, C.data(), {}, nullptr);
  });
}

}  // namespace tutorial::tiled_matmul::fp8
