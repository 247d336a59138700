// The host's side of the runtime, continued: limits, hints, symbols, occupancy, other ways to
// launch.
#include <cuda_profiler_api.h>
#include <vector_functions.h>

#include <numeric>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

__device__ float table[8];
__constant__ int scale = 3;

__global__ void add_table(float* out) {
  out[threadIdx.x] = table[threadIdx.x] + static_cast<float>(scale);
}
__global__ void fill(int* out, int count, float by, int2 more) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = static_cast<int>(by) * i + more.x - more.y;
}
__global__ void reverse(int* values) {
  extern __shared__ int held[];
  held[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
}

struct IntEach {
  __host__ __device__ size_t operator()(int threads) const {
    return static_cast<size_t>(threads) * sizeof(int);
  }
};

bool last_error_is(cudaError_t error) {
  return cudaGetLastError() == error;
}

}  // namespace

TEST_CASE("symbols have an address and a size", "[runtime]") {
  float* address = nullptr;
  size_t bytes = 0;
  CUDA_CHECK(cudaGetSymbolSize(&bytes, table));
  CHECK(bytes == 32);
  CUDA_CHECK(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), table));
  const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
  CUDA_CHECK(cudaMemcpy(address, values, sizeof values, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemset(address + 2, 0, 8));
  const auto got = run_kernel<float>(8, [](float* out) { add_table<<<1, 8>>>(out); });
  CHECK(got == std::vector<float>{4, 5, 3, 3, 8, 9, 10, 11});
  float back[2] = {};
  CUDA_CHECK(cudaMemcpy(back, address + 4, sizeof back, cudaMemcpyDeviceToHost));
  CHECK(back[1] == 6);
  CHECK(cudaMemcpy(address, values, 33, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(last_error_is(cudaErrorInvalidValue));
  const int five = 5;
  CUDA_CHECK(cudaMemcpyToSymbolAsync(scale, &five, sizeof five));
  int is = 0;
  CUDA_CHECK(cudaMemcpyFromSymbolAsync(&is, scale, sizeof is));
  CUDA_CHECK(cudaDeviceSynchronize());
  CHECK(is == 5);
  const int three = 3;
  CUDA_CHECK(cudaMemcpyToSymbol(scale, &three, sizeof three));
}

TEST_CASE("cudaLaunchKernel", "[runtime]") {
  tutorial::DeviceBuffer<int> out(std::vector<int>(100, -1));
  int* pointer = out.data();
  int count = 90;
  float by = 2.5f;
  int2 more = make_int2(7, 4);
  void* arguments[] = {&pointer, &count, &by, &more};
  CUDA_CHECK(cudaLaunchKernel((void*)fill, dim3(4), dim3(32), arguments, 0, nullptr));
  CUDA_CHECK(cudaDeviceSynchronize());
  const auto got = out.to_host();
  for (int i = 0; i < 100; ++i) CHECK(got[i] == (i < 90 ? 2 * i + 3 : -1));

  void* again[] = {&pointer};
  CUDA_CHECK(cudaLaunchKernel((const void*)reverse, dim3(1), dim3(100), again, 400, nullptr));
  const auto reversed = out.to_host();
  for (int i = 0; i < 100; ++i) CHECK(reversed[i] == got[99 - i]);
  const cudaError_t refused =
      cudaLaunchKernel((void*)fill, dim3(1), dim3(2000), arguments, 0, nullptr);
  CHECK((refused == cudaErrorInvalidConfiguration ||
         refused == cudaErrorInvalidValue));  // CUDA 12, 13
  CHECK(last_error_is(refused));
}

TEST_CASE("occupancy: the block size with the most threads at once", "[runtime]") {
  int grid = 0, block = 0, multiprocessors = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  CUDA_CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 0));
  CHECK(block % 32 == 0);
  CHECK(block >= 128);
  CHECK(grid % multiprocessors == 0);
  int blocks = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, block, 0));
  CHECK(grid == blocks * multiprocessors);
  CUDA_CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 96));
  CHECK(block > 0);
  CHECK(block <= 96);
  CUDA_CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, reverse, IntEach()));
  CHECK(block % 32 == 0);
}

TEST_CASE("hints on managed memory", "[runtime]") {
  float* values = nullptr;
  CUDA_CHECK(cudaMallocManaged(&values, 4000));
  std::iota(values, values + 1000, 0.0f);
#if CUDART_VERSION >= 13000
  const cudaMemLocation device = {cudaMemLocationTypeDevice, 0},
                        host = {cudaMemLocationTypeHost, 0};
  const auto prefetch = [](const void* p, size_t n, cudaMemLocation to) {
    return cudaMemPrefetchAsync(p, n, to, 0, nullptr);
  };
#else
  const int device = 0, host = cudaCpuDeviceId;
  const auto prefetch = [](const void* p, size_t n, int to) {
    return cudaMemPrefetchAsync(p, n, to, nullptr);
  };
#endif
  CUDA_CHECK(cudaMemAdvise(values, 4000, cudaMemAdviseSetReadMostly, device));
  CUDA_CHECK(prefetch(values, 4000, device));
  CUDA_CHECK(prefetch(values, 4000, host));
  CUDA_CHECK(cudaDeviceSynchronize());
  CHECK(values[999] == 999);
  cudaPointerAttributes attributes{};
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, values));
  CHECK(attributes.type == cudaMemoryTypeManaged);
  CUDA_CHECK(cudaFree(values));
}

TEST_CASE("memory of the host that kernels may use", "[runtime]") {
  int *values = nullptr, *on_device = nullptr;
  CUDA_CHECK(cudaHostAlloc(&values, 64 * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
  CUDA_CHECK(cudaHostGetDevicePointer(&on_device, values, 0));
  fill<<<1, 64>>>(on_device, 64, 3.0f, make_int2(1, 0));
  CUDA_CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 64; ++i) CHECK(values[i] == 3 * i + 1);
  cudaPointerAttributes attributes{};
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, values));
  CHECK(attributes.type == cudaMemoryTypeHost);
  CUDA_CHECK(cudaFreeHost(values));

  std::vector<int> own(64, 0);
  CUDA_CHECK(cudaHostRegister(own.data(), 64 * sizeof(int), cudaHostRegisterDefault));
  CUDA_CHECK(cudaHostGetDevicePointer(&on_device, own.data(), 0));
  fill<<<1, 64>>>(on_device, 64, 2.0f, make_int2(0, 0));
  CUDA_CHECK(cudaDeviceSynchronize());
  CHECK(own[63] == 126);
  CUDA_CHECK(cudaHostUnregister(own.data()));
  CHECK(cudaHostUnregister(own.data()) == cudaErrorHostMemoryNotRegistered);
  CHECK(last_error_is(cudaErrorHostMemoryNotRegistered));
}

TEST_CASE("limits and preferences", "[runtime]") {
  size_t stack = 0;
  CUDA_CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
  CUDA_CHECK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
  CHECK(stack >= 4096);
  CHECK(cudaDeviceSetLimit(static_cast<cudaLimit>(77), 1) != cudaSuccess);
  static_cast<void>(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
  CUDA_CHECK(cudaFuncSetCacheConfig(fill, cudaFuncCachePreferShared));
  int least = 1, greatest = 1, can = 1;
  CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(greatest <= least);
  CUDA_CHECK(cudaDeviceCanAccessPeer(&can, 0, 0));
  CHECK(can == 0);
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  int called = 0;
  CUDA_CHECK(cudaLaunchHostFunc(
      stream, [](void* data) { ++*static_cast<int*>(data); }, &called));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  CHECK(called == 1);
  CUDA_CHECK(cudaStreamDestroy(stream));
  cudaEvent_t event = nullptr;
  CUDA_CHECK(cudaEventCreate(&event, cudaEventBlockingSync | cudaEventDisableTiming));
  CUDA_CHECK(cudaEventDestroy(event));
  CUDA_CHECK(cudaProfilerStart());
  CUDA_CHECK(cudaProfilerStop());
}

TEST_CASE("more of the device's properties", "[runtime]") {
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(properties.totalConstMem == 64 * 1024);
  CHECK(properties.maxBlocksPerMultiProcessor >= 16);
  CHECK(properties.memPitch > 0);
  CHECK(properties.unifiedAddressing == 1);
  const auto attribute = [](cudaDeviceAttr which) {
    int value = -1;
    CUDA_CHECK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
  };
  CHECK(attribute(cudaDevAttrMaxBlockDimZ) == 64);
  CHECK(attribute(cudaDevAttrMaxGridDimX) == 0x7fffffff);
  CHECK(attribute(cudaDevAttrTotalConstantMemory) == 64 * 1024);
  CHECK(attribute(cudaDevAttrMaxBlocksPerMultiprocessor) == properties.maxBlocksPerMultiProcessor);
  CHECK(attribute(cudaDevAttrMemoryClockRate) > 0);
  CHECK(attribute(cudaDevAttrGlobalMemoryBusWidth) == properties.memoryBusWidth);
  CHECK(attribute(cudaDevAttrManagedMemory) == properties.managedMemory);
}

TEST_CASE("what a stream alone uses, and what the L2 cache should keep, are hints", "[runtime]") {
  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreate(&stream));
  float* managed = nullptr;
  CUDA_CHECK(cudaMallocManaged(&managed, 1024));
  CUDA_CHECK(cudaStreamAttachMemAsync(stream, managed, 0, cudaMemAttachHost));
  CUDA_CHECK(cudaStreamAttachMemAsync(stream, managed));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamAttachMemAsync(nullptr, managed, 0, cudaMemAttachSingle) ==
        cudaErrorInvalidValue);
  CHECK(last_error_is(cudaErrorInvalidValue));

  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = managed;
  value.accessPolicyWindow.num_bytes = 1024;
  value.accessPolicyWindow.hitRatio = 0.5f;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  CUDA_CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
  CUDA_CHECK(cudaCtxResetPersistingL2Cache());
  CUDA_CHECK(cudaFree(managed));
  CUDA_CHECK(cudaStreamDestroy(stream));
}
