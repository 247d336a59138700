// The size of global memory.
#include <cstdlib>

#include "common/testing/testing.hpp"

TEST_CASE("the environment can make global memory small", "[memory]") {
  const tutorial::DeviceBuffer<float> before(1000);
  REQUIRE(setenv("SIMULATOR_MEMORY", "100000", 1) == 0);
  size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  CHECK(total == 100000);
  CHECK(free < 96001);
  float *fits = nullptr, *does_not = nullptr;
  CUDA_CHECK(cudaMalloc(&fits, free));
  CHECK(cudaMallocAsync(&does_not, 4, nullptr) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  REQUIRE(setenv("SIMULATOR_MEMORY", "10", 1) == 0);  // less than is in use
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  CHECK(free == 0);
  unsetenv("SIMULATOR_MEMORY");
  CUDA_CHECK(cudaFree(fits));
}
