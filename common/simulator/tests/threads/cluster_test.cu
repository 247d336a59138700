// Clusters of blocks: ranks, their barrier, each other's shared memory. (By the names of the
// instructions: hopper_cluster_test.cu.)
#include <cooperative_groups.h>

#include "common/kernel/cluster.cuh"
#include "common/simulator/tests/run_kernel.hpp"

namespace cg = cooperative_groups;
using namespace tutorial;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HAS_CLUSTERS 1
#endif

namespace {

void need_sm_90() {
  const std::string reason = why_not_here("sm_90");
  if (!reason.empty()) SKIP(reason);
}

/// As launch_clusters(), in three dimensions.
template <class... P>
cudaError_t launch_in(dim3 cluster, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                      P... arguments) {
  cudaLaunchAttribute size{};
  size.id = cudaLaunchAttributeClusterDimension;
  size.val.clusterDim.x = cluster.x;
  size.val.clusterDim.y = cluster.y;
  size.val.clusterDim.z = cluster.z;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.attrs = &size;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

struct Place {
  unsigned block_rank, num_blocks, thread_rank, num_threads;
  uint3 block_index, thread_index;
  dim3 dim_blocks, dim_threads;
};
__global__ void places(Place* out) {
#ifdef HAS_CLUSTERS
  const auto cluster = cg::this_cluster();
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * threadIdx.y;
  out[block * blockDim.x * blockDim.y + thread] = {
      cluster.block_rank(),  cluster.num_blocks(),   cluster.thread_rank(), cluster.num_threads(),
      cluster.block_index(), cluster.thread_index(), cluster.dim_blocks(),  cluster.dim_threads()};
#endif
}

/// A histogram whose bins are spread over the cluster's blocks, with atomics on each other's
/// shared memory.
__global__ void spread_histogram(const int* in, int count, int bins_a_block, int* out) {
#ifdef HAS_CLUSTERS
  extern __shared__ int bins[];
  const auto cluster = cg::this_cluster();
  for (int b = static_cast<int>(threadIdx.x); b < bins_a_block; b += static_cast<int>(blockDim.x))
    bins[b] = 0;
  cluster.sync();
  const int threads = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count; i += threads) {
    int* there = cluster.map_shared_rank(bins, in[i] / bins_a_block);
    atomicAdd(there + in[i] % bins_a_block, 1);
  }
  cluster.sync();
  for (int b = static_cast<int>(threadIdx.x); b < bins_a_block; b += static_cast<int>(blockDim.x))
    atomicAdd(out + static_cast<int>(cluster.block_rank()) * bins_a_block + b, bins[b]);
#endif
}

#ifdef HAS_CLUSTERS
/// An array of a function: blocks come to it one after the other.
__device__ int from_function(int value, int turn) {
  __shared__ int held[32];
  const auto cluster = cg::this_cluster();
  held[threadIdx.x] = value;
  cluster.sync();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  const int got = cluster.map_shared_rank(held, static_cast<int>(next))[threadIdx.x] + turn;
  cluster.sync();
  return got;
}
#endif
/// Values go round, through arrays of the kernel and of a function, of which each block has its
/// own.
__global__ void rings(int* out) {
#ifdef HAS_CLUSTERS
  __shared__ int own[32];
  __shared__ double wide[16];
  extern __shared__ short small[];
  const auto cluster = cg::this_cluster();
  const int thread = static_cast<int>(threadIdx.x), rank = static_cast<int>(cluster.block_rank());
  const int next = (rank + 1) % static_cast<int>(cluster.num_blocks());
  own[thread] = 1000 * static_cast<int>(blockIdx.x) + thread;
  if (thread < 16) wide[thread] = rank + 0.5;
  small[thread] = static_cast<short>(thread - rank);
  int value = own[thread];
  for (int turn = 0; turn < 3; ++turn) value = from_function(value, turn);
  cluster.sync();
  value += static_cast<int>(2 * cluster.map_shared_rank(wide, next)[thread % 16]);
  value += *cluster.map_shared_rank(small + thread, next);
  cluster.sync();
  out[blockIdx.x * 32 + thread] =
      own[thread] == 1000 * static_cast<int>(blockIdx.x) + thread ? value : -1;
#endif
}

/// Work between the two halves of the barrier, with a barrier of the block in it.
__global__ void halves(float* out) {
#ifdef HAS_CLUSTERS
  __shared__ float told[8], mine[64];
  const auto cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), thread = threadIdx.x;
  auto all_run = cluster.barrier_arrive();
  mine[thread] = static_cast<float>(thread * rank);
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 64; ++i) sum += mine[i];
  cluster.barrier_wait(static_cast<decltype(all_run)&&>(all_run));
  if (thread < cluster.num_blocks())
    cluster.map_shared_rank(told, static_cast<int>(thread))[rank] = sum;
  cluster.barrier_arrive();
  cluster.barrier_wait();
  float all = 0;
  for (unsigned b = 0; b < cluster.num_blocks(); ++b) all += told[b];
  out[blockIdx.x * 64 + thread] = all + static_cast<float>(thread);
#endif
}

/// The barrier orders global memory, too.
__global__ void through_global(int* buffer, int* out) {
#ifdef HAS_CLUSTERS
  const auto cluster = cg::this_cluster();
  const unsigned first = blockIdx.x - cluster.block_rank();
  buffer[blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
  cluster.sync();
  int sum = 0;
  for (unsigned b = 0; b < cluster.num_blocks(); ++b) sum += buffer[first + b];
  out[blockIdx.x] = sum;
#endif
}

__global__ void whose(unsigned* out) {
#ifdef HAS_CLUSTERS
  __shared__ int x;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x < cluster.num_blocks())
    out[blockIdx.x * cluster.num_blocks() + threadIdx.x] =
        cluster.query_shared_rank(cluster.map_shared_rank(&x, static_cast<int>(threadIdx.x)));
#endif
}

__global__ void of_no_cluster(unsigned* out) {
#ifdef HAS_CLUSTERS
  __shared__ unsigned x;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) x = 10 * blockIdx.x;
  cluster.sync();
  if (threadIdx.x == 0)
    out[blockIdx.x] = *cluster.map_shared_rank(&x, 0) + cluster.num_blocks() + cluster.block_rank();
#endif
}

__global__ void nothing(int*) {}

}  // namespace

TEST_CASE("clusters: where a block and a thread are in theirs", "[cluster]") {
  need_sm_90();
  const dim3 cluster(2, 1, 3), grid(4, 2, 3), block(8, 4);
  const auto got = run_kernel<Place>(24 * 32, [&](Place* out) {
    CHECK(launch_in(cluster, places, grid, block, 0, out) == cudaSuccess);
  });
  for (unsigned b = 0; b < 24; ++b)
    for (unsigned t = 0; t < 32; ++t) {
      const Place& place = got[b * 32 + t];
      const unsigned x = b % 4 % 2, z = b / 8 % 3, rank = x + 2 * z;
      CHECK(place.block_rank == rank);
      CHECK(place.num_blocks == 6);
      CHECK(place.thread_rank == rank * 32 + t);
      CHECK(place.num_threads == 6 * 32);
      CHECK((place.block_index.x == x && place.block_index.y == 0 && place.block_index.z == z));
      CHECK((place.thread_index.x == x * 8 + t % 8 && place.thread_index.y == t / 8 &&
             place.thread_index.z == z));
      CHECK((place.dim_blocks.x == 2 && place.dim_blocks.y == 1 && place.dim_blocks.z == 3));
      CHECK((place.dim_threads.x == 16 && place.dim_threads.y == 4 && place.dim_threads.z == 3));
    }
}

TEST_CASE("clusters: atomics on each other's shared memory", "[cluster]") {
  need_sm_90();
  constexpr int BINS = 24;
  std::vector<int> in(5000);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * i % 191);
  std::vector<int> want(8 * BINS);
  for (const int bin : in) ++want[static_cast<size_t>(bin)];
  const DeviceBuffer<int> device_in(in);
  const auto got = run_kernel<int>(8 * BINS, [&](int* out) {
    CUDA_CHECK(cudaMemset(out, 0, 8 * BINS * sizeof(int)));
    CHECK(launch_in(dim3(8), spread_histogram, dim3(16), dim3(96), BINS * sizeof(int),
                    device_in.data(), static_cast<int>(in.size()), BINS, out) == cudaSuccess);
  });
  CHECK(got == want);
}

TEST_CASE("clusters: each block has its own shared memory", "[cluster]") {
  need_sm_90();
  for (const int size : {2, 4, 8}) {
    const int blocks = 3 * size;
    const auto got = run_kernel<int>(blocks * 32, [&](int* out) {
      CHECK(launch_in(dim3(static_cast<unsigned>(size)), rings, dim3(static_cast<unsigned>(blocks)),
                      dim3(32), 32 * sizeof(short), out) == cudaSuccess);
    });
    for (int i = 0; i < blocks * 32; ++i) {
      const int block = i / 32, thread = i % 32, first = block / size * size, rank = block % size;
      const int next = (rank + 1) % size;
      CHECK(got[static_cast<size_t>(i)] ==
            1000 * (first + (rank + 3) % size) + thread + 3 + 2 * next + 1 + thread - next);
    }
  }
}

TEST_CASE("clusters: a barrier in two halves", "[cluster]") {
  need_sm_90();
  const auto got = run_kernel<float>(8 * 64, [&](float* out) {
    CHECK(launch_in(dim3(4), halves, dim3(8), dim3(64), 0, out) == cudaSuccess);
  });
  for (int i = 0; i < 8 * 64; ++i)
    CHECK(got[static_cast<size_t>(i)] == static_cast<float>(2016 * 6 + i % 64));
}

TEST_CASE("clusters: the barrier orders global memory", "[cluster]") {
  need_sm_90();
  DeviceBuffer<int> buffer(12);
  const auto got = run_kernel<int>(12, [&](int* out) {
    CHECK(launch_in(dim3(4), through_global, dim3(12), dim3(1), 0, buffer.data(), out) ==
          cudaSuccess);
  });
  for (int b = 0; b < 12; ++b) CHECK(got[static_cast<size_t>(b)] == 16 * (b / 4) + 10);
}

TEST_CASE("clusters: whose shared memory an address is", "[cluster]") {
  need_sm_90();
  const auto got = run_kernel<unsigned>(6 * 2, [&](unsigned* out) {
    CHECK(launch_in(dim3(2), whose, dim3(6), dim3(32), 0, out) == cudaSuccess);
  });
  for (unsigned i = 0; i < 12; ++i) CHECK(got[i] == i % 2);
}

TEST_CASE("clusters: without one a block is in its own", "[cluster]") {
  need_sm_90();
  const auto got = run_kernel<unsigned>(5, [&](unsigned* out) { of_no_cluster<<<5, 64>>>(out); });
  for (unsigned b = 0; b < 5; ++b) CHECK(got[b] == 10 * b + 1);
}

TEST_CASE("clusters: 16 blocks where the kernel allows it", "[cluster]") {
  need_sm_90();
  int* const none = nullptr;
  CHECK(launch_in(dim3(16), nothing, dim3(32), dim3(32), 0, none) == cudaErrorInvalidClusterSize);
  cudaGetLastError();
  CUDA_CHECK(cudaFuncSetAttribute(rings, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  const auto got = run_kernel<int>(32 * 32, [&](int* out) {
    CHECK(launch_in(dim3(16), rings, dim3(32), dim3(32), 32 * sizeof(short), out) == cudaSuccess);
  });
  CHECK(got[0] == 3000 + 3 + 2 * 1 + 1 - 1);
}

TEST_CASE("clusters: what is refused", "[cluster]") {
  need_sm_90();
  int* const none = nullptr;
  CHECK(launch_in(dim3(4), nothing, dim3(6), dim3(32), 0, none) != cudaSuccess);
  cudaGetLastError();
  CHECK(launch_in(dim3(32), nothing, dim3(32), dim3(32), 0, none) != cudaSuccess);
  cudaGetLastError();
}
