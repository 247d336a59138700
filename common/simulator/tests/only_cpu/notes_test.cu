// What the simulator notes though it is no fault: the launch goes on and its result counts.
#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace {

constexpr int kEarly = __LINE__ + 4;
__global__ void leaves_early(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __syncthreads();
  out[i] = in[i];
}
__global__ void votes_after_some_left(int* out) {
  if (threadIdx.x >= 40) return;
  out[threadIdx.x] = __syncthreads_count(threadIdx.x < 10) + 100 * __syncthreads_and(1);
}
/// The last thread leaves after the others have come to the barrier.
__global__ void leaves_late(int* out) {
  if (threadIdx.x == blockDim.x - 1) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void needs_who_left(int* out) {
  __shared__ int slots[64];
  slots[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (threadIdx.x >= 32) return;
  __syncthreads();
  out[threadIdx.x] = slots[63 - threadIdx.x];
}
__global__ void needs_lane_that_left(int* out) {
  __shared__ int slots[32];
  slots[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (threadIdx.x >= 16) return;
  __syncwarp();
  out[threadIdx.x] = slots[31 - threadIdx.x];
}
/// What was there before the last barrier of those that left is ordered.
__global__ void leaves_after_a_barrier(int* out) {
  __shared__ int slots[64];
  slots[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  __syncthreads();
  out[threadIdx.x] = slots[63 - threadIdx.x];
}

__global__ void fills_after_some_left(int* out) {
  __shared__ int slots[64];
  if (threadIdx.x >= 32) return;
  slots[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = slots[63 - threadIdx.x];
}

constexpr int kSame = __LINE__ + 3;
__global__ void all_lanes_write(const float* in, float* out) {
  __shared__ float sums[2];
  sums[threadIdx.x / 32] = in[threadIdx.x / 32];
  __syncthreads();
  out[threadIdx.x] = sums[threadIdx.x / 32];
}
__global__ void one_lane_differs(int* out) {
  __shared__ int slot;
  slot = threadIdx.x == 20 ? 1 : 2;
  __syncthreads();
  out[threadIdx.x] = slot;
}
/// The last byte that a thread writes before it leaves, and the first after a barrier.
__global__ void differs_at_the_end(int* out) {
  out[0] = static_cast<int>(threadIdx.x);
}
__global__ void differs_before_a_barrier(int* out) {
  out[0] = static_cast<int>(threadIdx.x);
  __syncthreads();
}
__global__ void differs_before_a_shuffle(int* out) {
  out[0] = static_cast<int>(threadIdx.x);
  __syncwarp();
}
/// Thread 1 changes one byte of the four that thread 0 wrote.
__global__ void one_byte(unsigned char* out, int value) {
  if (threadIdx.x == 0)
    *reinterpret_cast<unsigned*>(out) = 0x01010101;
  else
    out[2] = static_cast<unsigned char>(value);
}
__global__ void flag_of_all_blocks(const int* in, int* found) {
  if (in[threadIdx.x] > 0) *found = 1;
}
__global__ void same_value_and_a_reader(int* out) {
  __shared__ volatile int slot;
  slot = 7;
  out[threadIdx.x] = slot;
}

__global__ void same_value_and_a_bound(int* out, int n) {
  __shared__ int slot;
  slot = 7;
  __syncthreads();
  if (static_cast<int>(threadIdx.x) <= n) out[threadIdx.x] = slot;
}

/// The error of the launch, and its report whatever that is.
struct Told {
  cudaError_t error = cudaGetLastError();
  std::string report = simulator::last_report();
};

std::string here(int line) {
  return "notes_test.cu:" + std::to_string(line);
}

}  // namespace

TEST_CASE("a barrier does not wait for threads that have left, and says so", "[checks]") {
  for (int n : {1, 31, 32, 33, 63, 64, 65, 127}) {
    CAPTURE(n);
    const std::vector<int> values(static_cast<size_t>(n), 5);
    tutorial::DeviceBuffer<int> in(values), out(n);
    leaves_early<<<2, 64>>>(in.data(), out.data(), n);
    const Told told;
    CHECK(told.error == cudaSuccess);
    CHECK(out.to_host() == values);
    CHECK_THAT(told.report, ContainsSubstring("note in leaves_early, block ("));
    CHECK_THAT(told.report,
               ContainsSubstring(" had left the kernel when the others met at __syncthreads()  " +
                                 here(kEarly)));
    CHECK_THAT(told.report, ContainsSubstring("likely: a return stands before the barrier"));
  }
  tutorial::DeviceBuffer<int> out(40);
  votes_after_some_left<<<1, 64>>>(out.data());
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(out.to_host() == std::vector<int>(40, 110));
  CHECK_THAT(simulator::last_report(), ContainsSubstring("24 threads had left the kernel"));
  CHECK_THAT(simulator::last_report(), ContainsSubstring("met at __syncthreads_count()"));
  leaves_late<<<1, 33>>>(out.data());
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK_THAT(simulator::last_report(), ContainsSubstring("1 thread had left the kernel"));
}

TEST_CASE("what a thread wrote before it left is ordered by no later barrier", "[checks]") {
  tutorial::DeviceBuffer<int> out(64);
  needs_who_left<<<1, 64>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("race in needs_who_left, shared memory slots["));
  needs_lane_that_left<<<1, 32>>>(out.data());
  CHECK_THAT(Outcome{}.report,
             ContainsSubstring("race in needs_lane_that_left, shared memory slots["));
  leaves_after_a_barrier<<<1, 64>>>(out.data());
  CHECK(Outcome{}.error == cudaSuccess);
}

TEST_CASE("what the threads that left should have written is missing", "[checks]") {
  tutorial::DeviceBuffer<int> out(32);
  fills_after_some_left<<<1, 64>>>(out.data());
  const Outcome outcome;
  CHECK_THAT(outcome.report,
             ContainsSubstring("init in fills_after_some_left, shared memory slots[63]"));
  CHECK_THAT(outcome.report, ContainsSubstring("a return stands too early"));
}

TEST_CASE("threads that write the same value to one place are noted", "[checks]") {
  tutorial::DeviceBuffer<float> in(std::vector<float>{3, 4}), sums(64);
  all_lanes_write<<<1, 64>>>(in.data(), sums.data());
  const Told told;
  CHECK(told.error == cudaSuccess);
  CHECK_THAT(told.report, ContainsSubstring("note in all_lanes_write, shared memory sums["));
  CHECK(count_of(told.report, here(kSame)) == 2);
  CHECK_THAT(told.report, ContainsSubstring("both wrote the same value"));
  CHECK_THAT(told.report, ContainsSubstring("seen 62 times"));

  tutorial::DeviceBuffer<int> flags(std::vector<int>(64, 1)), found(1);
  for (int i = 0; i < 20; ++i) flag_of_all_blocks<<<500, 64>>>(flags.data(), found.data());
  CHECK(Outcome{}.error == cudaSuccess);
  tutorial::DeviceBuffer<unsigned char> bytes(4);
  one_byte<<<1, 2>>>(bytes.data(), 1);
  CHECK(Outcome{}.error == cudaSuccess);
}

TEST_CASE("beside a fault, equal values are not noted", "[checks]") {
  tutorial::DeviceBuffer<int> out(32);
  same_value_and_a_bound<<<1, 32>>>(out.data(), 31);
  CHECK_THAT(Told{}.report, ContainsSubstring("both wrote the same value"));
  tutorial::DeviceBuffer<int> shorter(31);
  same_value_and_a_bound<<<1, 32>>>(shorter.data(), 31);
  const Told told;
  CHECK(told.error != cudaSuccess);
  CHECK_THAT(told.report, ContainsSubstring("bounds in same_value_and_a_bound"));
  CHECK(count_of(told.report, "both wrote the same value") == 0);
}

TEST_CASE("different values at one place stay a race, wherever the thread stops next", "[checks]") {
  tutorial::DeviceBuffer<int> out(64);
  one_lane_differs<<<1, 32>>>(out.data());
  const Outcome outcome;
  CHECK_THAT(outcome.report, ContainsSubstring("race in one_lane_differs"));
  CHECK_THAT(outcome.report, ContainsSubstring("two threads write the same element"));
  differs_at_the_end<<<1, 2>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("race in differs_at_the_end"));
  differs_before_a_barrier<<<1, 2>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("race in differs_before_a_barrier"));
  differs_before_a_shuffle<<<1, 2>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("race in differs_before_a_shuffle"));
  tutorial::DeviceBuffer<unsigned char> bytes(4);
  one_byte<<<1, 2>>>(bytes.data(), 2);
  CHECK_THAT(Outcome{}.report, ContainsSubstring("race in one_byte"));
  same_value_and_a_reader<<<1, 32>>>(out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("race in same_value_and_a_reader"));
}
