#include "common/testing/where_it_runs.hpp"

#include "02_tiled_matmul.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::tiled_matmul {

TEST_CASE("chapter 02 runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("02_tiled_matmul/main.cpp");
  const int64_t M = gpu.at("--m"), N = gpu.at("--n"), K = gpu.at("--k");
  check_where_they_run("02", steps, [&](Launcher* launch) {
    DeviceBuffer<float> A(M * K), B(K * N), C(M * N);
    launch(A.data(), B.data(), C.data(), M, N, K);
  });
}

}  // namespace tutorial::tiled_matmul
