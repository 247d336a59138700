#include "common/testing/where_it_runs.hpp"

#include "any_shape/any_shape.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::tiled_matmul::any_shape {

TEST_CASE("part any_shape runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("02_tiled_matmul/faster/scaled_product.cpp");
  const int64_t M = gpu.at("--m"), N = gpu.at("--n"), K = gpu.at("--k");
  check_where_they_run("02/any_shape", steps, [&](Launcher* launch) {
    DeviceBuffer<float> A(M * K), B(K * N), C(M * N);
    launch({M, N, K}, A.data(), B.data(), C.data(), {}, nullptr);
  });
}

}  // namespace tutorial::tiled_matmul::any_shape
