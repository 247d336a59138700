// Kernels that say the size of their clusters themselves: __cluster_dims__. (CUDA C++ Programming
// Guide, "Thread Block Clusters".)
#include <cooperative_groups.h>

#include "common/kernel/cluster.cuh"
#include "common/simulator/tests/run_kernel.hpp"

namespace cg = cooperative_groups;
using namespace tutorial;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HAS_CLUSTERS 1
#else  // nvcc refuses the word for an older GPU, where these tests are skipped
#undef __cluster_dims__
#define __cluster_dims__(...)
#endif

namespace {

void need_sm_90() {
  const std::string reason = why_not_here("sm_90");
  if (!reason.empty()) SKIP(reason);
}

/// 100 for each block in x of the cluster, 10 in y, 1 in z.
__device__ int size_of_cluster() {
#ifdef HAS_CLUSTERS
  const dim3 size = cg::this_cluster().dim_blocks();
  return static_cast<int>(100 * size.x + 10 * size.y + size.z);
#else
  return 0;
#endif
}
__device__ int block_in_grid() {
  return static_cast<int>(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
}

/// The guide's first example, with something to do.
__global__ void __cluster_dims__(2, 1, 1) cluster_kernel(float* input, float* output) {
#ifdef HAS_CLUSTERS
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  output[i] = input[i] + static_cast<float>(cg::this_cluster().block_rank());
#endif
}

__cluster_dims__(1, 2) __global__ void before_its_global(int* out) {
  out[block_in_grid()] = size_of_cluster();
}
__global__ void __launch_bounds__(32) __cluster_dims__(4) after_launch_bounds(int* out) {
  out[block_in_grid()] = size_of_cluster();
}
extern "C" __global__ void __cluster_dims__(1, 2, 3) __launch_bounds__(32)
    before_launch_bounds(int* out) {
  out[block_in_grid()] = size_of_cluster();
}
__global__ void __cluster_dims__(1) alone(int* out) {
  out[block_in_grid()] = size_of_cluster();
}

template <class T, int N>
__global__ void __cluster_dims__(N > 2 ? N : 2, sizeof(T) / 4) of_its_parameter(T* out) {
  out[block_in_grid()] = static_cast<T>(size_of_cluster());
}
template <class T>
__global__ void __cluster_dims__(2) deduced(T* out, const T* more) {
  out[block_in_grid()] = static_cast<T>(size_of_cluster()) + *more;
}

namespace inner {
[[maybe_unused]] constexpr int kSize = 4;
__global__ void __cluster_dims__(kSize) in_namespace(int* out) {
  out[block_in_grid()] = size_of_cluster();
}
}  // namespace inner

/// Each block tells the next one of its cluster, through that one's shared memory.
__global__ void __cluster_dims__(4) ring(int* out) {
#ifdef HAS_CLUSTERS
  __shared__ int told[32];
  const auto cluster = cg::this_cluster();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  cluster.sync();
  cluster.map_shared_rank(told, static_cast<int>(next))[threadIdx.x] =
      static_cast<int>(1000 * blockIdx.x + threadIdx.x);
  cluster.sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = told[threadIdx.x];
#endif
}

using Kernel = void (*)(int*);

cudaError_t launch_ex(Kernel kernel, unsigned blocks, dim3 cluster, unsigned attributes, int* out) {
  cudaLaunchAttribute size{};
  size.id = cudaLaunchAttributeClusterDimension;
  size.val.clusterDim.x = cluster.x;
  size.val.clusterDim.y = cluster.y;
  size.val.clusterDim.z = cluster.z;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(1);
  config.attrs = &size;
  config.numAttrs = attributes;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, out);
  cudaGetLastError();
  return error;
}

}  // namespace

TEST_CASE("__cluster_dims__: the guide's example", "[cluster_dims]") {
  need_sm_90();
  constexpr int N = 256;
  std::vector<float> in(N);
  for (size_t i = 0; i < N; ++i) in[i] = static_cast<float>(10 * i);
  DeviceBuffer<float> input(in);
  const auto got = run_kernel<float>(N, [&](float* output) {
    const dim3 threads_per_block(16), blocks(N / 16);
    cluster_kernel<<<blocks, threads_per_block>>>(input.data(), output);
  });
  for (size_t i = 0; i < N; ++i) CHECK(got[i] == in[i] + static_cast<float>(i / 16 % 2));
}

TEST_CASE("__cluster_dims__: wherever it stands in the kernel's head", "[cluster_dims]") {
  need_sm_90();
  CHECK(run_kernel<int>(24, [](int* out) { before_its_global<<<dim3(2, 4, 3), 1>>>(out); }) ==
        std::vector<int>(24, 121));
  CHECK(run_kernel<int>(8, [](int* out) { after_launch_bounds<<<8, 1>>>(out); }) ==
        std::vector<int>(8, 411));
  CHECK(run_kernel<int>(24, [](int* out) { before_launch_bounds<<<dim3(2, 4, 3), 1>>>(out); }) ==
        std::vector<int>(24, 123));
  CHECK(run_kernel<int>(3, [](int* out) { alone<<<3, 1>>>(out); }) == std::vector<int>(3, 111));
}

TEST_CASE("__cluster_dims__: of a template, by its parameters", "[cluster_dims]") {
  need_sm_90();
  CHECK(run_kernel<int>(4, [](int* out) { of_its_parameter<int, 1><<<4, 1>>>(out); }) ==
        std::vector<int>(4, 211));
  CHECK(run_kernel<int>(8, [](int* out) { of_its_parameter<int, 4><<<8, 1>>>(out); }) ==
        std::vector<int>(8, 411));
  CHECK(run_kernel<double>(8, [](double* out) {
          of_its_parameter<double, 4><<<dim3(4, 2), 1>>>(out);
        }) == std::vector<double>(8, 421));
}

TEST_CASE("__cluster_dims__: of a template whose arguments are deduced", "[cluster_dims]") {
  need_sm_90();
  const DeviceBuffer<int> one(std::vector<int>{1});
  const DeviceBuffer<float> half(std::vector<float>{0.5f});
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(run_kernel<int>(4, [&](int* out) { deduced<<<4, 1>>>(out, one.data()); }) ==
          std::vector<int>(4, 212));
    CHECK(run_kernel<float>(6, [&](float* out) { deduced<<<6, 1>>>(out, half.data()); }) ==
          std::vector<float>(6, 211.5f));
  }
}

TEST_CASE("__cluster_dims__: in every way to launch", "[cluster_dims]") {
  need_sm_90();
  const std::vector<int> want(8, 411);
  CHECK(run_kernel<int>(8, [](int* out) { inner::in_namespace<<<8, 1>>>(out); }) == want);
  for (const Kernel kernel : {inner::in_namespace, after_launch_bounds}) {
    CHECK(run_kernel<int>(8, [&](int* out) { kernel<<<8, 1>>>(out); }) == want);
    CHECK(run_kernel<int>(8, [&](int* out) {
            void* arguments[] = {&out};
            CUDA_CHECK(cudaLaunchKernel(kernel, dim3(8), dim3(1), arguments));
          }) == want);
    CHECK(run_kernel<int>(8, [&](int* out) {
            CHECK(launch_ex(kernel, 8, dim3(), 0, out) == cudaSuccess);
          }) == want);
    CHECK(run_kernel<int>(8, [&](int* out) {
            CHECK(launch_ex(kernel, 8, dim3(4), 1, out) == cudaSuccess);
          }) == want);
  }
}

TEST_CASE("__cluster_dims__: the cluster's barrier and shared memory, twice", "[cluster_dims]") {
  need_sm_90();
  for (const unsigned blocks : {4u, 12u}) {
    const auto got = run_kernel<int>(blocks * 32, [&](int* out) { ring<<<blocks, 32>>>(out); });
    for (unsigned i = 0; i < blocks * 32; ++i) {
      const unsigned block = i / 32, before = block / 4 * 4 + (block + 3) % 4;
      CHECK(got[i] == static_cast<int>(1000 * before + i % 32));
    }
  }
}

TEST_CASE("__cluster_dims__: what is refused", "[cluster_dims]") {
  need_sm_90();
  int* const none = nullptr;
  ring<<<6, 1>>>(none);  // no multiple
  CHECK(cudaGetLastError() != cudaSuccess);
  CHECK(launch_ex(ring, 8, dim3(2), 1, none) != cudaSuccess);  // another size
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}
