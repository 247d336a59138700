// What the simulator says when the threads of a block can never go on, and when one of them
// crashes.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "common/data/device_buffer.hpp"
#include "common/kernel/check.hpp"
#include "common/simulator/device/report.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int kEarlyLine = __LINE__ + 3;
__global__ void some_at_a_barrier(int limit) {
  if (static_cast<int>(threadIdx.x) < limit) __syncthreads();
  __syncthreads_or(0);
}

constexpr int kTwoLine = __LINE__ + 3;
__global__ void two_barriers() {
  if (threadIdx.x < 32) {
    __syncthreads();  // one line
  } else {
    __syncthreads();  // another
  }
}

constexpr int kShuffleLine = __LINE__ + 5;
__global__ void shuffle_without_all_lanes(int* out) {
  if (threadIdx.x == 5) {
    __syncthreads();
  } else {
    out[threadIdx.x] = __shfl_xor_sync(0xffffffff, 1, 1);
  }
}

__global__ void mask_without_caller() {
  __syncwarp(0x2);
}
__global__ void divide(int* out, int by) {
  out[0] = 7 / by;
}
__device__ void deeper(volatile int* out, int depth) {
  volatile char page[3000] = {};
  out[0] = page[depth % 3000];
  if (depth >= 0) deeper(out, depth + 1);
}
__global__ void recurse(volatile int* out, int depth) {
  deeper(out, depth);
}
__device__ __noinline__ void writes_at(volatile float* array, long i) {
  array[i] = 1;
}
constexpr int kLocalLine = __LINE__ + 4;
__global__ void leaves_local_array(int by, float* out) {
  float local[8] = {};
  float* const p = local;
  for (int i = 0; i < 8 + by; ++i) p[i] = static_cast<float>(i);
  for (int i = 0; i < 8; ++i) out[i] = p[i];
}
__global__ void writes_far_from_local_array(long distance, float* out) {
  volatile float local[8] = {};
  writes_at(local, distance);
  out[0] = local[0];
}
__global__ void ends_the_program(int* out) {
  if (threadIdx.x == 3) exit(4);
  out[threadIdx.x] = 1;
}
__global__ void throws() {
  throw std::runtime_error("thrown in a kernel");
}
constexpr int kFarLine = __LINE__ + 2;
__global__ void reads_far(const float* in, float* out, long distance) {
  out[0] = in[distance];
}
constexpr int kFloat4Line = __LINE__ + 2;
__global__ void writes_float4(float* out, int at) {
  *reinterpret_cast<float4*>(out + at) = make_float4(1, 2, 3, 4);
}
__global__ void fine(int* out) {
  out[threadIdx.x] = static_cast<int>(threadIdx.x);
}

std::string here(int line) {
  return "stuck_test.cu:" + std::to_string(line);
}

/// The error of the launch just made; the launch after it must work.
cudaError_t error_of_launch() {
  const cudaError_t error = cudaGetLastError();
  int* out = nullptr;
  CUDA_CHECK(cudaMalloc(&out, 64 * sizeof(int)));
  fine<<<1, 64>>>(out);
  CUDA_CHECK(cudaGetLastError());
  int last = -1;
  CUDA_CHECK(cudaMemcpy(&last, out + 63, sizeof last, cudaMemcpyDeviceToHost));
  CHECK(last == 63);
  CUDA_CHECK(cudaFree(out));
  return error;
}

}  // namespace

TEST_CASE("a barrier that some threads never reach is reported", "[simulator]") {
  some_at_a_barrier<<<dim3(3, 2), 64>>>(40);
  CHECK(error_of_launch() == cudaErrorLaunchFailure);
  const std::string report = simulator::last_report();
  CHECK_THAT(report, ContainsSubstring("barrier in some_at_a_barrier, block (0,0)"));
  CHECK_THAT(report,
             ContainsSubstring("40 threads wait at __syncthreads()  " + here(kEarlyLine - 1)));
  CHECK_THAT(report,
             ContainsSubstring("24 threads wait at __syncthreads_or()  " + here(kEarlyLine)));
  CHECK_THAT(report, ContainsSubstring("first: thread (40,0)"));
}

TEST_CASE("threads at different barriers are reported with both lines", "[simulator]") {
  two_barriers<<<1, 64>>>();
  CHECK(error_of_launch() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring(here(kTwoLine)));
  CHECK_THAT(simulator::last_report(), ContainsSubstring(here(kTwoLine + 2)));
}

TEST_CASE("a shuffle whose lanes do not all come is reported", "[simulator]") {
  int* out = nullptr;
  CUDA_CHECK(cudaMalloc(&out, 32 * sizeof(int)));
  shuffle_without_all_lanes<<<1, 32>>>(out);
  CHECK(error_of_launch() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(),
             ContainsSubstring("31 threads wait at a shuffle  " + here(kShuffleLine)));
  mask_without_caller<<<1, 32>>>();
  CHECK(error_of_launch() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("does not name the calling lane"));
  CUDA_CHECK(cudaFree(out));
}

TEST_CASE("a crash of one thread ends the launch, not the program", "[simulator]") {
  float* buffer = nullptr;
  CUDA_CHECK(cudaMalloc(&buffer, 64 * sizeof(float)));

  divide<<<1, 1>>>(reinterpret_cast<int*>(buffer), 0);
  CHECK(error_of_launch() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("divided by zero"));

  recurse<<<1, 32>>>(reinterpret_cast<int*>(buffer), 0);
  CHECK(error_of_launch() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("stack in recurse"));

  ends_the_program<<<1, 32>>>(reinterpret_cast<int*>(buffer));
  CHECK(error_of_launch() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(),
             ContainsSubstring("exit in ends_the_program, block (0,0) thread (3,0)"));

  leaves_local_array<<<1, 1>>>(0, buffer);
  CHECK(error_of_launch() == cudaSuccess);
  leaves_local_array<<<1, 1>>>(1, buffer);
  CHECK(error_of_launch() == cudaErrorIllegalAddress);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("bounds in leaves_local_array"));
  CHECK_THAT(simulator::last_report(), ContainsSubstring(here(kLocalLine)));
  CHECK_THAT(simulator::last_report(),
             ContainsSubstring("past the end of a local variable or array"));
  writes_far_from_local_array<<<1, 1>>>(-32'000, buffer);  // in the guard below the thread's stack
  CHECK(error_of_launch() == cudaErrorIllegalAddress);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("bounds in writes_far_from_local_array"));
  CHECK_THAT(simulator::last_report(),
             ContainsSubstring("far outside the thread's local variables"));

  throws<<<2, 64>>>();
  CHECK(error_of_launch() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("thrown in a kernel"));

  reads_far<<<1, 32>>>(buffer, buffer, 1 << 20);
  CHECK(error_of_launch() == cudaErrorIllegalAddress);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("past the end of an allocation"));
  CHECK_THAT(simulator::last_report(), ContainsSubstring(here(kFarLine)));

  reads_far<<<1, 32>>>(nullptr, buffer, 0);
  CHECK(error_of_launch() == cudaErrorIllegalAddress);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("null pointer"));

  writes_float4<<<1, 1>>>(buffer, 1);
  CHECK(error_of_launch() == cudaErrorMisalignedAddress);
  CHECK_THAT(simulator::last_report(), ContainsSubstring(here(kFloat4Line)));
  CUDA_CHECK(cudaFree(buffer));
}

namespace {
__global__ void too_much_shared(int* out) {
  __shared__ int array[12289];  // 4 bytes more than 48 KB
  array[threadIdx.x] = 1;
  out[0] = array[0];
}
}  // namespace

TEST_CASE("more static shared memory than nvcc allows is refused", "[simulator]") {
  too_much_shared<<<1, 32>>>(nullptr);
  CHECK(error_of_launch() == cudaErrorInvalidValue);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("49156 bytes"));
}

namespace {

__device__ void waits() noexcept {
  __syncthreads();
}
__global__ void waits_in_noexcept() {
  if (threadIdx.x < 32) waits();
  __syncthreads();
}
__global__ void throws_int() {
  throw 42;
}
__global__ void large_local_array(int* out, int at) {
  volatile char local[256 * 1024];
  local[at] = 1;
  out[0] = local[at];
}
/// Lane 0 leaves; then both halves may go on, one after the other.
__global__ void two_groups_wait_for_one_lane(int* out) {
  if (threadIdx.x == 0) return;
  if (threadIdx.x < 16) __syncwarp(0x0000ffff);
  if (threadIdx.x >= 16) __syncwarp(0xffff0001);
  __syncwarp(0xfffffffe);
  out[threadIdx.x] = 1;
}
__global__ void launches_a_kernel() {
  fine<<<1, 1>>>(nullptr);
}

}  // namespace

TEST_CASE("a launch ends cleanly wherever its threads are", "[simulator]") {
  tutorial::DeviceBuffer<int> out(32);
  waits_in_noexcept<<<1, 64>>>();
  CHECK(error_of_launch() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("barrier in waits_in_noexcept"));
  throws_int<<<1, 1>>>();
  CHECK(error_of_launch() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("exception in throws_int"));
  large_local_array<<<1, 1>>>(out.data(), 0);
  CHECK(error_of_launch() == cudaErrorLaunchFailure);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("stack in large_local_array"));
  two_groups_wait_for_one_lane<<<1, 32>>>(out.data());
  CHECK(error_of_launch() == cudaSuccess);
  launches_a_kernel<<<1, 1>>>();
  CHECK(error_of_launch() == cudaErrorNotSupported);
}

TEST_CASE("freed global memory can no longer be read", "[simulator]") {
  float *freed = nullptr, *out = nullptr;
  CUDA_CHECK(cudaMalloc(&freed, 64 * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&out, 64 * sizeof(float)));
  CUDA_CHECK(cudaFree(freed));
  reads_far<<<1, 1>>>(freed, out, 0);
  CHECK(error_of_launch() == cudaErrorIllegalAddress);
  CUDA_CHECK(cudaFree(out));
}

TEST_CASE("a kernel's fault shows at the next call that waits", "[simulator]") {
  some_at_a_barrier<<<1, 64>>>(40);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaSuccess);
}
