#include "common/testing/where_it_runs.hpp"

#include "common/testing/testing.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

TEST_CASE("part tensor_cores runs on every GPU that the table names", "[where_it_runs]") {
  const auto gpu = gpu_sizes("02_tiled_matmul/tensor_cores/bf16_product.cpp");
  const int64_t M = gpu.at("--m"), N = gpu.at("--n"), K = gpu.at("--k");
  check_where_they_run("02/tensor_cores", tensor_cores::steps, [&](tensor_cores::Launcher* launch) {
    DeviceBuffer<tensor_cores::bf16> A(M * K), B(K * N), rounded(M * N);
    DeviceBuffer<float> C(M * N);
    launch({M, N, K}, A.data(), B.data(), C.data(), {}, nullptr);
    launch({M, N, K}, A.data(), B.data(), rounded.data(), {}, nullptr);
  });
}

}  // namespace tutorial::tiled_matmul::tensor_cores
