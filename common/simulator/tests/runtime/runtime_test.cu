// The host's side of the runtime: memory, copies, streams, events, properties, errors.
#include <cstring>
#include <numeric>
#include <string>

#include "common/simulator/tests/run_kernel.hpp"

namespace {

__constant__ float coefficients[4];
__device__ int device_values[3];

__global__ void polynomial(float x, float* out) {
  out[0] = ((coefficients[3] * x + coefficients[2]) * x + coefficients[1]) * x + coefficients[0];
}
__global__ void add_to_device_values(int amount) {
  device_values[threadIdx.x] += amount;
}
__global__ void __launch_bounds__(256) add_one(float* values, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] += 1;
}

std::vector<float> counted(int count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

/// Reads and forgets the last error, which must be this one.
bool last_error_is(cudaError_t error) {
  return cudaGetLastError() == error;
}

}  // namespace

TEST_CASE("allocation", "[runtime]") {
  float *a = nullptr, *b = nullptr;
  CUDA_CHECK(cudaMalloc(&a, 12));
  CUDA_CHECK(cudaMalloc(&b, 12));
  CHECK(reinterpret_cast<uintptr_t>(a) % 256 == 0);
  CHECK(reinterpret_cast<uintptr_t>(b) % 256 == 0);
  CHECK(std::abs(reinterpret_cast<char*>(a) - reinterpret_cast<char*>(b)) >= 12);
  CUDA_CHECK(cudaFree(a));
  CUDA_CHECK(cudaFree(b));
  CUDA_CHECK(cudaFree(nullptr));

  void* none = &a;
  CUDA_CHECK(cudaMalloc(&none, 0));
  CHECK(none == nullptr);
  CHECK(cudaMalloc(&none, size_t{1} << 60) == cudaErrorMemoryAllocation);
  CHECK(last_error_is(cudaErrorMemoryAllocation));
  CHECK(cudaMalloc(static_cast<void**>(nullptr), 16) == cudaErrorInvalidValue);
  CHECK(last_error_is(cudaErrorInvalidValue));

  size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  CHECK(free > 0);
  CHECK(free <= total);
}

TEST_CASE("copies of every kind", "[runtime]") {
  const std::vector<float> in = counted(1000);
  float *a = nullptr, *b = nullptr, *pinned = nullptr;
  CUDA_CHECK(cudaMalloc(&a, 4000));
  CUDA_CHECK(cudaMalloc(&b, 4000));
  CUDA_CHECK(cudaMallocHost(&pinned, 4000));
  std::vector<float> out(1000);
  CUDA_CHECK(cudaMemcpy(a, in.data(), 4000, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(b, a, 4000, cudaMemcpyDeviceToDevice));
  CUDA_CHECK(cudaMemcpy(pinned, b, 4000, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(out.data(), pinned, 4000, cudaMemcpyHostToHost));
  CHECK(out == in);

  CUDA_CHECK(cudaMemcpy(b + 10, in.data(), 40, cudaMemcpyDefault));
  CUDA_CHECK(cudaMemcpy(b + 30, b + 500, 40, cudaMemcpyDefault));
  CUDA_CHECK(cudaMemcpyAsync(out.data(), b, 4000, cudaMemcpyDefault));
  CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<float> want = in;
  std::copy(in.begin(), in.begin() + 10, want.begin() + 10);
  std::copy(in.begin() + 500, in.begin() + 510, want.begin() + 30);
  CHECK(out == want);

  // 5 rows of 6 floats out of rows of 10, into rows of 8.
  CUDA_CHECK(cudaMemcpy2D(b, 32, a + 3, 40, 24, 5, cudaMemcpyDeviceToDevice));
  CUDA_CHECK(cudaMemcpy(out.data(), b, 160, cudaMemcpyDeviceToHost));
  for (int row = 0; row < 5; ++row)
    for (int col = 0; col < 6; ++col) CHECK(out[8 * row + col] == 10 * row + col + 3);

  CUDA_CHECK(cudaFreeHost(pinned));
  CUDA_CHECK(cudaFree(a));
  CUDA_CHECK(cudaFree(b));
}

TEST_CASE("memset fills bytes", "[runtime]") {
  tutorial::DeviceBuffer<unsigned> values(std::vector<unsigned>(8, 0));
  CUDA_CHECK(cudaMemset(values.data() + 1, 0xab, 9));
  CUDA_CHECK(cudaMemsetAsync(values.data() + 6, 0x101, 4));  // the low byte counts
  CHECK(values.to_host() ==
        std::vector<unsigned>{0, 0xabababab, 0xabababab, 0xab, 0, 0, 0x01010101, 0});
}

TEST_CASE("copies with wrong arguments", "[runtime]") {
  tutorial::DeviceBuffer<float> device(8);
  float host[8] = {};
  CHECK(cudaMemcpy(nullptr, device.data(), 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(last_error_is(cudaErrorInvalidValue));
  CHECK(cudaMemcpy(device.data(), nullptr, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(last_error_is(cudaErrorInvalidValue));
  CHECK(cudaMemcpy(device.data(), host, 4, static_cast<cudaMemcpyKind>(77)) ==
        cudaErrorInvalidMemcpyDirection);
  CHECK(last_error_is(cudaErrorInvalidMemcpyDirection));
  CHECK(cudaMemset(nullptr, 0, 4) == cudaErrorInvalidValue);
  CHECK(last_error_is(cudaErrorInvalidValue));
  CUDA_CHECK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemset(nullptr, 0, 0));
}

TEST_CASE("__constant__ and __device__ variables", "[runtime]") {
  const float three[] = {1, 2, 3}, last = 4;
  CUDA_CHECK(cudaMemcpyToSymbol(coefficients, three, sizeof three));
  CUDA_CHECK(cudaMemcpyToSymbol(coefficients, &last, sizeof last, 3 * sizeof(float)));
  const auto got = run_kernel<float>(1, [](float* out) { polynomial<<<1, 1>>>(2.0f, out); });
  CHECK(got[0] == 1 + 2 * 2 + 3 * 4 + 4 * 8);

  const int start[] = {10, 20, 30};
  int values[3] = {}, middle = 0;
  CUDA_CHECK(cudaMemcpyToSymbol(device_values, start, sizeof start));
  add_to_device_values<<<1, 3>>>(5);
  CUDA_CHECK_LAUNCH();
  CUDA_CHECK(cudaMemcpyFromSymbol(values, device_values, sizeof values));
  CHECK(std::vector<int>(values, values + 3) == std::vector<int>{15, 25, 35});
  CUDA_CHECK(cudaMemcpyFromSymbol(&middle, device_values, sizeof(int), sizeof(int)));
  CHECK(middle == 25);
  CHECK(cudaMemcpyToSymbol(device_values, start, 16) == cudaErrorInvalidValue);
  CHECK(last_error_is(cudaErrorInvalidValue));
}

TEST_CASE("a stream does its work in order", "[runtime]") {
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const std::vector<float> in = counted(1000);
  std::vector<float> out(1000);
  float* values = nullptr;
  CUDA_CHECK(cudaMallocAsync(&values, 4000, stream));
  CUDA_CHECK(cudaMemcpyAsync(values, in.data(), 4000, cudaMemcpyHostToDevice, stream));
  for (int i = 0; i < 10; ++i) add_one<<<4, 256, 0, stream>>>(values, 1000);
  CUDA_CHECK_LAUNCH();
  CUDA_CHECK(cudaMemsetAsync(values, 0, 4, stream));
  CUDA_CHECK(cudaMemcpyAsync(out.data(), values, 4000, cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaFreeAsync(values, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  CUDA_CHECK(cudaStreamQuery(stream));
  CHECK(out[0] == 0);
  for (int i = 1; i < 1000; i += 37) CHECK(out[i] == i + 10);
  CUDA_CHECK(cudaStreamDestroy(stream));
}

TEST_CASE("events order streams and measure time", "[runtime]") {
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t start = nullptr, stop = nullptr, untimed = nullptr;
  CUDA_CHECK(cudaStreamCreate(&first));
  CUDA_CHECK(cudaStreamCreate(&second));
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  CUDA_CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));

  tutorial::DeviceBuffer<float> values(counted(1000));
  CUDA_CHECK(cudaDeviceSynchronize());
  CUDA_CHECK(cudaEventRecord(start, first));
  add_one<<<4, 256, 0, first>>>(values.data(), 1000);
  CUDA_CHECK(cudaEventRecord(stop, first));
  CUDA_CHECK(cudaStreamWaitEvent(second, stop));
  add_one<<<4, 256, 0, second>>>(values.data(), 1000);
  CUDA_CHECK(cudaEventRecord(untimed, second));
  CUDA_CHECK(cudaEventSynchronize(untimed));
  CUDA_CHECK(cudaEventQuery(untimed));
  CHECK(values.to_host()[999] == 1001);

  float milliseconds = -1;
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  CHECK(milliseconds >= 0);
  CHECK(milliseconds < 10000);
  CHECK(cudaEventElapsedTime(&milliseconds, start, untimed) == cudaErrorInvalidResourceHandle);
  CHECK(last_error_is(cudaErrorInvalidResourceHandle));
  cudaEvent_t never = nullptr;
  CUDA_CHECK(cudaEventCreate(&never));
  CHECK(cudaEventElapsedTime(&milliseconds, start, never) == cudaErrorInvalidResourceHandle);
  CHECK(last_error_is(cudaErrorInvalidResourceHandle));

  for (cudaEvent_t event : {start, stop, untimed, never}) CUDA_CHECK(cudaEventDestroy(event));
  CUDA_CHECK(cudaStreamDestroy(first));
  CUDA_CHECK(cudaStreamDestroy(second));
}

TEST_CASE("the device's properties", "[runtime]") {
  int count = 0, device = -1;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  CHECK(count >= 1);
  CUDA_CHECK(cudaSetDevice(0));
  CUDA_CHECK(cudaGetDevice(&device));
  CHECK(device == 0);
  CHECK(cudaSetDevice(count) == cudaErrorInvalidDevice);
  CHECK(last_error_is(cudaErrorInvalidDevice));

  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(std::strlen(properties.name) > 0);
  CHECK(properties.warpSize == 32);
  CHECK(properties.maxThreadsPerBlock == 1024);
  CHECK(properties.maxThreadsDim[0] == 1024);
  CHECK(properties.maxThreadsDim[1] == 1024);
  CHECK(properties.maxThreadsDim[2] == 64);
  CHECK(properties.maxGridSize[0] == 0x7fffffff);
  CHECK(properties.maxGridSize[1] == 65535);
  CHECK(properties.maxGridSize[2] == 65535);
  CHECK(properties.sharedMemPerBlock == 48 * 1024);
  CHECK(properties.sharedMemPerBlockOptin > 48 * 1024);
  CHECK(properties.multiProcessorCount > 0);
  CHECK(properties.major >= 7);
  CHECK(properties.totalGlobalMem > 0);

  const auto attribute = [](cudaDeviceAttr which) {
    int value = -1;
    CUDA_CHECK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
  };
  CHECK(attribute(cudaDevAttrMaxThreadsPerBlock) == 1024);
  CHECK(attribute(cudaDevAttrWarpSize) == 32);
  CHECK(attribute(cudaDevAttrMaxSharedMemoryPerBlock) == 48 * 1024);
  CHECK(attribute(cudaDevAttrMultiProcessorCount) == properties.multiProcessorCount);
  CHECK(attribute(cudaDevAttrComputeCapabilityMajor) == properties.major);
  CHECK(attribute(cudaDevAttrComputeCapabilityMinor) == properties.minor);
  CHECK(attribute(cudaDevAttrL2CacheSize) == properties.l2CacheSize);
  CHECK(static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) ==
        properties.sharedMemPerBlockOptin);
  CHECK(cudaGetDeviceProperties(&properties, count) == cudaErrorInvalidDevice);
  CHECK(last_error_is(cudaErrorInvalidDevice));
}

TEST_CASE("what the runtime knows of a kernel", "[runtime]") {
  cudaFuncAttributes attributes{};
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, polynomial));
  CHECK(attributes.maxThreadsPerBlock == 1024);
  CHECK(attributes.sharedSizeBytes == 0);
  int blocks = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, polynomial, 1024, 0));
  CHECK(blocks >= 1);
  CHECK(blocks <= 2);
  int with_shared = 0;
  CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&with_shared, polynomial, 32, 40 * 1024));
  CHECK(with_shared >= 1);
  CHECK(with_shared <= 6);
}

TEST_CASE("errors have names and words", "[runtime]") {
  const auto name = [](cudaError_t error) { return std::string(cudaGetErrorName(error)); };
  CHECK(name(cudaSuccess) == "cudaSuccess");
  CHECK(name(cudaErrorInvalidValue) == "cudaErrorInvalidValue");
  CHECK(name(cudaErrorInvalidConfiguration) == "cudaErrorInvalidConfiguration");
  CHECK(name(cudaErrorIllegalAddress) == "cudaErrorIllegalAddress");
  CHECK(name(cudaErrorMemoryAllocation) == "cudaErrorMemoryAllocation");
  CHECK(std::string(cudaGetErrorString(cudaErrorInvalidConfiguration)) ==
        "invalid configuration argument");
  CHECK(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)) == "out of memory");
}
