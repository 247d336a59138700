// The GPU that the simulator is.
#include <cstdlib>

#include "common/testing/testing.hpp"

namespace {

__global__ void fills_shared(int floats, float* last) {
  extern __shared__ float all[];
  for (int i = threadIdx.x; i < floats; i += blockDim.x) all[i] = static_cast<float>(i);
  __syncthreads();
  if (threadIdx.x == 0) *last = all[floats - 1];
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

cudaError_t allow(int bytes) {
  const cudaError_t error =
      cudaFuncSetAttribute(fills_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  cudaGetLastError();
  return error;
}

}  // namespace

TEST_CASE("the environment can make the device one with less shared memory", "[architecture]") {
  CHECK(attribute(cudaDevAttrComputeCapabilityMajor) == 9);
  CHECK(allow(227 * 1024) == cudaSuccess);
  REQUIRE(setenv("SIMULATOR_CAPABILITY", "75", 1) == 0);
  CHECK(attribute(cudaDevAttrComputeCapabilityMajor) == 7);
  CHECK(attribute(cudaDevAttrComputeCapabilityMinor) == 5);
  CHECK(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) == 65536);
  CHECK(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) == 65536);
  CHECK(attribute(cudaDevAttrMaxThreadsPerMultiProcessor) == 1024);
  CHECK(allow(65537) == cudaErrorInvalidValue);
  CHECK(allow(65536) == cudaSuccess);

  tutorial::DeviceBuffer<float> last(1);
  fills_shared<<<1, 32, 65536>>>(65536 / 4, last.data());
  CUDA_CHECK_LAUNCH();
  CHECK(last.to_host()[0] == 16383.0f);
  fills_shared<<<1, 32, 65540>>>(65540 / 4, last.data());
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  unsetenv("SIMULATOR_CAPABILITY");
  CHECK(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) == 227 * 1024);
}

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
TEST_CASE("every architecture has its limits", "[architecture]") {
  struct Limits {
    const char* capability;
    int shared_kb, sm_kb, threads, blocks, has_clusters;
  };
  for (const auto& [capability, shared_kb, sm_kb, threads, blocks, has_clusters] :
       {Limits{"75", 64, 64, 1024, 16, 0},
        {"80", 163, 164, 2048, 32, 0},
        {"86", 99, 100, 1536, 16, 0},
        {"89", 99, 100, 1536, 24, 0},
        {"90", 227, 228, 2048, 32, 1},
        {"100", 227, 228, 2048, 32, 1},
        {"120", 99, 100, 1536, 24, 1}}) {
    CAPTURE(capability);
    REQUIRE(setenv("SIMULATOR_CAPABILITY", capability, 1) == 0);
    CHECK(attribute(cudaDevAttrComputeCapabilityMajor) * 10 +
              attribute(cudaDevAttrComputeCapabilityMinor) ==
          std::atoi(capability));
    CHECK(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) == shared_kb * 1024);
    CHECK(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) == sm_kb * 1024);
    CHECK(attribute(cudaDevAttrMaxThreadsPerMultiProcessor) == threads);
    CHECK(attribute(cudaDevAttrMaxBlocksPerMultiprocessor) == blocks);
    CHECK(attribute(cudaDevAttrMaxRegistersPerBlock) == 65536);
    CHECK(attribute(cudaDevAttrClusterLaunch) == has_clusters);
    CHECK((tutorial::why_not_here("sm_80").empty() == (std::atoi(capability) >= 80)));
    CHECK((tutorial::why_not_here("sm_90").empty() == (std::atoi(capability) >= 90)));
    CHECK((tutorial::why_not_here("sm_90a").empty() == (std::atoi(capability) == 90)));
  }
  unsetenv("SIMULATOR_CAPABILITY");
}
