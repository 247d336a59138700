// The GPU that the simulator is, and the ones that launches can be planned for.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdlib>
#include <map>
#include <utility>

#include "common/backend/planned_launches.hpp"
#include "common/kernel/barrier.cuh"
#include "common/kernel/warpgroup.cuh"
#include "common/kernel/wgmma.cuh"
#include "common/simulator/tests/only_cpu/outcome.hpp"
#include "common/testing/testing.hpp"

using namespace tutorial;

namespace {

__global__ void fills_shared(int floats, float* last) {
  extern __shared__ float all[];
  for (int i = threadIdx.x; i < floats; i += blockDim.x) all[i] = static_cast<float>(i);
  __syncthreads();
  if (threadIdx.x == 0) *last = all[floats - 1];
}

template <int BLOCKS, bool IS_LARGE>
__global__ void has_arguments(float* x) {
  __shared__ float four[4];
  four[threadIdx.x % 4] = 1;
  if (x != nullptr) *x = four[0] + BLOCKS + IS_LARGE;
}

template <class A, class B>
__global__ void of_types() {}

__global__ void waits_for_products() {
  float sums[1] = {};
  wgmma_wait<0>(sums);
}
__global__ void makes_a_barrier() {
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) barrier_init(barrier, 1);
}

/// As long as it lives, the simulator is a GPU of this compute capability.
struct Capability {
  explicit Capability(const char* capability) {
    REQUIRE(setenv("SIMULATOR_CAPABILITY", capability, 1) == 0);
  }
  ~Capability() { unsetenv("SIMULATOR_CAPABILITY"); }
};

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

  DeviceBuffer<float> last(1);
  fills_shared<<<1, 32, 65536>>>(65536 / 4, last.data());
  CUDA_CHECK_LAUNCH();
  CHECK(last.to_host()[0] == 16383.0f);
  fills_shared<<<1, 32, 65540>>>(65540 / 4, last.data());
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  unsetenv("SIMULATOR_CAPABILITY");
  CHECK(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) == 227 * 1024);
}

TEST_CASE("each compute capability has its limits", "[architecture]") {
  struct Limits {
    int shared, threads, blocks;
    bool clusters;
  };
  const std::map<std::string, Limits> all = {
      {"75", {64, 1024, 16, false}}, {"80", {163, 2048, 32, false}}, {"86", {99, 1536, 16, false}},
      {"89", {99, 1536, 24, false}}, {"90", {227, 2048, 32, true}},  {"100", {227, 2048, 32, true}},
      {"120", {99, 1536, 24, true}},
  };
  CHECK(planned_capabilities().size() == all.size());
  for (const auto& [name, limits] : all) {
    CAPTURE(name);
    const Capability capability(name.c_str());
    CHECK(10 * attribute(cudaDevAttrComputeCapabilityMajor) +
              attribute(cudaDevAttrComputeCapabilityMinor) ==
          std::stoi(name));
    CHECK(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) == limits.shared * 1024);
    CHECK(attribute(cudaDevAttrMaxThreadsPerMultiProcessor) == limits.threads);
    CHECK(attribute(cudaDevAttrMaxBlocksPerMultiprocessor) == limits.blocks);
    CHECK(attribute(cudaDevAttrClusterLaunch) == limits.clusters);
    int blocks = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, waits_for_products, 32, 0));
    CHECK(blocks == limits.blocks);
  }
}

TEST_CASE("what has an a is on one compute capability, all else on the newer ones, too",
          "[architecture]") {
  for (const char* name : {"100", "120"}) {
    CAPTURE(name);
    const Capability capability(name);
    CHECK(why_not_here("sm_80").empty());
    CHECK(why_not_here("sm_90").empty());
    CHECK(why_not_here("sm_90a") ==
          "needs sm_90a itself, and this simulator is sm_" + std::string(name));
    makes_a_barrier<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    waits_for_products<<<1, 128>>>();
    const Outcome outcome;
    CHECK_THAT(outcome.report,
               ContainsSubstring("wgmma_wait() needs sm_90a itself, and this device is sm_" +
                                 std::string(name)));
  }
  const Capability ampere("80");
  CHECK(why_not_here("sm_90a") == "needs sm_90a, and this simulator is sm_80");
}

TEST_CASE("what is planned is not run, and takes no memory", "[architecture]") {
  const auto planned = plan_launches(86, [] {
    const int64_t many = int64_t{1} << 34;  // 64 GB
    DeviceBuffer<float> large(many);
    CUDA_CHECK(cudaMemset(large.data(), 0, static_cast<size_t>(many) * sizeof(float)));
    has_arguments<3, true><<<dim3(5, 7), dim3(32, 4), 1000>>>(nullptr);
    CUDA_CHECK_LAUNCH();
    float first = 1;
    CUDA_CHECK(cudaMemcpy(&first, large.data(), sizeof first, cudaMemcpyDeviceToHost));
    CHECK(first == 0);
    cublasHandle_t handle;
    CUBLAS_CHECK(cublasCreate(&handle));
    const float one = 1;
    CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 9999, 9999, 9999, &one, large.data(),
                             9999, large.data(), 9999, &one, large.data(), 9999));
    CUBLAS_CHECK(cublasDestroy(handle));
  });
  REQUIRE(planned.size() == 1);
  CHECK(planned[0].kernel == "(anonymous namespace)::has_arguments<3, true>");
  CHECK(planned[0].grid[1] == 7);
  CHECK(planned[0].threads() == 128);
  CHECK(planned[0].static_shared == 16);
  CHECK(planned[0].dynamic_shared == 1000);
  CHECK(planned[0].cluster[0] == 1);
}

TEST_CASE("a planned launch has the name that CUDA's compiler gives its kernel", "[architecture]") {
  const auto planned = plan_launches(75, [] {
    fills_shared<<<1, 1>>>(1, nullptr);
    of_types<__nv_bfloat16, std::pair<int, __half>><<<1, 1>>>();
    CUDA_CHECK_LAUNCH();
  });
  REQUIRE(planned.size() == 2);
  CHECK(planned[0].kernel == "(anonymous namespace)::fills_shared");
  CHECK(planned[1].kernel ==
        "(anonymous namespace)::of_types<__nv_bfloat16, std::pair<int, __half> >");
}

TEST_CASE("what is planned meets the limits of the GPU that it is planned for", "[architecture]") {
  const auto plan = [](int capability) {
    return plan_launches(capability,
                         [] {
                           allow(65537);
                           fills_shared<<<1, 32, 65537>>>(1, nullptr);
                           CUDA_CHECK_LAUNCH();
                         })
        .size();
  };
  CHECK(plan(86) == 1);
  CHECK_THROWS_AS(plan(75), CudaError);
  CHECK(plan(90) == 1);
  // Nothing is left of it: no allowance, no error, no address that looks like memory.
  fills_shared<<<1, 32, 65536>>>(1, nullptr);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  const float* planned = nullptr;
  plan_launches(90, [&] { planned = DeviceBuffer<float>(4).data(); });
  const DeviceBuffer<float> real(std::vector<float>{1, 2});
  CHECK(real.to_host() == std::vector<float>{1, 2});
  CHECK(real.data() == planned);  // no address is lost
}
