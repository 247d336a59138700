// Faults in clusters, planted on purpose: each must be named, by its line.
#include "common/kernel/cluster.cuh"
#include "common/kernel/tma.cuh"
#include "common/simulator/tests/hopper.hpp"
#include "common/simulator/tests/only_cpu/outcome.hpp"

using namespace tutorial;

namespace {

enum Fault {
  none,
  no_sync_at_begin,
  no_sync_between,
  arrives_late,
  no_sync_at_end,
  waits_only,
  no_such_block,
  outside,
};

/// Each block writes its rank into its neighbour, which reads it.
template <Fault FAULT>
__global__ void to_neighbour(int* out) {
  __shared__ int mine[64];
  const int rank = cluster_rank(), next = (rank + 1) % cluster_size();
  const int thread = static_cast<int>(threadIdx.x);
  if (FAULT != no_sync_at_begin) cluster_sync();
  const int block = FAULT == no_such_block ? 4 : next;
  int* const there = in_block(mine, block);  // the neighbour's
  const int at = FAULT == outside ? thread + 1 : thread;
  if (FAULT != arrives_late) there[at] = rank;  // the write
  if (FAULT == waits_only) cluster_wait();      // no arrival
  if (FAULT != no_sync_between) {
    cluster_arrive();
    if (FAULT == arrives_late) there[at] = rank;  // the write
    cluster_wait();
  }
  int sum = mine[thread];                             // the read
  if (FAULT == no_sync_at_end) sum += there[thread];  // later
  out[blockIdx.x * 64 + threadIdx.x] = sum;
}

template <Fault FAULT>
Outcome outcome() {
  DeviceBuffer<int> out(4 * 64);
  try {
    launch_clusters(to_neighbour<FAULT>, 4, dim3(4), dim3(64), 0, out.data());
  } catch (const CudaError&) {
  }
  return {};
}

/// Block 1 arrives at a barrier of block 0, which does not wait for it.
template <bool WAITS>
__global__ void arrives_at_the_first() {
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) {
    barrier_init(barrier, 1);
    barrier_init_fence();
  }
  cluster_sync();
  if (cluster_rank() == 1 && threadIdx.x == 0) barrier_arrive_at(barrier, 0);  // the arrival
  if (WAITS && cluster_rank() == 0) barrier_wait(barrier, 0);
}

/// One load gives both blocks a tile, and block 1 does not expect its bytes.
template <bool EXPECTED>
__global__ void expects(const __grid_constant__ CUtensorMap map) {
  __shared__ __align__(128) float row[32];
  __shared__ Barrier full;
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    barrier_init(full, 1);
    barrier_init_fence();
  }
  cluster_sync();
  if (threadIdx.x == 0 && (EXPECTED || rank == 0)) barrier_arrive_expect(full, 128);
  if (threadIdx.x == 0 && rank == 0) tma_load_multicast(row, map, full, {0, 0}, 3);
  barrier_wait(full, 0);  // the wait
  cluster_sync();
}

__global__ void nothing() {}

template <class Kernel, class... A>
Outcome of_pair(Kernel kernel, A... arguments) {
  try {
    launch_clusters(kernel, 2, dim3(2), dim3(32), 0, arguments...);
  } catch (const CudaError&) {
  }
  return {};
}

cudaError_t launched(int cluster, int grid) {
  try {
    launch_clusters(nothing, cluster, dim3(static_cast<unsigned>(grid)), dim3(32), 0);
  } catch (const CudaError&) {
  }
  return cudaGetLastError();
}

}  // namespace

#define CHECK_REPORT(fault, ...)                                                                \
  {                                                                                             \
    const Outcome found = outcome<fault>();                                                     \
    INFO(#fault "\n" << found.report);                                                          \
    CHECK(found.error != cudaSuccess);                                                          \
    for (const char* words : {__VA_ARGS__}) CHECK_THAT(found.report, ContainsSubstring(words)); \
  }

TEST_CASE("clusters: reports of what is not ordered", "[hopper][cluster]") {
  CHECK(outcome<none>().error == cudaSuccess);
  CHECK_REPORT(no_sync_at_begin, "race in to_neighbour", "nothing says that the other block runs",
               "// the write");
  CHECK_REPORT(no_sync_between, "race in to_neighbour", "// the write", "// the read");
  CHECK_REPORT(arrives_late, "race in to_neighbour", "// the write", "// the read");
  CHECK_REPORT(no_sync_at_end, "race in to_neighbour", "// later",
               "cluster_sync() is missing at the end");
}

TEST_CASE("clusters: reports of barriers and addresses", "[hopper][cluster]") {
  CHECK_REPORT(waits_only, "cluster_wait() without cluster_arrive()", "// no arrival");
  CHECK_REPORT(no_such_block, "block 4 of a cluster of 4 blocks", "// the neighbour's");
  CHECK_REPORT(outside, "bounds in to_neighbour", "// the write");
}

TEST_CASE("clusters: barriers and copies of other blocks", "[hopper][cluster]") {
  CHECK(of_pair(arrives_at_the_first<true>).error == cudaSuccess);
  const Outcome late = of_pair(arrives_at_the_first<false>);
  CHECK_THAT(late.report, ContainsSubstring("// the arrival"));
  CHECK_THAT(late.report, ContainsSubstring("cluster_sync() is missing at the end"));

  const DeviceBuffer<float> in(std::vector<float>(32, 1.0f));
  const auto map = tensor_map(in.data(), {32, 1}, {32}, {32, 1}, Swizzle::none);
  CHECK(of_pair(expects<true>, map).error == cudaSuccess);
  const Outcome missing = of_pair(expects<false>, map);
  CHECK_THAT(missing.report, ContainsSubstring("barrier in expects"));
  CHECK_THAT(missing.report, ContainsSubstring("0 arrivals of 1"));
}

TEST_CASE("clusters: launches that are refused", "[hopper][cluster]") {
  CHECK(launched(2, 4) == cudaSuccess);
  CHECK(launched(2, 3) == cudaErrorInvalidConfiguration);
  CHECK(launched(16, 16) == cudaErrorInvalidClusterSize);
  CHECK(cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) ==
        cudaSuccess);
  CHECK(launched(16, 32) == cudaSuccess);
  CHECK(launched(17, 17) == cudaErrorInvalidClusterSize);
}
