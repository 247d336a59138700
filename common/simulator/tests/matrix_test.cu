// The words of common/kernel/mma.cuh.
#include <catch2/catch_test_macros.hpp>

#include "common/kernel/mma.cuh"
#include "common/simulator/tests/run_kernel.hpp"

using namespace tutorial;

namespace {

__global__ void copies_a_matrix(uint32_t* out) {
  __shared__ __align__(16) uint16_t tile[8][8];
  for (unsigned i = threadIdx.x; i < 64; i += 32) tile[i / 8][i % 8] = static_cast<uint16_t>(i);
  __syncwarp();
  uint32_t fragment[1];
  ldmatrix<1>(fragment, &tile[threadIdx.x % 8]);
  out[threadIdx.x] = fragment[0];
}

}  // namespace

TEST_CASE("ldmatrix gives each lane two neighbours of a row", "[matrix]") {
  const auto got = run_kernel<uint32_t>(32, [](uint32_t* out) { copies_a_matrix<<<1, 32>>>(out); });
  for (uint32_t lane = 0; lane < 32; ++lane)
    CHECK(got[lane] == ((2 * lane + 1) << 16 | 2 * lane));
}
