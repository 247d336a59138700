// What the simulator says of kernels with __cluster_dims__, and that the attempt by which it learns
// their size leaves nothing behind. Each kernel here is launched for the first time in its test.
#include <cooperative_groups.h>

#include <cstdlib>

#include "common/backend/backend.hpp"
#include "common/backend/launch_trace.hpp"
#include "common/backend/profile.hpp"
#include "common/kernel/cluster.cuh"
#include "common/simulator/device/device.hpp"
#include "common/simulator/tests/only_cpu/outcome.hpp"

using namespace tutorial;

namespace {

__global__ void __cluster_dims__(2) of_two(int* out) {
  out[blockIdx.x] = 1;
}
__global__ void __cluster_dims__(2) named(int* out) {
  out[blockIdx.x] = 1;
}
__global__ void __cluster_dims__(2) not_named(int* out) {
  out[blockIdx.x] = 1;
}
__global__ void __cluster_dims__(4, 4) of_sixteen(int* out) {
  out[blockIdx.x + gridDim.x * blockIdx.y] = cluster_size();
}
template <class T>
__global__ void __cluster_dims__(16) deduced_sixteen(T* out) {
  out[blockIdx.x] = cluster_size();
}
__global__ void __cluster_dims__(17) of_seventeen(int*) {}
__global__ void __cluster_dims__(0) of_none(int*) {}
__global__ void __cluster_dims__(2) for_hopper(int*) {}
__global__ void __cluster_dims__(2) counted(int* out) {
  out[blockIdx.x] = 1;
}
__global__ void __cluster_dims__(2) profiled(const int* in, int* out) {
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];
}
template <class T>
__global__ void __cluster_dims__(2) profiled_deduced(const T* in, T* out) {
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];
}
__global__ void __cluster_dims__(4) profiled_refused(int*) {
  __syncthreads();
}
__global__ void __cluster_dims__(2) traced(int* out) {
  out[blockIdx.x] = 1;
}
__global__ void __cluster_dims__(2) not_asked_for(int* out) {
  out[blockIdx.x] = 1;
}
__global__ void plain(int* out) {
  out[blockIdx.x] = 1;
}
__global__ void __cluster_dims__(2) adds(int* out) {
  atomicAdd(out, 1);
}

cudaError_t launch_in(unsigned size, void (*kernel)(int*), int* out) {
  cudaLaunchAttribute of_cluster{};
  of_cluster.id = cudaLaunchAttributeClusterDimension;
  of_cluster.val.clusterDim = {size, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(8);
  config.blockDim = dim3(1);
  config.attrs = &of_cluster;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, out);
}

void check_refused(cudaError_t error, const std::string& sentence) {
  const Outcome outcome;
  CHECK(outcome.error == error);
  CHECK(outcome.report == sentence + "\n");
}

}  // namespace

TEST_CASE("__cluster_dims__: a grid that is no multiple", "[cluster_dims]") {
  const unsigned before = simulator::launches_made();
  const LaunchProgress progress = launch_progress();
  for (int turn = 0; turn < 2; ++turn) {
    of_two<<<dim3(3, 2), 1>>>(nullptr);
    check_refused(cudaErrorInvalidClusterSize,
                  "launch of of_two in clusters of (2,1,1) blocks: the grid, (3,2,1) blocks, is no "
                  "multiple of that");
  }
  CHECK(simulator::launches_made() == before);
  CHECK(launch_progress().launches == progress.launches);
}

TEST_CASE("__cluster_dims__: a launch that names another size", "[cluster_dims]") {
  const std::string why =
      " blocks: the kernel's __cluster_dims__ says (2,1,1), and a launch may name no other size";
  DeviceBuffer<int> out(8);
  for (const unsigned size : {4u, 1u}) {
    const cudaError_t error = launch_in(size, named, out.data());
    CHECK(error == cudaErrorInvalidClusterSize);
    check_refused(error, "launch of named in clusters of (" + std::to_string(size) + ",1,1)" + why);
  }
  CHECK(launch_in(2, named, out.data()) == cudaSuccess);
  CHECK(launch_in(2, not_named, out.data()) == cudaSuccess);  // and so the first time
  CHECK(launch_in(4, not_named, out.data()) == cudaErrorInvalidClusterSize);
  CHECK(Outcome().error == cudaErrorInvalidClusterSize);
}

TEST_CASE("__cluster_dims__: more than 8 blocks", "[cluster_dims]") {
  DeviceBuffer<int> out(32);
  const std::string why =
      "more than 8 are not on every GPU, and need cudaFuncSetAttribute with "
      "cudaFuncAttributeNonPortableClusterSizeAllowed";
  of_sixteen<<<dim3(8, 4), 1>>>(out.data());
  check_refused(cudaErrorInvalidClusterSize,
                "launch of of_sixteen in clusters of (4,4,1) blocks: " + why);
  CUDA_CHECK(cudaFuncSetAttribute(of_sixteen, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  of_sixteen<<<dim3(8, 4), 1>>>(out.data());
  CHECK(Outcome().error == cudaSuccess);
  CHECK(out.to_host() == std::vector<int>(32, 16));
  // Which kernel a launch is that deduces its arguments is not known: it may be the one allowed.
  CUDA_CHECK(cudaFuncSetAttribute(deduced_sixteen<int>,
                                  cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  deduced_sixteen<<<32, 1>>>(out.data());
  CHECK(Outcome().error == cudaSuccess);
  CHECK(out.to_host() == std::vector<int>(32, 16));
  of_seventeen<<<17, 1>>>(nullptr);
  check_refused(cudaErrorInvalidClusterSize,
                "launch of of_seventeen in clusters of (17,1,1) blocks: no GPU has more than 16");
  of_none<<<4, 1>>>(nullptr);
  check_refused(cudaErrorInvalidClusterSize,
                "launch of of_none in clusters of (0,1,1) blocks: there is no such cluster");
}

TEST_CASE("__cluster_dims__: a GPU without clusters", "[cluster_dims]") {
  REQUIRE(setenv("SIMULATOR_CAPABILITY", "80", 1) == 0);
  for_hopper<<<4, 1>>>(nullptr);
  check_refused(cudaErrorNotSupported,
                "launch of for_hopper in clusters of (2,1,1) blocks: they need compute capability "
                "9.0");
  REQUIRE(unsetenv("SIMULATOR_CAPABILITY") == 0);
}

TEST_CASE("__cluster_dims__: the first launch is one launch", "[cluster_dims]") {
  DeviceBuffer<int> out(8);
  const unsigned before = simulator::launches_made();
  const int64_t seen = launch_progress().launches;
  for (unsigned turn = 1; turn <= 2; ++turn) {
    counted<<<8, 1>>>(out.data());
    CHECK(Outcome().error == cudaSuccess);
    CHECK(simulator::launches_made() == before + turn);
    CHECK(launch_progress().launches == seen + turn);
  }
}

TEST_CASE("__cluster_dims__: nothing is counted twice", "[cluster_dims]") {
  const DeviceBuffer<int> in(std::vector<int>(64, 1));
  DeviceBuffer<int> out(8 * 64);
  for (const bool is_deduced : {false, true})
    for (int turn = 0; turn < 2; ++turn) {
      start_profile();
      if (is_deduced)
        profiled_deduced<<<8, 64>>>(in.data(), out.data());
      else
        profiled<<<8, 64>>>(in.data(), out.data());
      CUDA_CHECK(cudaGetLastError());
      const auto profiles = take_profile(true);
      REQUIRE(profiles.size() == 1);
      CHECK(profiles[0].kernel == (is_deduced ? "profiled_deduced" : "profiled"));
      CHECK(profiles[0].launches == 1);
      CHECK(profiles[0].blocks == 8);
      CHECK(profiles[0].threads == 8 * 64);
      CHECK(profiles[0].total.barriers == 8);
      CHECK(profiles[0].total.loads.requests == 16);
      CHECK(profiles[0].total.stores.requests == 16);
    }
  start_profile();
  CHECK(launch_in(2, profiled_refused, out.data()) == cudaErrorInvalidClusterSize);
  CHECK(Outcome().error == cudaErrorInvalidClusterSize);
  CHECK(take_profile(true).empty());
}

TEST_CASE("__cluster_dims__: no launch is recorded that was an attempt", "[cluster_dims]") {
  DeviceBuffer<int> out(8);
  start_trace("", 100);
  traced<<<8, 1>>>(out.data());
  plain<<<8, 1>>>(out.data());
  not_asked_for<<<8, 1>>>(out.data());
  CUDA_CHECK(cudaGetLastError());
  const TakenTrace taken = take_trace();
  REQUIRE(taken.launch);
  CHECK(taken.launch->kernel == "plain");
  CHECK(taken.others.empty());
  CHECK(taken.were_clusters);
}

TEST_CASE("__cluster_dims__: the attempt does nothing in the kernel", "[cluster_dims]") {
  DeviceBuffer<int> out(std::vector<int>{0});
  adds<<<8, 32>>>(out.data());
  CHECK(Outcome().error == cudaSuccess);
  CHECK(out.to_host()[0] == 8 * 32);
}
