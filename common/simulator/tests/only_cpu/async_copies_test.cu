// Faults with asynchronous copies, planted on purpose: each must be named.
#include <cuda_pipeline.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <vector>

#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/simulator/report.hpp"

using namespace tutorial;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int kNoWait = 1, kNoBarrier = 2, kWaitsForTooFew = 3, kOverwritten = 4;

template <int FAULT>
__global__ void brings_a_tile(const int* in, int* out) {
  __shared__ int tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, sizeof(int));
  __pipeline_commit();
  if (FAULT == kOverwritten) tile[threadIdx.x] = 0;
  if (FAULT == kWaitsForTooFew) __pipeline_wait_prior(1);
  if (FAULT != kNoWait && FAULT != kWaitsForTooFew) __pipeline_wait_prior(0);
  if (FAULT != kNoBarrier) __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];  // the read
}

__global__ void brings_pairs(const int* in, int* out) {
  alignas(8) __shared__ int tile[2];
  __pipeline_memcpy_async(tile, in, 8);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[0] = tile[0];
}

template <int FAULT>
cudaError_t run() {
  const DeviceBuffer<int> in(std::vector<int>(64, 1));
  DeviceBuffer<int> out(64);
  brings_a_tile<FAULT><<<1, 64>>>(in.data(), out.data());
  return cudaGetLastError();
}

}  // namespace

TEST_CASE("a copy that was not waited for is a race", "[checks][pipeline]") {
  CHECK(run<0>() == cudaSuccess);
  CHECK(run<kNoWait>() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("race in") && ContainsSubstring("tile[") &&
                                           ContainsSubstring("__pipeline_memcpy_async(&tile") &&
                                           ContainsSubstring("// the read") &&
                                           ContainsSubstring("was not waited for"));
  CHECK(run<kWaitsForTooFew>() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("was not waited for"));
  CHECK(run<kOverwritten>() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("tile[threadIdx.x] = 0"));
}

TEST_CASE("a copy that only its own thread has waited for is a race", "[checks][pipeline]") {
  CHECK(run<kNoBarrier>() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(),
             ContainsSubstring("race in") && ContainsSubstring("// the read"));
}

TEST_CASE("a copy's address must be a multiple of its size", "[checks][pipeline]") {
  const DeviceBuffer<int> in(std::vector<int>(64, 1));
  DeviceBuffer<int> out(64);
  brings_pairs<<<1, 1>>>(in.data(), out.data());
  CHECK(cudaGetLastError() == cudaSuccess);
  brings_pairs<<<1, 1>>>(in.data() + 1, out.data());
  CHECK(cudaGetLastError() == cudaErrorMisalignedAddress);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("bounds in brings_pairs"));
}
