// 02/hopper: what the launcher of step 8 costs, and with maps that are made once. The step's file
// is included for its kernel, which no header names.
#include "common/data/device_buffer.hpp"
#include "hopper/step8_stored_behind.cu"
#include "launch_costs.hpp"

namespace tutorial {
namespace tiled_matmul::hopper {
namespace {

__global__ void empty_kernel() {}

/// What step 8 works out anew for each launch. Good as long as the matrices stay where they are and
/// keep their sizes: the numbers in them may change.
struct PreparedProduct {
  CUtensorMap A, B, C;
  dim3 grid;
  int M, N, K;

  PreparedProduct(const Bf16Product& p, const bf16* a, const bf16* b, bf16* c)
      : A(map_of(a, p.M, p.K, BM, BK)),
        B(map_of(b, p.K, p.N, SHARE, COLS)),
        C(map_of(c, p.M, p.N, 16, BOX_COLS<bf16>)),
        M(static_cast<int>(p.M)),
        N(static_cast<int>(p.N)),
        K(static_cast<int>(p.K)) {
    const int64_t tiles = ceil_div(M, CLUSTER * BM) * ceil_div(N, BN);
    grid = dim3(CLUSTER * std::min<int64_t>(tiles, multiprocessors() / CLUSTER));
    allow_shared_memory(stored_behind_kernel<bf16>, SHARED_BYTES);
  }

  void launch(cudaStream_t stream) const {
    launch_clusters(stored_behind_kernel<bf16>, CLUSTER, grid, dim3(THREADS), SHARED_BYTES, stream,
                    A, B, C, M, N, K);
  }
};

}  // namespace
}  // namespace tiled_matmul::hopper

void product_costs() {
  using namespace tiled_matmul::hopper;
  const char* const size = "02/hopper stored_behind, 512×512×512";
  const Bf16Product product{.M = 512, .N = 512, .K = 512};
  DeviceBuffer<bf16> A(512 * 512), B(512 * 512), C(512 * 512);
  const Output output = C.data();
  const PreparedProduct prepared(product, A.data(), B.data(), C.data());
  const auto launcher = [&] { stored_behind(product, A.data(), B.data(), output, {}, nullptr); };
  const auto maps = [&] {
    return map_of(A.data(), 512, 512, BM, BK).opaque[0] +
           map_of(B.data(), 512, 512, SHARE, COLS).opaque[0] +
           map_of(C.data(), 512, 512, 16, BOX_COLS<bf16>).opaque[0];
  };
  print_cost(size, "the launcher", microseconds(launcher));
  print_cost(size, "its three maps alone", microseconds([&] {
               volatile auto used = maps();
               (void)used;
             }));
  print_cost(size, "its shared memory asked for",
             microseconds([] { allow_shared_memory(stored_behind_kernel<bf16>, SHARED_BYTES); }));
  print_cost(size, "the device asked for three attributes", microseconds([] {
               volatile auto used = device_attribute(cudaDevAttrComputeCapabilityMajor) +
                                    device_attribute(cudaDevAttrComputeCapabilityMinor) +
                                    multiprocessors();
               (void)used;
             }));
  print_cost(size, "with maps made once", microseconds([&] { prepared.launch(nullptr); }));
  print_cost(size, "an empty kernel", microseconds([] {
               empty_kernel<<<1, 32>>>();
               CUDA_CHECK_LAUNCH();
             }));
}

}  // namespace tutorial
