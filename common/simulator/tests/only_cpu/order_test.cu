// Threads in a shuffled order; checks switched off; threads that wait in vain.
#include <set>
#include <thread>

#include "common/backend/backend.hpp"
#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace {

template <bool RIGHT>
__global__ void turns_round(const int* in, int* out) {
  __shared__ int tile[256];
  tile[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  if (RIGHT) __syncthreads();
  out[blockIdx.x * 256 + threadIdx.x] = tile[255 - threadIdx.x];
}
/// Who comes first, of the blocks and of the threads of block 0.
__global__ void first_come(int* next, int* blocks, int* threads) {
  if (threadIdx.x == 0) blocks[atomicAdd(&next[0], 1)] = static_cast<int>(blockIdx.x);
  if (blockIdx.x == 0) threads[atomicAdd(&next[1], 1)] = static_cast<int>(threadIdx.x);
}
__global__ void after_a_barrier(int* next, int* threads) {
  __syncthreads();
  threads[atomicAdd(next, 1)] = static_cast<int>(threadIdx.x);
}

constexpr int kSpin = __LINE__ + 4;
__global__ void waits_for_flag(volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    out[0] = 1;
    while (*flag == 0) {
    }
  } else {
    *flag = 1;
  }
}
constexpr int kLock = __LINE__ + 2;
__global__ void waits_for_lock(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __syncthreads();
  *lock = 0;
}
__global__ void works_long(const int* in, int count, int* out) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += in[i % 1000];
  out[0] = sum;
}

constexpr int kEndless = __LINE__ + 4;
__global__ void counts_for_ever(unsigned from) {
  unsigned i = from;
  if (threadIdx.x == 7)
    while (i != 8) i += i % 2 == 0 ? 2 : 0;
}

std::vector<int> counted(int count) {
  std::vector<int> values(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) values[static_cast<size_t>(i)] = i;
  return values;
}

}  // namespace

TEST_CASE("a shuffled order shows a missing barrier, and keeps right values", "[order]") {
  const Restored restored;
  tutorial::switch_checks(false);
  const tutorial::DeviceBuffer<int> in(counted(512));
  std::set<std::vector<int>> right, wrong;
  for (const uint64_t seed : {0, 1, 2, 3}) {
    tutorial::set_thread_order(seed);
    tutorial::DeviceBuffer<int> out(512);
    turns_round<true><<<2, 256>>>(in.data(), out.data());
    CUDA_CHECK_LAUNCH();
    right.insert(out.to_host());
    turns_round<false><<<2, 256>>>(in.data(), out.data());
    CUDA_CHECK_LAUNCH();
    wrong.insert(out.to_host());
  }
  CHECK(right.size() == 1);
  CHECK(wrong.size() == 4);
}

TEST_CASE("the order of threads comes from the seed", "[order]") {
  const Restored restored;
  tutorial::switch_checks(false);
  const auto order_of = [](uint64_t seed) {
    tutorial::set_thread_order(seed);
    tutorial::DeviceBuffer<int> next(std::vector<int>(3, 0)), blocks(30), threads(64), after(64);
    first_come<<<30, 64>>>(next.data(), blocks.data(), threads.data());
    after_a_barrier<<<1, 64>>>(next.data() + 2, after.data());
    CUDA_CHECK_LAUNCH();
    std::vector<std::vector<int>> orders = {threads.to_host(), after.to_host()};
    for (std::vector<int> order : orders) {
      std::sort(order.begin(), order.end());
      CHECK(order == counted(64));
    }
    std::vector<int> all = blocks.to_host();
    std::sort(all.begin(), all.end());
    CHECK(all == counted(30));
    return orders;
  };
  CHECK(order_of(0)[0] == counted(64));
  CHECK(order_of(5) == order_of(5));
  CHECK(order_of(5)[0] != counted(64));
  CHECK(order_of(5)[0] != order_of(6)[0]);
  CHECK(order_of(5)[1] != order_of(0)[1]);
}

TEST_CASE("every block comes once in any order", "[order]") {
  for (const uint64_t seed : {0, 1, 77})
    for (const int64_t count : {1, 2, 3, 12, 97, 1000}) {
      const simulator::BlockOrder order(seed, count);
      std::set<int64_t> all;
      for (int64_t i = 0; i < count; ++i) all.insert(order(i));
      CHECK(static_cast<int64_t>(all.size()) == count);
      CHECK(*all.begin() == 0);
      CHECK(*all.rbegin() == count - 1);
    }
  CHECK(simulator::BlockOrder(0, 1000)(7) == 7);
}

TEST_CASE("checks can be switched off and on", "[order]") {
  const Restored restored;
  const tutorial::DeviceBuffer<int> in(counted(256));
  tutorial::DeviceBuffer<int> out(256);
  simulator::switch_checks(true);
  turns_round<false><<<1, 256>>>(in.data(), out.data());
  CHECK(Outcome{}.error == cudaErrorLaunchFailure);
  simulator::switch_checks(false);
  turns_round<false><<<1, 256>>>(in.data(), out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  simulator::switch_checks(true);
  turns_round<false><<<1, 256>>>(in.data(), out.data());
  CHECK(Outcome{}.error == cudaErrorLaunchFailure);
}

TEST_CASE("a thread that spins for ever is reported", "[order]") {
  const Restored restored;
  simulator::switch_checks(true);
  simulator::set_thread_order(0);
  simulator::set_patience(1);
  tutorial::DeviceBuffer<int> flag(std::vector<int>(1, 0)), out(1);
  waits_for_flag<<<1, 2>>>(flag.data(), out.data());
  const Outcome on_flag;
  CHECK(on_flag.error == cudaErrorLaunchFailure);
  CHECK_THAT(on_flag.report,
             ContainsSubstring("endless in waits_for_flag, block (0,0) thread (0,0)  "
                               "order_test.cu:" +
                               std::to_string(kSpin) + "   "));
  waits_for_lock<<<1, 2>>>(flag.data());
  CHECK_THAT(Outcome{}.report,
             ContainsSubstring("thread (1,0)  order_test.cu:" + std::to_string(kLock)));
  // Long work at many addresses is none.
  simulator::set_patience(0.3);
  const tutorial::DeviceBuffer<int> in(counted(1000));
  works_long<<<1, 1>>>(in.data(), 10'000'000, out.data());
  CHECK(Outcome{}.error == cudaSuccess);
  counts_for_ever<<<2, 32>>>(1);
  const Outcome endless;
  CHECK(endless.error == cudaErrorLaunchFailure);
  CHECK_THAT(
      endless.report,
      ContainsSubstring("endless in counts_for_ever, block (0,0) thread (7,0)  order_test.cu:" +
                        std::to_string(kEndless)));
  CHECK_THAT(endless.report, ContainsSubstring("likely: a loop does not end"));
}

TEST_CASE("a launch that does far more than it should is ended", "[order]") {
  const Restored restored;
  simulator::switch_checks(true);
  simulator::set_thread_order(0);
  tutorial::DeviceBuffer<int> in(counted(1000)), out(1);
  SECTION("by accesses") {
    tutorial::set_expected({{.kernel = "another", .loads = 4}});
    works_long<<<1, 1>>>(in.data(), 3'000'000, out.data());
    CHECK(Outcome{}.error == cudaSuccess);
    tutorial::set_expected({{.kernel = "another", .loads = 4},
                            {.kernel = "works_long", .loads = 399'996, .stores = 4}});
    works_long<<<1, 1>>>(in.data(), 100'000, out.data());
    CHECK(Outcome{}.error == cudaSuccess);
    const auto kernel = works_long;
    kernel<<<3, 1>>>(in.data(), 2'000'000'000, out.data());
    tutorial::set_expected({});
    const Outcome outcome;
    CHECK(outcome.error == cudaErrorLaunchFailure);
    CHECK_THAT(outcome.report,
               ContainsSubstring("endless in kernel, block (0,0) thread (0,0)  order_test.cu:"));
    CHECK_THAT(outcome.report, ContainsSubstring("the launch is ended here: it has made"));
    CHECK_THAT(outcome.report, ContainsSubstring("more than 1000000, ten times what its step"));
    CHECK_THAT(outcome.report, ContainsSubstring("of its 3 blocks have begun"));
  }
  SECTION("by time, and the launches after it sooner") {
    tutorial::set_launch_limit(1);
    works_long<<<1, 1>>>(in.data(), 2'000'000'000, out.data());
    CHECK_THAT(Outcome{}.report, ContainsSubstring("the launch is ended here: it has run for 1 s"));
    CHECK(simulator::launch_limit() < 1);
    tutorial::set_launch_limit(0);
    works_long<<<1, 1>>>(in.data(), 3'000'000, out.data());
    CHECK(Outcome{}.error == cudaSuccess);
  }
}

TEST_CASE("a kernel's fault shows in every host thread", "[order]") {
  tutorial::DeviceBuffer<int> out(1);
  std::thread([&] { turns_round<true><<<1, 512>>>(nullptr, out.data()); }).join();
  CHECK(cudaPeekAtLastError() == cudaErrorIllegalAddress);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaSuccess);
}
