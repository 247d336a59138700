// What the simulator says of clusters: each other's shared memory used too early, too late, out of
// order, out of bounds; barriers of the cluster that never let go.
#include <cooperative_groups.h>

#include "common/kernel/barrier.cuh"
#include "common/kernel/cluster.cuh"
#include "common/simulator/tests/only_cpu/outcome.hpp"

namespace cg = cooperative_groups;
using namespace tutorial;

namespace {

template <class... P, class... A>
Outcome in_clusters(void (*kernel)(P...), unsigned size, unsigned blocks, unsigned threads,
                    size_t shared, A... arguments) {
  cudaLaunchAttribute of_cluster{};
  of_cluster.id = cudaLaunchAttributeClusterDimension;
  of_cluster.val.clusterDim = {size, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.attrs = &of_cluster;
  config.numAttrs = 1;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
  Outcome outcome;
  CHECK(error == outcome.error);
  return outcome;
}

std::string line(int number) {
  return "cluster_checks_test.cu:" + std::to_string(number);
}

constexpr int kEarly = __LINE__ + 5;
__global__ void writes_too_early(int* out) {
  __shared__ int x;
  const auto cluster = cg::this_cluster();
  const int other = 1 - static_cast<int>(cluster.block_rank());
  if (threadIdx.x == 0) *cluster.map_shared_rank(&x, other) = 7;
  cluster.sync();
  if (threadIdx.x == 0) out[blockIdx.x] = x;
}

constexpr int kLate = __LINE__ + 8;
__global__ void reads_to_the_end(int who, int* out) {
  __shared__ int x;
  const auto cluster = cg::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  if (threadIdx.x == 0) x = rank;
  cluster.sync();
  if (threadIdx.x == 0 && (who < 0 || rank == who))
    out[rank] = *cluster.map_shared_rank(&x, 1 - rank);
}

constexpr int kPosted = __LINE__ + 6, kRead = __LINE__ + 8;
__global__ void posts_without_barrier(int* out) {
  extern __shared__ int slots[];
  const auto cluster = cg::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank()), thread = static_cast<int>(threadIdx.x);
  cluster.sync();
  if (thread < 2) cluster.map_shared_rank(slots, thread)[rank] = rank;
  __syncthreads();
  if (thread == 0) out[rank] = slots[0] + slots[1];
  cluster.sync();
}

constexpr int kOwn = __LINE__ + 6, kOthers = __LINE__ + 8;
__global__ void overwrites_what_others_read(int* out) {
  __shared__ int x;
  const auto cluster = cg::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  for (int turn = 0; turn < 2; ++turn) {
    if (threadIdx.x == 0) x = rank + turn;
    cluster.sync();
    if (threadIdx.x == 0) out[rank] = *cluster.map_shared_rank(&x, 1 - rank);
  }
  cluster.sync();
}

constexpr int kRank = __LINE__ + 5;
__global__ void wrong_rank(int* out) {
  __shared__ int x;
  cg::this_cluster().sync();
  if (threadIdx.x == 0)
    *cg::this_cluster().map_shared_rank(&x, static_cast<int>(blockIdx.x) + 1) = 1;
  cg::this_cluster().sync();
  out[blockIdx.x] = x;
}

__global__ void maps_global(int* out) {
  cg::this_cluster().sync();
  *cg::this_cluster().map_shared_rank(out, 1) = 1;
}

constexpr int kUnwritten = __LINE__ + 6;
__global__ void reads_unwritten(int* out) {
  __shared__ int x[32];
  const auto cluster = cg::this_cluster();
  if (cluster.block_rank() == 0) x[threadIdx.x] = 1;
  cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] = cluster.map_shared_rank(x, 1)[threadIdx.x];
  cluster.sync();
}

constexpr int kPast = __LINE__ + 6;
__global__ void past_the_end(int* out) {
  extern __shared__ int x[];
  const auto cluster = cg::this_cluster();
  x[threadIdx.x] = 1;
  cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] = cluster.map_shared_rank(x, 1)[threadIdx.x + 1];
  cluster.sync();
}

constexpr int kBranch = __LINE__ + 4, kBlock = __LINE__ + 6;
__global__ void barrier_in_a_branch() {
  const auto cluster = cg::this_cluster();
  if (threadIdx.x < 32 || cluster.block_rank() == 0)
    cluster.sync();
  else
    __syncthreads();
  __syncthreads();
}

constexpr int kTwice = __LINE__ + 3;
__global__ void arrives_twice() {
  cluster_arrive();
  cluster_arrive();
  cluster_wait();
}
__global__ void waits_only() {
  cluster_wait();
}

/// In each warp some lanes wait for more than the others, or all for the same.
enum class Alone { nobody, together_again, one, one_more_often };
constexpr int kApart = __LINE__ + 15;
template <Alone ALONE>
__global__ void lanes_come_apart() {
  __shared__ Barrier open;
  if (threadIdx.x == 0) {
    barrier_init(open, 1);
    barrier_init_fence();
  }
  cluster_sync();  // a branch without waiting
  if (threadIdx.x == 0) barrier_arrive(open);
  const bool waits = ALONE == Alone::one ? threadIdx.x % 32 == 5 : true;
  if (ALONE != Alone::nobody && waits) barrier_wait(open, 0);
  if (ALONE == Alone::one_more_often && threadIdx.x % 32 == 5) barrier_wait(open, 0);
  if (ALONE == Alone::together_again && threadIdx.x % 32 == 5) barrier_wait(open, 0);
  if (ALONE == Alone::together_again) __syncwarp();
  cluster_sync();
}

constexpr int kSync = __LINE__ + 3;
__global__ void some_leave_before() {
  if (cg::this_cluster().block_rank() == 1 && threadIdx.x >= 8) return;
  cg::this_cluster().sync();
}

__global__ void plain_and_atomic(int* out) {
  __shared__ int x;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) x = 0;
  cluster.sync();
  if (cluster.block_rank() == 0) {
    if (threadIdx.x == 0) x = 5;
  } else {
    atomicAdd(cluster.map_shared_rank(&x, 0), 1);
  }
  cluster.sync();
  if (threadIdx.x == 0) out[blockIdx.x] = x;
}

__global__ void divides(int* out, int by) {
  __shared__ int x;
  x = 1;
  cg::this_cluster().sync();
  if (cg::this_cluster().block_rank() == 1) out[0] = x / by;
  cg::this_cluster().sync();
}

__global__ void good(int* out) {
  __shared__ int x;
  const auto cluster = cg::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  if (threadIdx.x == 0) x = rank;
  cluster.sync();
  if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&x, 1 - rank);
  cluster.sync();
}

}  // namespace

TEST_CASE("clusters: another block's shared memory before it may have begun", "[cluster]") {
  DeviceBuffer<int> out(2);
  const Outcome outcome = in_clusters(writes_too_early, 2, 2, 32, 0, out.data());
  CHECK(outcome.error == cudaErrorLaunchFailure);
  CHECK_THAT(outcome.report,
             ContainsSubstring("race in writes_too_early, shared memory x of block "));
  CHECK_THAT(outcome.report,
             ContainsSubstring("written by block (0,0) thread (0,0)  " + line(kEarly)) ||
                 ContainsSubstring("written by block (1,0) thread (0,0)  " + line(kEarly)));
  CHECK_THAT(outcome.report, ContainsSubstring("may not have begun"));
}

TEST_CASE("clusters: a block leaves while another still uses its shared memory", "[cluster]") {
  const Restored restored;
  // Whichever block the simulator runs first, and whichever reads.
  for (const uint64_t order : {0, 1, 2, 3})
    for (const int who : {-1, 0, 1}) {
      simulator::set_thread_order(order);
      DeviceBuffer<int> out(2);
      const Outcome outcome = in_clusters(reads_to_the_end, 2, 2, 32, 0, who, out.data());
      CHECK(outcome.error == cudaErrorLaunchFailure);
      CHECK_THAT(outcome.report, ContainsSubstring("race in reads_to_the_end, shared memory x of "
                                                   "block "));
      CHECK_THAT(outcome.report, ContainsSubstring(line(kLate)));
      CHECK_THAT(outcome.report, ContainsSubstring("left the kernel"));
      CHECK_THAT(outcome.report, ContainsSubstring("must not leave while another still uses"));
    }
}

TEST_CASE("clusters: __syncthreads() orders no other block", "[cluster]") {
  DeviceBuffer<int> out(2);
  const Outcome outcome = in_clusters(posts_without_barrier, 2, 2, 32, 8, out.data());
  CHECK(outcome.error == cudaErrorLaunchFailure);
  CHECK_THAT(outcome.report, ContainsSubstring("in posts_without_barrier, shared memory slots["));
  CHECK_THAT(outcome.report, ContainsSubstring(line(kRead)));
  CHECK_THAT(outcome.report, ContainsSubstring(line(kPosted)));
  CHECK_THAT(outcome.report, ContainsSubstring("a barrier of the cluster is missing between"));
}

TEST_CASE("clusters: a value is written again while others read it", "[cluster]") {
  DeviceBuffer<int> out(2);
  const Outcome outcome = in_clusters(overwrites_what_others_read, 2, 2, 32, 0, out.data());
  CHECK(outcome.error == cudaErrorLaunchFailure);
  CHECK_THAT(outcome.report, ContainsSubstring(line(kOwn)));
  CHECK_THAT(outcome.report, ContainsSubstring(line(kOthers)));
  CHECK_THAT(outcome.report, ContainsSubstring("a barrier of the cluster is missing between"));
}

TEST_CASE("clusters: ranks and addresses that are none", "[cluster]") {
  DeviceBuffer<int> out(2);
  const Outcome rank = in_clusters(wrong_rank, 2, 2, 32, 0, out.data());
  CHECK(rank.error == cudaErrorIllegalAddress);
  CHECK_THAT(rank.report, ContainsSubstring(line(kRank)));
  CHECK_THAT(rank.report, ContainsSubstring("there is no block 2 in a cluster of 2"));
  const Outcome global = in_clusters(maps_global, 2, 2, 32, 0, out.data());
  CHECK_THAT(global.report, ContainsSubstring("not in this block's shared memory"));
}

TEST_CASE("clusters: what another block has not written, or has not got", "[cluster]") {
  DeviceBuffer<int> out(64);
  const Outcome unwritten = in_clusters(reads_unwritten, 2, 2, 32, 0, out.data());
  CHECK_THAT(unwritten.report, ContainsSubstring("init in reads_unwritten, shared memory x["));
  CHECK_THAT(unwritten.report, ContainsSubstring(" of block (1,0)"));
  CHECK_THAT(unwritten.report, ContainsSubstring(line(kUnwritten)));
  const Outcome past = in_clusters(past_the_end, 2, 2, 32, 128, out.data());
  CHECK(past.error == cudaErrorIllegalAddress);
  CHECK_THAT(past.report, ContainsSubstring("bounds in past_the_end"));
  CHECK_THAT(past.report, ContainsSubstring(line(kPast)));
  CHECK_THAT(past.report, ContainsSubstring("byte 128 of 128 bytes of dynamic shared memory"));
}

TEST_CASE("clusters: a barrier at which some threads never arrive", "[cluster]") {
  const Outcome outcome = in_clusters(barrier_in_a_branch, 2, 4, 64, 0);
  CHECK(outcome.error == cudaErrorLaunchFailure);
  CHECK_THAT(outcome.report, ContainsSubstring("barrier in barrier_in_a_branch, the cluster of "));
  CHECK_THAT(outcome.report,
             ContainsSubstring("64 threads of block (0,0) wait at the barrier of the cluster  " +
                               line(kBranch)));
  CHECK_THAT(
      outcome.report,
      ContainsSubstring("32 threads of block (1,0) wait at __syncthreads()  " + line(kBlock)));
  CHECK_THAT(outcome.report, ContainsSubstring("all threads of all its blocks must arrive at it"));
}

TEST_CASE("clusters: arrivals and waits come in turns", "[cluster]") {
  const Outcome twice = in_clusters(arrives_twice, 2, 2, 32, 0);
  CHECK_THAT(twice.report, ContainsSubstring(line(kTwice)));
  CHECK_THAT(twice.report, ContainsSubstring("a second time before it has waited"));
  const Outcome never = in_clusters(waits_only, 2, 2, 32, 0);
  CHECK_THAT(never.report, ContainsSubstring("has not arrived at it"));
}

TEST_CASE("clusters: the lanes of a warp arrive together", "[cluster]") {
  const Restored restored;
  for (const uint64_t order : {0, 1, 2}) {
    simulator::set_thread_order(order);
    CHECK(in_clusters(lanes_come_apart<Alone::nobody>, 2, 2, 64, 0).error == cudaSuccess);
    CHECK(in_clusters(lanes_come_apart<Alone::together_again>, 2, 2, 64, 0).error == cudaSuccess);
    using Apart = std::tuple<void (*)(), std::string, std::string>;
    for (const auto& [kernel, most, least] :
         {Apart{lanes_come_apart<Alone::one>, "1 time", "0 times"},
          Apart{lanes_come_apart<Alone::one_more_often>, "2 times", "1 time"}}) {
      const Outcome outcome = in_clusters(kernel, 2, 2, 64, 0);
      CHECK(outcome.error == cudaErrorLaunchFailure);
      CHECK_THAT(outcome.report, ContainsSubstring("barrier in lanes_come_apart<"));
      CHECK_THAT(outcome.report,
                 ContainsSubstring("lanes of a warp come apart to the barrier of the cluster  " +
                                   line(kApart)));
      CHECK_THAT(outcome.report, ContainsSubstring(",0) has waited " + most + " for what"));
      CHECK_THAT(outcome.report, ContainsSubstring(",0) has waited " + least + "\n"));
      CHECK_THAT(outcome.report, ContainsSubstring("__syncwarp() is missing before this line"));
    }
  }
}

TEST_CASE("clusters: the barrier does not wait for threads that have left", "[cluster]") {
  CHECK(in_clusters(some_leave_before, 2, 2, 32, 0).error == cudaSuccess);
  CHECK_THAT(simulator::last_report(),
             ContainsSubstring("24 threads had left the kernel when the others met at the barrier "
                               "of the cluster  " +
                               line(kSync)));
}

TEST_CASE("clusters: atomics do not race with atomics, and with others they do", "[cluster]") {
  DeviceBuffer<int> out(2);
  const Outcome outcome = in_clusters(plain_and_atomic, 2, 2, 32, 0, out.data());
  CHECK(outcome.error == cudaErrorLaunchFailure);
  CHECK_THAT(outcome.report, ContainsSubstring("only one of the two lines uses an atomic"));
}

TEST_CASE("clusters: a crash in one block ends the launch, and the next one runs", "[cluster]") {
  DeviceBuffer<int> out(8);
  const Outcome crash = in_clusters(divides, 4, 8, 32, 0, out.data(), 0);
  CHECK_THAT(crash.report, ContainsSubstring("an integer was divided by zero"));
  CHECK_THAT(crash.report, ContainsSubstring("block (1,0)"));
  CHECK(in_clusters(good, 2, 8, 64, 0, out.data()).error == cudaSuccess);
  CHECK(out.to_host() == std::vector<int>{1, 0, 1, 0, 1, 0, 1, 0});
}

TEST_CASE("clusters: another order gives the same", "[cluster]") {
  const Restored restored;
  for (const uint64_t order : {1, 7, 42}) {
    simulator::set_thread_order(order);
    DeviceBuffer<int> out(8);
    CHECK(in_clusters(good, 2, 8, 64, 0, out.data()).error == cudaSuccess);
    CHECK(out.to_host() == std::vector<int>{1, 0, 1, 0, 1, 0, 1, 0});
  }
  simulator::set_thread_order(0);
  simulator::switch_checks(false);
  DeviceBuffer<int> out(8);
  CHECK(in_clusters(good, 2, 8, 64, 0, out.data()).error == cudaSuccess);
  CHECK(out.to_host() == std::vector<int>{1, 0, 1, 0, 1, 0, 1, 0});
}

TEST_CASE("clusters: refused launches say why", "[cluster]") {
  DeviceBuffer<int> out(8);
  const auto refused = [&](unsigned size, unsigned blocks) {
    const Outcome outcome = in_clusters(good, size, blocks, 32, 0, out.data());
    CHECK(outcome.error == cudaErrorInvalidClusterSize);
    return outcome.report;
  };
  CHECK_THAT(refused(4, 6), ContainsSubstring("the grid, (6,1,1) blocks, is no multiple of that"));
  CHECK_THAT(refused(16, 16), ContainsSubstring("cudaFuncAttributeNonPortableClusterSizeAllowed"));
  CHECK_THAT(refused(32, 32), ContainsSubstring("no GPU has more than 16"));
  CHECK_THAT(refused(0, 4), ContainsSubstring("no such cluster"));
  CHECK(std::string(cudaGetErrorName(cudaErrorInvalidClusterSize)) ==
        "cudaErrorInvalidClusterSize");
}
