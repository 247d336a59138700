// What orders two accesses, and what only seems to.
#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace {

enum class By { nothing, warp, half_warp, block };

template <By BY>
__device__ void synchronise() {
  if (BY == By::warp) __syncwarp();
  if (BY == By::half_warp) __syncwarp(threadIdx.x % 32 < 16 ? 0xffffu : 0xffff0000u);
  if (BY == By::block) __syncthreads();
}

/// A thread writes after that, and its neighbour in the same half of the warp reads.
template <By BEFORE, By BETWEEN>
__global__ void neighbours(int* out) {
  __shared__ int slots[64];
  synchronise<BEFORE>();
  slots[threadIdx.x] = 1;
  synchronise<BETWEEN>();
  out[threadIdx.x] = slots[threadIdx.x ^ 1];
}
/// The lower half of the warp by itself.
__global__ void half_a_warp(int* out) {
  __shared__ int slots[32];
  if (threadIdx.x >= 16) return;
  __syncwarp(0xffff);
  slots[threadIdx.x] = 1;
  out[threadIdx.x] = slots[threadIdx.x ^ 1];
}
/// The same with a thread of the other warp.
template <By BETWEEN>
__global__ void across_warps(int* out) {
  __shared__ int slots[64];
  slots[threadIdx.x] = 1;
  synchronise<BETWEEN>();
  out[threadIdx.x] = slots[threadIdx.x ^ 32];
}
/// Blocks below `ordered` order their accesses; the others, which come later, do not.
template <By BY>
__global__ void later_blocks(unsigned ordered, int* out) {
  __shared__ int slots[64];
  if (blockIdx.x < ordered) synchronise<BY>();
  if (blockIdx.x < ordered) synchronise<BY>();
  slots[threadIdx.x] = 1;
  if (blockIdx.x < ordered) synchronise<BY>();
  out[64 * blockIdx.x + threadIdx.x] = slots[threadIdx.x ^ 1];
}

/// Thread 0 and those of warp 1 read, then one of them writes.
__global__ void two_readers(int writer, int* out) {
  __shared__ int slot;
  if (threadIdx.x == 0) slot = 1;
  __syncthreads();
  if (threadIdx.x == 0 || threadIdx.x >= 32) out[threadIdx.x] = slot;
  __syncwarp();  // warp 1 comes before warp 0 goes on
  if (static_cast<int>(threadIdx.x) == writer) slot = 2;
}
/// Of each pair of blocks both read, and the second one writes.
__global__ void pairs_of_blocks(int* data, int* out) {
  out[blockIdx.x] = data[blockIdx.x / 2];
  if (blockIdx.x % 2 == 1) data[blockIdx.x / 2] = 2;
}

/// The last of a float4.
__global__ void wide_and_narrow(float* data, float* out) {
  if (threadIdx.x == 0)
    *reinterpret_cast<float4*>(data) = make_float4(1, 2, 3, 4);
  else
    out[0] = data[3];
}

// ---- Atomic functions

template <bool BARRIER>
__global__ void shared_sum(int* out) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1);
  if (BARRIER) __syncthreads();
  out[threadIdx.x] = sum;
}
/// The last thread alone reads, after all others have added.
__global__ void reads_after_the_sum(int* out) {
  __shared__ int sum;
  if (threadIdx.x == 63) sum = 0;
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&sum, 1);
  if (threadIdx.x == 62) out[0] = sum;
}
__global__ void reads_before_the_sum(int* out) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  out[threadIdx.x] = sum;
  if (threadIdx.x == 40) atomicAdd(&sum, 1);
}
__global__ void reads_beside_atomics(int* sum, int* out) {
  out[threadIdx.x] = *static_cast<volatile int*>(sum);
  atomicAdd(sum, 1);
}

__device__ int device_counter = 0;
/// The last block to come adds up what all have left.
template <bool DEVICE_VARIABLE>
__global__ void last_block_adds(int* counter, int* parts, int* out) {
  parts[blockIdx.x] = 1;
  __threadfence();
  int* const where = DEVICE_VARIABLE ? &device_counter : counter;
  if (atomicAdd(where, 1) != static_cast<int>(gridDim.x) - 1) return;
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += parts[b];
  out[0] = sum;
}
/// The second block of each pair reads what the first one writes, and uses no atomic function.
__global__ void atomics_of_other_blocks(int* counter, int* parts, int* out) {
  if (blockIdx.x % 2 == 0) {
    parts[blockIdx.x] = 1;
    atomicAdd(counter, 1);
  } else {
    out[blockIdx.x] = parts[blockIdx.x - 1];
  }
}
/// Within a block an atomic function orders nothing.
template <bool SHARED>
__global__ void atomic_in_between(int* counter, int* data, int* out) {
  __shared__ int tile[64];
  int* const slots = SHARED ? tile : data;
  slots[threadIdx.x] = 1;
  atomicAdd(counter, 1);
  out[threadIdx.x] = slots[threadIdx.x ^ 32];
}

/// Two operations of a warp, with one mask.
__global__ void two_operations(int* out) {
  if (threadIdx.x < 16)
    out[threadIdx.x] = __any_sync(0xffffffffu, 1);
  else
    out[threadIdx.x] = static_cast<int>(__ballot_sync(0xffffffffu, 1));
}

bool is_race() {
  const Outcome outcome;
  CHECK((outcome.error == cudaSuccess || outcome.error == cudaErrorLaunchFailure));
  return outcome.report.find("race in ") != std::string::npos;
}

}  // namespace

TEST_CASE("an operation of a warp orders what came before it, and nothing after", "[checks]") {
  tutorial::DeviceBuffer<int> out(64);
  neighbours<By::nothing, By::warp><<<1, 64>>>(out.data());
  CHECK_FALSE(is_race());
  neighbours<By::nothing, By::half_warp><<<1, 64>>>(out.data());
  CHECK_FALSE(is_race());
  neighbours<By::nothing, By::nothing><<<1, 64>>>(out.data());
  CHECK(is_race());
  neighbours<By::warp, By::nothing><<<1, 64>>>(out.data());
  CHECK(is_race());
  neighbours<By::half_warp, By::nothing><<<1, 64>>>(out.data());
  CHECK(is_race());
  half_a_warp<<<1, 32>>>(out.data());
  CHECK(is_race());
  neighbours<By::block, By::nothing><<<1, 64>>>(out.data());
  CHECK(is_race());
}

TEST_CASE("an operation of a warp orders no other warp", "[checks]") {
  tutorial::DeviceBuffer<int> out(64);
  across_warps<By::block><<<1, 64>>>(out.data());
  CHECK_FALSE(is_race());
  across_warps<By::warp><<<1, 64>>>(out.data());
  CHECK(is_race());
  across_warps<By::half_warp><<<1, 64>>>(out.data());
  CHECK(is_race());
}

TEST_CASE("what ordered the threads of a block orders none of a later one", "[checks]") {
  tutorial::DeviceBuffer<int> out(64 * 48);
  const auto seen = [](const std::string& report) { return count_of(report, "seen 1024 times"); };
  later_blocks<By::warp><<<48, 64>>>(32, out.data());
  CHECK(seen(Outcome{}.report) == 1);  // 16 blocks of 64 threads
  later_blocks<By::half_warp><<<48, 64>>>(32, out.data());
  CHECK(seen(Outcome{}.report) == 1);
  later_blocks<By::block><<<48, 64>>>(32, out.data());
  CHECK(seen(Outcome{}.report) == 1);
}

TEST_CASE("a writer races with a reader, also if it has read before, or another has", "[checks]") {
  const Restored restored;
  simulator::set_thread_order(0);
  tutorial::DeviceBuffer<int> out(64);
  two_readers<<<1, 64>>>(-1, out.data());
  CHECK_FALSE(is_race());
  for (const int writer : {0, 32, 62, 63}) {  // the first reader, the last, or one between
    two_readers<<<1, 64>>>(writer, out.data());
    CHECK(is_race());
  }
  tutorial::DeviceBuffer<int> data(std::vector<int>(20, 1));
  pairs_of_blocks<<<40, 1>>>(data.data(), out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("seen 20 times"));
}

TEST_CASE("a wide access races in each of its parts", "[checks]") {
  tutorial::DeviceBuffer<float> data(4), out(1);
  wide_and_narrow<<<1, 2>>>(data.data(), out.data());
  CHECK(is_race());
}

TEST_CASE("atomic functions race with other accesses of shared memory", "[checks]") {
  tutorial::DeviceBuffer<int> out(64);
  shared_sum<true><<<1, 64>>>(out.data());
  CHECK_FALSE(is_race());
  shared_sum<false><<<1, 64>>>(out.data());
  CHECK(is_race());
  reads_before_the_sum<<<1, 64>>>(out.data());
  CHECK(is_race());
  const Restored restored;
  simulator::set_thread_order(0);
  reads_after_the_sum<<<1, 64>>>(out.data());
  CHECK(is_race());
  tutorial::DeviceBuffer<int> sum(std::vector<int>(1, 0));
  reads_beside_atomics<<<1, 64>>>(sum.data(), out.data());  // global memory: as before atomicCAS
  CHECK_FALSE(is_race());
}

TEST_CASE("atomic functions order blocks, those that use them", "[checks]") {
  tutorial::DeviceBuffer<int> counter(std::vector<int>(1, 0)), parts(64), out(64);
  last_block_adds<false><<<64, 1>>>(counter.data(), parts.data(), out.data());
  CHECK_FALSE(is_race());
  CHECK(out.to_host()[0] == 64);
  last_block_adds<true><<<64, 1>>>(counter.data(), parts.data(), out.data());
  CHECK_FALSE(is_race());
  CHECK(out.to_host()[0] == 64);
  parts.from_host(std::vector<int>(64, 0));
  atomics_of_other_blocks<<<64, 1>>>(counter.data(), parts.data(), out.data());
  CHECK_THAT(Outcome{}.report, ContainsSubstring("seen 32 times"));
}

TEST_CASE("within a block atomic functions order nothing", "[checks]") {
  tutorial::DeviceBuffer<int> counter(std::vector<int>(1, 0)), data(64), out(64);
  atomic_in_between<false><<<1, 64>>>(counter.data(), data.data(), out.data());
  CHECK(is_race());
  atomic_in_between<true><<<1, 64>>>(counter.data(), data.data(), out.data());
  CHECK(is_race());
}

TEST_CASE("lanes at different operations wait for each other", "[checks]") {
  tutorial::DeviceBuffer<int> out(32);
  two_operations<<<1, 32>>>(out.data());
  const Outcome outcome;
  CHECK(outcome.error == cudaErrorLaunchFailure);
  CHECK_THAT(outcome.report, ContainsSubstring("barrier in two_operations") &&
                                 ContainsSubstring("its threads wait for each other"));
}
