// Faults with asynchronous copies, planted on purpose: each must be named.
#include <cuda_pipeline.h>

#include <vector>

#include "common/simulator/tests/only_cpu/outcome.hpp"

using namespace tutorial;

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

/// Two groups of copies, of which all but LEFT are waited for; then group READ is read.
template <int LEFT, int READ>
__global__ void brings_two_groups(const int* in, int* out) {
  __shared__ int tiles[2][64];
  for (int group = 0; group < 2; ++group) {
    __pipeline_memcpy_async(&tiles[group][threadIdx.x], in + threadIdx.x, sizeof(int));
    __pipeline_commit();
  }
  __pipeline_wait_prior(LEFT);
  __syncthreads();
  out[threadIdx.x] = tiles[READ][63 - threadIdx.x];
}
/// What is not committed is in no group.
template <bool COMMITTED>
__global__ void brings_without_group(const int* in, int* out) {
  __shared__ int tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, sizeof(int));
  if (COMMITTED) __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}
/// The barrier stands before the wait, where it orders nothing. (Those who read come last, after
/// those whose copies they read have waited.)
__global__ void barrier_before_wait(const int* in, int* out) {
  __shared__ int tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, sizeof(int));
  __pipeline_commit();
  __syncthreads();
  __pipeline_wait_prior(0);
  if (threadIdx.x >= 32 && threadIdx.x < 63) out[threadIdx.x] = tile[threadIdx.x - 32];
}
/// A block may end before its copies do. Those of the next block are others.
__global__ void leaves_copies(bool leaves, const int* in, int* out) {
  __shared__ int tile[64], other[64];
  if (leaves) {
    __pipeline_memcpy_async(&other[threadIdx.x], in + threadIdx.x, sizeof(int));
    __pipeline_commit();
    return;
  }
  other[threadIdx.x] = 7;
  __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, sizeof(int));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = other[63 - threadIdx.x] + tile[63 - threadIdx.x];
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

TEST_CASE("a wait leaves the newest groups on their way", "[checks][pipeline]") {
  const DeviceBuffer<int> in(std::vector<int>(64, 1));
  DeviceBuffer<int> out(64);
  brings_two_groups<1, 0><<<1, 64>>>(in.data(), out.data());
  CHECK(cudaGetLastError() == cudaSuccess);
  brings_two_groups<0, 1><<<1, 64>>>(in.data(), out.data());
  CHECK(cudaGetLastError() == cudaSuccess);
  brings_two_groups<1, 1><<<1, 64>>>(in.data(), out.data());
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("was not waited for"));
  brings_two_groups<2, 0><<<1, 64>>>(in.data(), out.data());
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  brings_without_group<true><<<1, 64>>>(in.data(), out.data());
  CHECK(cudaGetLastError() == cudaSuccess);
  brings_without_group<false><<<1, 64>>>(in.data(), out.data());
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("was not waited for"));
}

TEST_CASE("a barrier before the wait does not order what comes with it", "[checks][pipeline]") {
  const Restored restored;
  simulator::set_thread_order(0);
  const DeviceBuffer<int> in(std::vector<int>(64, 1));
  DeviceBuffer<int> out(64);
  barrier_before_wait<<<1, 64>>>(in.data(), out.data());
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("race in barrier_before_wait"));
}

TEST_CASE("copies end with their block", "[checks][pipeline]") {
  const DeviceBuffer<int> in(std::vector<int>(64, 1));
  DeviceBuffer<int> out(64);
  leaves_copies<<<64, 64>>>(true, in.data(), out.data());
  CHECK(cudaGetLastError() == cudaSuccess);
  for (int again = 0; again < 4; ++again) {  // on whichever worker
    leaves_copies<<<1, 64>>>(false, in.data(), out.data());
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(out.to_host() == std::vector<int>(64, 8));
  }
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
