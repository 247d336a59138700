// Faults with the words of compute capability 9.0a, planted on purpose: each must be named, by its
// line.
#include "common/kernel/tma.cuh"
#include "common/kernel/warpgroup.cuh"
#include "common/kernel/wgmma.cuh"
#include "common/simulator/tests/only_cpu/outcome.hpp"
#include "common/simulator/tests/units/hopper.hpp"

using namespace tutorial;

namespace {

using T = __nv_bfloat16;
constexpr int SIDE = 64, STAGES = 2, BYTES = SIDE * SIDE * 2;

enum Fault {
  none,
  too_many_bytes,
  too_few_bytes,
  too_many_arrivals,
  too_few_arrivals,
  no_wait_for_full,
  one_waits_for_full,
  wrong_parity,
  no_wait_for_empty,
  given_back_early,
  sums_read_early,
  sums_written_early,
  no_wgmma_fence,
  no_wgmma_wait,
  one_warp_multiplies,
  descriptor_of_warp,
  tile_misplaced,
  no_proxy_fence,
  proxy_fence_of_one,
  no_barrier_before_store,
  no_wait_for_store,
  written_before_store_has_read,
  no_init,
  init_by_all,
  no_init_fence,
  load_misplaced,
  load_between,
  load_too_many,
  load_too_few,
  count_of_named_barrier,
  number_of_named_barrier,
  too_many_registers,
};

struct Tiles {
  T A[STAGES][SIDE * SIDE];
  T C[SIDE * SIDE];
  Barrier full[STAGES], empty[STAGES];
};

constexpr int SHARED = aligned_bytes<Tiles>;

/// C = the sum over `steps` tiles A of A·A; a producer warpgroup and a consumer warpgroup.
template <Fault FAULT>
__global__ void pipeline(const __grid_constant__ CUtensorMap A,
                         const __grid_constant__ CUtensorMap C, int steps) {
  extern __shared__ unsigned char memory[];
  Tiles& tiles = aligned_shared<Tiles>(memory);
  if (threadIdx.x == 0 || FAULT == init_by_all) {
    for (int stage = 0; stage < STAGES; ++stage) {
      if (FAULT != no_init) barrier_init(tiles.full[stage], 1);
      barrier_init(tiles.empty[stage], FAULT == too_many_arrivals  ? 129
                                       : FAULT == too_few_arrivals ? 64
                                                                   : 128);
    }
    if (FAULT != no_init_fence) barrier_init_fence();
  }
  __syncthreads();
  if (threadIdx.x < WARPGROUP) {
    if (FAULT != too_many_registers) give_registers<40>();
    if (threadIdx.x > 0) return;
    const int loads = steps + (FAULT == load_too_many) - (FAULT == load_too_few);
    for (int step = 0; step < loads; ++step) {
      const int stage = step % STAGES;
      Barrier& full = tiles.full[stage];
      T* const to = tiles.A[stage] + (FAULT == load_misplaced ? 8 : 0);
      const int bytes = FAULT == too_many_bytes  ? 2 * BYTES
                        : FAULT == too_few_bytes ? BYTES / 2
                                                 : BYTES;
      if (FAULT != no_wait_for_empty) barrier_wait(tiles.empty[stage], step / STAGES % 2 ^ 1);
      barrier_arrive_expect(full, bytes);                                   // the arrival
      tma_load(to, A, full, {FAULT == load_between ? 4 : 0, step * SIDE});  // the load
    }
    return;
  }
  const int thread = static_cast<int>(threadIdx.x) - WARPGROUP, warp = thread / 32;
  take_registers<256>();
  float d[SIDE / 2];
  for (int step = 0; step < steps; ++step) {
    const int stage = step % STAGES;
    const int parity = step / STAGES % 2 ^ (FAULT == wrong_parity);
    if (FAULT != no_wait_for_full && (FAULT != one_waits_for_full || thread == 0))
      barrier_wait(tiles.full[stage], parity);
    const int off = FAULT == descriptor_of_warp ? 512 * warp : FAULT == tile_misplaced ? 64 : 0;
    const WgmmaOperand a({.start = tiles.A[stage] + off}), b({.start = tiles.A[stage]});
    if (FAULT != no_wgmma_fence) wgmma_fence();
    for (int k = 0; k < SIDE / 16; ++k) {
      if (FAULT == one_warp_multiplies && warp == 0) break;
      wgmma<SIDE, T, Major::k, Major::mn>(d, a + 32 * k, b + 2048 * k, step + k > 0);  // product
    }
    wgmma_commit();
    if (FAULT == given_back_early) barrier_arrive(tiles.empty[stage]);
    if (FAULT == sums_read_early && thread == 46 && d[3] == 1e30f) tiles.C[0] = T(0);  // read early
    if (FAULT == sums_written_early) d[3] = 0;  // written early
    if (FAULT != no_wgmma_wait) wgmma_wait<0>(d);
    if (FAULT != given_back_early) barrier_arrive(tiles.empty[stage]);
  }
  const int g = thread % 32 / 4, t = thread % 4;
  for (int i = 0; i < SIDE / 2; ++i) {
    const int row = 16 * warp + g + i % 4 / 2 * 8, column = i / 4 * 8 + 2 * t + i % 2;
    const unsigned byte = static_cast<unsigned>((row * SIDE + column) * 2);
    tiles.C[swizzled(byte, Swizzle::bytes_128) / 2] = __float2bfloat16(d[i]);  // to C
  }
  if (FAULT != no_proxy_fence && (FAULT != proxy_fence_of_one || thread == 0)) fence_async_proxy();
  if (FAULT != no_barrier_before_store)
    named_sync(FAULT == number_of_named_barrier ? 16 : 1,
               FAULT == count_of_named_barrier ? 256 : 128);
  if (thread != 0) return;
  tma_store(C, tiles.C, {0, 0});  // the store
  tma_commit();
  if (FAULT == written_before_store_has_read) tiles.C[0] = T(0.0f);  // too early
  if (FAULT != no_wait_for_store) tma_wait_read<0>();
}

/// Thread 0 says when a phase of `full` is complete, and the threads from 32 on when they have seen
/// it: each for itself, or thread 32 for all.
template <bool ONE_FOR_ALL>
__global__ void passes_on(int turns) {
  __shared__ Barrier full, empty;
  if (threadIdx.x == 0) {
    barrier_init(full, 1);
    barrier_init(empty, ONE_FOR_ALL ? 1 : 64);
    barrier_init_fence();
  }
  __syncthreads();
  for (int turn = 0; turn < turns; ++turn) {
    if (threadIdx.x == 0) {
      barrier_wait(empty, turn % 2 ^ 1);
      barrier_arrive(full);
    } else if (threadIdx.x >= 32) {
      barrier_wait(full, turn % 2);  // full
      if (!ONE_FOR_ALL || threadIdx.x == 32) barrier_arrive(empty);
    }
  }
}

template <Fault FAULT>
Outcome outcome(int steps = 5) {
  static const DeviceBuffer<T> a(whole_numbers<T>(6 * SIDE * SIDE, 1));
  DeviceBuffer<T> c(SIDE * SIDE);
  const auto A = tensor_map(a.data(), {SIDE, 6 * SIDE}, {SIDE}, {SIDE, SIDE});
  const auto C = tensor_map(c.data(), {SIDE, SIDE}, {SIDE}, {SIDE, SIDE});
  allow_shared(pipeline<FAULT>, SHARED);
  pipeline<FAULT><<<1, 2 * WARPGROUP, SHARED>>>(A, C, steps);
  return {};
}

}  // namespace

#define CHECK_REPORT(fault, ...)                                                                \
  {                                                                                             \
    const Outcome found = outcome<fault>();                                                     \
    INFO(#fault "\n" << found.report);                                                          \
    CHECK(found.error != cudaSuccess);                                                          \
    for (const char* words : {__VA_ARGS__}) CHECK_THAT(found.report, ContainsSubstring(words)); \
  }

TEST_CASE("hopper: the pipeline of these tests is right", "[hopper]") {
  const Outcome right = outcome<none>();
  INFO(right.report);
  CHECK(right.error == cudaSuccess);
}

TEST_CASE("hopper: a barrier that never completes", "[hopper]") {
  CHECK_REPORT(
      too_many_bytes, "barrier in pipeline", "128 threads wait at barrier_wait(), parity 0",
      "phase 0: expected 16384 bytes, 8192 came; 1 arrival of 1", "fewer bytes are copied");
  CHECK_REPORT(too_few_bytes, "phase 0: expected 4096 bytes, 8192 came", "more bytes are copied");
  CHECK_REPORT(too_many_arrivals, "phase 0: 128 arrivals of 129",
               "was told more arrivals than come");
  CHECK_REPORT(load_too_few, "barrier in pipeline", "128 threads wait at barrier_wait(), parity 0",
               "phase 2: 0 arrivals of 1", "nobody arrives for this phase");
  CHECK_REPORT(no_init, "init in pipeline", "is no barrier");
  CHECK_REPORT(init_by_all, "barrier in pipeline", "which is one already",
               "block (0,0) thread (0,0) made it", "all threads call it");
  CHECK_REPORT(no_init_fence, "barrier in pipeline", "barrier_init_fence() is missing",
               "// the load");
}

// The phase of an empty stage ends when half of the consumers have arrived, and the other half ends
// the next one. If the producer looks when both have, it waits for ever; if it looks in between, it
// loads into a stage whose last load has not come yet.
TEST_CASE("hopper: a barrier that completes too early", "[hopper]") {
  const Restored restored;
  int waits = 0, loads = 0;
  for (uint64_t order = 0; order < 16; ++order) {
    simulator::set_thread_order(order);
    const Outcome found = outcome<too_few_arrivals>();
    INFO("order " << order << "\n" << found.report);
    CHECK(found.error != cudaSuccess);
    CHECK_THAT(found.report, ContainsSubstring("barrier in pipeline"));
    if (found.report.find("threads wait for each other") != std::string::npos) {
      ++waits;
      CHECK_THAT(found.report, ContainsSubstring("0 arrivals of 64"));
      CHECK_THAT(found.report, ContainsSubstring("phase 1 ended before it waited for phase 0"));
    } else {
      ++loads;
      CHECK_THAT(found.report, ContainsSubstring("one arrival more than"));
      CHECK_THAT(found.report, ContainsSubstring("was told too few arrivals"));
      CHECK_THAT(found.report, ContainsSubstring("// the arrival"));
    }
  }
  CHECK(waits > 0);  // in the natural order
  CHECK(loads > 0);
}

// Right in the natural order: all come to a barrier before the first of them runs ahead.
TEST_CASE("hopper: a late warp misses a phase", "[hopper]") {
  const Restored restored;
  int missed = 0;
  for (uint64_t order = 0; order < 8; ++order) {
    simulator::set_thread_order(order);
    passes_on<false><<<4, 96>>>(5);
    CHECK(Outcome().error == cudaSuccess);
    passes_on<true><<<4, 96>>>(5);
    const Outcome found;
    if (order == 0) CHECK(found.error == cudaSuccess);
    if (found.error == cudaSuccess) continue;
    ++missed;
    CHECK_THAT(found.report, ContainsSubstring("barrier in passes_on"));
    CHECK_THAT(found.report, ContainsSubstring("// full"));
    CHECK_THAT(found.report, ContainsSubstring(" ended before it waited for phase "));
  }
  CHECK(missed >= 6);
}

TEST_CASE("hopper: tiles used too early, or overwritten", "[hopper]") {
  CHECK_REPORT(no_wait_for_full, "race in pipeline", "copied by", "// the load", "// product");
  CHECK_REPORT(one_waits_for_full, "race in pipeline", "written by the TMA unit", "// product",
               "not every thread that uses the tile has waited");
  CHECK_REPORT(wrong_parity, "race in pipeline", "has the wrong parity");
  CHECK_REPORT(no_wait_for_empty, "one arrival more than", "1 arrival of 1", "// the arrival");
  CHECK_REPORT(given_back_early, "race in pipeline", "read by", "// product", "// the load",
               "before wgmma_wait()");
  CHECK_REPORT(load_misplaced, "bounds in pipeline", "multiple of 128 bytes", "// the load");
  CHECK_REPORT(load_between, "bounds in pipeline", "column 4 of 2-byte elements", "// the load");
  CHECK_REPORT(load_too_many, "race in pipeline",
               "the block leaves while the TMA unit may still write");
}

TEST_CASE("hopper: products that are not waited for, or not begun together", "[hopper]") {
  CHECK_REPORT(sums_read_early, ", registers of block (0,0) thread (174,0)", "// product",
               "// read early", "read before it was waited for", "seen 5 times");
  CHECK_REPORT(sums_written_early, "// written early", "written before it was waited for");
  CHECK_REPORT(no_wgmma_wait, "race in pipeline");
  CHECK_REPORT(no_wgmma_fence, "no wgmma_fence() stands before", "// product");
  CHECK_REPORT(one_warp_multiplies, "barrier in pipeline", "wgmma_wait(), warpgroup 1",
               "not all four warps");
  CHECK_REPORT(descriptor_of_warp, "operands differ", "// product");
  CHECK_REPORT(tile_misplaced, "multiple of 1024 bytes", "// product");
}

TEST_CASE("hopper: stores of tiles", "[hopper]") {
  CHECK_REPORT(no_proxy_fence, "race in pipeline", "// to C", "// the store",
               "fence_async_proxy() is missing");
  CHECK_REPORT(proxy_fence_of_one, "// to C", "// the store", "in the thread that wrote");
  CHECK_REPORT(no_barrier_before_store, "race in pipeline", "// to C", "// the store");
  CHECK_REPORT(no_wait_for_store, "the thread leaves while the TMA unit may still read",
               "// the store");
  CHECK_REPORT(written_before_store_has_read, "// the store", "// too early",
               "has not been waited for");
}

TEST_CASE("hopper: named barriers and registers", "[hopper]") {
  CHECK_REPORT(count_of_named_barrier, "named barrier 1, to which 128 threads of 256 have come");
  CHECK_REPORT(number_of_named_barrier, "named barrier 16: their numbers are 1 to 15");
  CHECK_REPORT(too_many_registers, "take_registers<256>(): of the block's registers");
}
