#include "common/testing/where_it_runs.hpp"

#include "common/testing/testing.hpp"
#include "tf32/tf32.hpp"

namespace tutorial::tiled_matmul::tf32 {

TEST_CASE("part tf32 runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("02_tiled_matmul/tf32/main.cpp");
  const int64_t M = gpu.at("--m"), N = gpu.at("--n"), K = gpu.at("--k");
  check_where_they_run("02/tf32", steps, [&](Launcher* launch) {
    DeviceBuffer<float> A(M * K), B(K * N), C(M * N);
    launch({M, N, K}, A.data(), B.data(), C.data(), nullptr);
  });
}

}  // namespace tutorial::tiled_matmul::tf32
