// Clusters: ranks, barriers, each other's shared memory, one load for several blocks.
#include <cooperative_groups.h>

#include "common/kernel/cluster.cuh"
#include "common/kernel/tma.cuh"
#include "common/simulator/tests/units/hopper.hpp"

using namespace tutorial;

namespace {

/// Every block tells every other its number; each adds them up.
__global__ void numbers(int* out) {
  __shared__ int from[8];
  const int rank = cluster_rank(), size = cluster_size();
  const int thread = static_cast<int>(threadIdx.x);
  cluster_sync();  // all blocks run
  if (thread < size) in_block(from, thread)[rank] = static_cast<int>(blockIdx.x) + 1;
  cluster_arrive();
  cluster_wait();
  if (thread == 0) {
    int sum = 0;
    for (int i = 0; i < size; ++i) sum += from[i] * (i + 1);
    out[blockIdx.x] = 1000 * rank + sum;
  }
}

/// The same by cooperative groups, and reads of what others hold.
__global__ void reads(int* out) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __shared__ int mine;
  extern __shared__ int more[];
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned rank = cluster.block_rank();
  if (threadIdx.x == 0) mine = static_cast<int>(10 * rank);
  more[threadIdx.x] = static_cast<int>(rank + threadIdx.x);
  cluster.sync();
  const unsigned next = (rank + 1) % cluster.num_blocks();
  out[blockIdx.x * blockDim.x + threadIdx.x] =
      *cluster.map_shared_rank(&mine, next) +
      100 * cluster.map_shared_rank(more, next)[threadIdx.x];
  cluster.sync();
#endif
}

/// Blocks of a cluster arrive at block 0's barrier, and one load gives each of them the row.
__global__ void multicast(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ __align__(128) float row[32];
  __shared__ Barrier full, ready;
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    barrier_init(full, 1);
    barrier_init(ready, cluster_size());
    barrier_init_fence();
  }
  cluster_sync();
  if (threadIdx.x == 0) {
    barrier_arrive_expect(full, 128);
    barrier_arrive_at(ready, 0);
    if (rank == 0) {
      barrier_wait(ready, 0);
      tma_load_multicast(row, map, full, {0, static_cast<int>(blockIdx.x)},
                         (1u << cluster_size()) - 1);
    }
  }
  barrier_wait(full, 0);
  out[blockIdx.x * 32 + threadIdx.x] = row[threadIdx.x];
  __syncwarp();  // lane 0 had other work
  cluster_sync();
}

}  // namespace

TEST_CASE("clusters: ranks, and each other's shared memory", "[hopper][cluster]") {
  need_sm_90a();
  for (const int size : {1, 2, 4, 8}) {
    const int blocks = 3 * size;
    const auto got = run_kernel<int>(blocks, [&](int* out) {
      launch_clusters(numbers, size, dim3(static_cast<unsigned>(blocks)), dim3(32), 0, nullptr,
                      out);
    });
    for (int block = 0; block < blocks; ++block) {
      int want = block % size * 1000;
      for (int i = 0; i < size; ++i) want += (block / size * size + i + 1) * (i + 1);
      CHECK(got[static_cast<size_t>(block)] == want);
    }
  }
}

TEST_CASE("clusters: by cooperative groups", "[hopper][cluster]") {
  need_sm_90a();
  const auto got = run_kernel<int>(8 * 64, [&](int* out) {
    launch_clusters(reads, 4, dim3(8), dim3(64), 64 * 4, nullptr, out);
  });
  for (int i = 0; i < 8 * 64; ++i) {
    const int next = (i / 64 + 1) % 4;
    CHECK(got[static_cast<size_t>(i)] == 10 * next + 100 * (next + i % 64));
  }
}

TEST_CASE("clusters: one load for all their blocks", "[hopper][cluster]") {
  need_sm_90a();
  std::vector<float> rows(32 * 8);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  const DeviceBuffer<float> in(rows);
  const auto map = tensor_map(in.data(), {32, 8}, {32}, {32, 1}, Swizzle::none);
  const auto got = run_kernel<float>(8 * 32, [&](float* out) {
    launch_clusters(multicast, 4, dim3(8), dim3(32), 0, nullptr, map, out);
  });
  for (int i = 0; i < 8 * 32; ++i)
    CHECK(got[static_cast<size_t>(i)] == static_cast<float>(i / 128 * 128 + i % 32));
}
