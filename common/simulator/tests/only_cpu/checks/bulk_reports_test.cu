// Faults with what the TMA unit stores and adds without a tensor map, planted on purpose: each must
// be named, by its line.
#include "common/kernel/bulk.cuh"
#include "common/simulator/tests/only_cpu/outcome.hpp"
#include "common/simulator/tests/units/hopper.hpp"

using namespace tutorial;

namespace {

constexpr int COUNT = 64, THREADS = 64;

enum Fault {
  none,
  from_between,
  to_between,
  count_between,
  from_global,
  from_past_the_end,
  from_past_shared_memory,
  to_past_the_end,
  to_shared,
  to_nothing_written,
  nothing_written,
  no_proxy_fence,
  proxy_fence_of_one,
  no_barrier,
  no_commit,
  no_wait,
  written_before_read,
  written_before_all_read,
  read_before_stored,
  told_before_stored,
  two_store,
};

/// A block stores 64 numbers, or adds them. `sums` has numbers already, `empty` has none.
template <bool ADD, Fault FAULT>
__global__ void bulk(float* sums, float* empty, const float* in, float* out) {
  __shared__ __align__(16) float numbers[2 * COUNT];
  const int thread = static_cast<int>(threadIdx.x);
  if (FAULT != nothing_written) numbers[thread] = in[thread] * (blockIdx.x + 1);  // to shared
  if (FAULT != no_proxy_fence && (FAULT != proxy_fence_of_one || thread == 0)) fence_async_proxy();
  if (FAULT != no_barrier) __syncthreads();
  if (thread == 0) {
    const float* const from = FAULT == from_between        ? numbers + 1
                              : FAULT == from_global       ? in
                              : FAULT == from_past_the_end ? numbers + COUNT + 4
                                                           : numbers;
    float* const to = FAULT == to_between                                          ? sums + 2
                      : FAULT == to_past_the_end                                   ? sums + 4
                      : FAULT == to_shared                                         ? numbers + COUNT
                      : FAULT == to_nothing_written || FAULT == read_before_stored ? empty
                                                                                   : sums;
    const int count = FAULT == count_between             ? COUNT - 2
                      : FAULT == from_past_shared_memory ? 1 << 20
                                                         : COUNT;
    if (ADD)
      bulk_add(to, from, count);  // the sum
    else
      bulk_store(to, from, count);  // the store
    if (FAULT != no_commit) tma_commit();
    if (FAULT == written_before_read) numbers[5] = 0;  // too early
    if (FAULT == written_before_all_read) {
      tma_wait_read<1>();
      numbers[5] = 0;  // all but one
    }
    if (FAULT != no_wait) tma_wait_read<0>();
    if (FAULT == read_before_stored) out[0] = to[0];  // by itself
  }
  if (FAULT == told_before_stored) {
    __syncthreads();
    out[thread] = sums[thread];  // told
  }
  if (thread == 0 && FAULT != no_wait) tma_wait<0>();
}

template <bool ADD, Fault FAULT>
Outcome outcome() {
  const DeviceBuffer<float> in(whole_numbers<float>(COUNT, 1));
  DeviceBuffer<float> sums(in.to_host()), empty(COUNT), out(COUNT);
  bulk<ADD, FAULT>
      <<<FAULT == two_store ? 2 : 1, THREADS>>>(sums.data(), empty.data(), in.data(), out.data());
  return {};
}

}  // namespace

#define CHECK_REPORT(add, fault, ...)                                                           \
  {                                                                                             \
    const Outcome found = outcome<add, fault>();                                                \
    INFO((add ? "add, " : "store, ") << #fault "\n" << found.report);                           \
    CHECK(found.error != cudaSuccess);                                                          \
    for (const char* words : {__VA_ARGS__}) CHECK_THAT(found.report, ContainsSubstring(words)); \
  }

TEST_CASE("bulk: the kernel of these tests is right", "[hopper]") {
  const Outcome stores = outcome<false, none>(), adds = outcome<true, none>();
  INFO(stores.report << adds.report);
  CHECK(stores.error == cudaSuccess);
  CHECK(adds.error == cudaSuccess);
}

// On a GPU they are a misaligned or an illegal address.
TEST_CASE("bulk: places and counts that the unit does not take", "[hopper]") {
  CHECK_REPORT(false, from_between, "bounds in bulk", "bulk_store(): shared memory numbers[1] does",
               "not begin at a multiple of 16 bytes", "// the store");
  CHECK_REPORT(true, from_between, "bounds in bulk", "bulk_add(): shared memory numbers[1] does",
               "not begin at a multiple of 16 bytes", "// the sum");
  CHECK_REPORT(false, to_between, "bounds in bulk", "the place in global memory does not begin",
               "// the store");
  CHECK_REPORT(true, to_between, "bounds in bulk", "the place in global memory does not begin",
               "// the sum");
  CHECK_REPORT(false, count_between, "bounds in bulk", "a multiple of 4, and 62", "// the store");
  CHECK_REPORT(true, count_between, "bounds in bulk", "a multiple of 4, and 62", "// the sum");
}

TEST_CASE("bulk: numbers outside of shared memory, or of an array in it", "[hopper]") {
  CHECK_REPORT(false, from_global, "bounds in bulk", "bulk_store(): the numbers must lie in",
               "// the store");
  CHECK_REPORT(true, from_global, "bounds in bulk", "bulk_add(): the numbers must lie in",
               "// the sum");
  CHECK_REPORT(true, from_past_shared_memory, "bounds in bulk", "1048576 numbers at",
               "shared memory numbers[0] go past the end", "// the sum");
  CHECK_REPORT(false, from_past_the_end, "bounds in bulk", "past the end of numbers (512 bytes)",
               "// the store");
  CHECK_REPORT(true, from_past_the_end, "bounds in bulk", "past the end of numbers (512 bytes)",
               "// the sum");
}

TEST_CASE("bulk: places outside of an allocation", "[hopper]") {
  CHECK_REPORT(false, to_past_the_end, "bounds in bulk", "written by block (0,0) thread (0,0)",
               "0 bytes past the end of an allocation of 256 bytes", "seen 4 times",
               "// the store");
  CHECK_REPORT(true, to_past_the_end, "bounds in bulk", "atomic by  block (0,0) thread (0,0)",
               "0 bytes past the end of an allocation of 256 bytes", "seen 4 times", "// the sum");
  CHECK_REPORT(false, to_shared, "bounds in bulk", "is not global memory", "// the store");
  CHECK_REPORT(true, to_shared, "bounds in bulk", "is not global memory", "// the sum");
}

TEST_CASE("bulk: numbers that nobody wrote", "[hopper]") {
  CHECK_REPORT(false, nothing_written, "init in bulk<ADD, FAULT>, shared memory numbers[0]",
               "seen 64 times", "// the store");
  CHECK_REPORT(true, nothing_written, "init in bulk<ADD, FAULT>, shared memory numbers[0]",
               "seen 64 times", "// the sum");
  CHECK_REPORT(true, to_nothing_written, "init in bulk<ADD, FAULT>, global memory, element 0 of 64",
               "seen 64 times", "// the sum");
  const Outcome stores = outcome<false, to_nothing_written>();
  INFO(stores.report);
  CHECK(stores.error == cudaSuccess);
}

TEST_CASE("bulk: numbers that the unit is not shown", "[hopper]") {
  CHECK_REPORT(false, no_proxy_fence, "race in bulk<ADD, FAULT>, shared memory numbers[0]",
               "// to shared", "// the store", "fence_async_proxy() is missing", "seen 64 times");
  CHECK_REPORT(true, no_proxy_fence, "race in bulk<ADD, FAULT>, shared memory numbers[0]",
               "// to shared", "// the sum", "fence_async_proxy() is missing", "seen 64 times");
  CHECK_REPORT(true, proxy_fence_of_one, "// to shared", "// the sum", "in the thread that wrote",
               "seen 63 times");
  CHECK_REPORT(false, no_barrier, "race in bulk", "// to shared", "// the store");
  CHECK_REPORT(true, no_barrier, "race in bulk", "// to shared", "// the sum");
}

TEST_CASE("bulk: what is not waited for", "[hopper]") {
  CHECK_REPORT(false, written_before_read, "race in bulk<ADD, FAULT>, shared memory numbers[5]",
               "// the store", "// too early", "has not been waited for");
  CHECK_REPORT(true, written_before_read, "race in bulk<ADD, FAULT>, shared memory numbers[5]",
               "// the sum", "// too early", "has not been waited for");
  CHECK_REPORT(true, written_before_all_read, "race in bulk<ADD, FAULT>, shared memory numbers[5]",
               "// the sum", "// all but one", "has not been waited for");
  CHECK_REPORT(false, no_commit, "the thread leaves while the TMA unit may still read",
               "tma_commit() and", "// the store");
  CHECK_REPORT(true, no_commit, "the thread leaves while the TMA unit may still read",
               "tma_commit() and", "// the sum");
  CHECK_REPORT(false, no_wait, "the thread leaves while the TMA unit may still read",
               "// the store");
  CHECK_REPORT(true, no_wait, "the thread leaves while the TMA unit may still read", "// the sum");
}

// Of sums that are read too early the simulator has no report, since atomics race with no reader.
TEST_CASE("bulk: what is read before it has been stored", "[hopper]") {
  CHECK_REPORT(false, read_before_stored,
               "init in bulk<ADD, FAULT>, global memory, element 0 of 64", "// by itself");
  CHECK_REPORT(false, told_before_stored, "race in bulk<ADD, FAULT>, global memory", "read by",
               "// told", "written by block (0,0) thread (0,0)", "// the store", "seen 63 times");
}

TEST_CASE("bulk: two blocks store, and nothing orders them", "[hopper]") {
  CHECK_REPORT(false, two_store, "race in bulk<ADD, FAULT>, global memory", "// the store",
               "nothing orders two blocks of one launch");
  const Outcome adds = outcome<true, two_store>();
  INFO(adds.report);
  CHECK(adds.error == cudaSuccess);
}
