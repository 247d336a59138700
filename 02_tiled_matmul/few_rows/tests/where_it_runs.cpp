#include "common/testing/where_it_runs.hpp"

#include "common/testing/testing.hpp"
#include "few_rows/few_rows.hpp"

namespace tutorial::tiled_matmul::few_rows {

TEST_CASE("part few_rows runs on every GPU that the table names", "[where_it_runs]") {
  const int64_t M = gpu_sizes("02_tiled_matmul/few_rows/main.cpp").at("--m");
  const auto gpu = gpu_sizes("02_tiled_matmul/tensor_cores/bf16_product.cpp");
  const int64_t N = gpu.at("--n"), K = gpu.at("--k");
  check_where_they_run("02/few_rows", few_rows::steps, [&](tensor_cores::Launcher* launch) {
    DeviceBuffer<tensor_cores::bf16> A(M * K), B(K * N), rounded(M * N);
    DeviceBuffer<float> C(M * N);
    launch({M, N, K}, A.data(), B.data(), C.data(), {}, nullptr);
    launch({M, N, K}, A.data(), B.data(), rounded.data(), {}, nullptr);
  });
}

}  // namespace tutorial::tiled_matmul::few_rows
