// Asynchronous copies to shared memory.
#include <cuda_pipeline.h>

#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/simulator/tests/run_kernel.hpp"

using namespace tutorial;

namespace {

template <class T>
__global__ void copies(const T* in, T* out, size_t zfill) {
  __shared__ T tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, sizeof(T), zfill);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[(threadIdx.x + 1) % blockDim.x];
}

/// Each of the parts of `in` is brought while the part before is added up.
__global__ void adds_parts(const int* in, int* out, int parts) {
  __shared__ int tile[2][32];
  const unsigned lane = threadIdx.x;
  __pipeline_memcpy_async(&tile[0][lane], in + lane, sizeof(int));
  __pipeline_commit();
  int sum = 0;
  for (int part = 0; part < parts; ++part) {
    if (part + 1 < parts)
      __pipeline_memcpy_async(&tile[(part + 1) % 2][lane], in + 32 * (part + 1) + lane,
                              sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += tile[part % 2][31 - lane];
    __syncthreads();
  }
  out[lane] = sum;
}

}  // namespace

TEST_CASE("asynchronous copies bring what lies there", "[pipeline]") {
  std::vector<float> numbers(4 * 64);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  const DeviceBuffer<float> in(numbers);
  const auto floats =
      run_kernel<float>(64, [&](float* out) { copies<float><<<1, 64>>>(in.data(), out, 0); });
  const auto wide = run_kernel<float>(4 * 64, [&](float* out) {
    copies<float4>
        <<<1, 64>>>(reinterpret_cast<const float4*>(in.data()), reinterpret_cast<float4*>(out), 0);
  });
  for (size_t i = 0; i < 64; ++i) CHECK(floats[i] == numbers[(i + 1) % 64]);
  for (size_t i = 0; i < 4 * 64; ++i) CHECK(wide[i] == numbers[(i + 4) % 256]);
}

TEST_CASE("asynchronous copies fill the end with zeros", "[pipeline]") {
  const DeviceBuffer<float> in(std::vector<float>(4 * 64, 3.0f));
  const auto part = run_kernel<float>(4 * 64, [&](float* out) {
    copies<float4>
        <<<1, 64>>>(reinterpret_cast<const float4*>(in.data()), reinterpret_cast<float4*>(out), 8);
  });
  for (size_t i = 0; i < 4 * 64; ++i) CHECK(part[i] == (i % 4 < 2 ? 3.0f : 0.0f));
  // Nothing is read where all is filled.
  const auto none = run_kernel<float>(
      64, [&](float* out) { copies<float><<<1, 64>>>(nullptr, out, sizeof(float)); });
  for (const float value : none) CHECK(value == 0.0f);
}

TEST_CASE("copies overlap what came before", "[pipeline]") {
  std::vector<int> numbers(32 * 7);
  std::iota(numbers.begin(), numbers.end(), 0);
  const DeviceBuffer<int> in(numbers);
  const auto sums =
      run_kernel<int>(32, [&](int* out) { adds_parts<<<1, 32>>>(in.data(), out, 7); });
  for (int lane = 0; lane < 32; ++lane)
    CHECK(sums[static_cast<size_t>(lane)] == 7 * (31 - lane) + 32 * 21);
}
