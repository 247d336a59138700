#include "common/testing/where_it_runs.hpp"

#include "common/testing/testing.hpp"
#include "faster/faster.hpp"

namespace tutorial::tiled_matmul::faster {

TEST_CASE("part faster runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("02_tiled_matmul/faster/scaled_product.cpp");
  const int64_t M = gpu.at("--m"), N = gpu.at("--n"), K = gpu.at("--k");
  check_where_they_run("02/faster", steps, [&](Launcher* launch) {
    DeviceBuffer<float> A(M * K), B(K * N), C(M * N);
    launch(A.data(), B.data(), C.data(), M, N, K, 1, 0);
  });
}

}  // namespace tutorial::tiled_matmul::faster
