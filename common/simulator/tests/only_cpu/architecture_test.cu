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
