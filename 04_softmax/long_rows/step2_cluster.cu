// Step 2 = step 1 + a cluster of blocks shares a row: each holds an eighth of it, and they tell
// each other their maxima and sums through distributed shared memory.
//
// FLOP            5 an element
// global memory   8 bytes an element, the least there is, 0.6 FLOP a byte
// asked for       loads 4·rows·cols bytes, stores 4·rows·cols bytes
// shared memory   an eighth of the row; and 512 bytes
// block           1/8 row, 256 threads
// H200            0.147 ms for 1024 × 65536, 86 % of a plain copy; online has 38 %
//
// Blocks of a cluster run at the same time on neighbouring SMs, and each can write to the others'
// shared memory. Clusters came with compute capability 9.0. (CUDA C++ Programming Guide, "Thread
// Block Clusters" and "Distributed Shared Memory".)
//
// A row of up to 32768 elements needs no cluster and goes step 1's way. One that is too long for
// eight blocks (460000 elements on an H100) goes the way of online.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <algorithm>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "four_floats.cuh"
#include "long_rows/long_rows.hpp"
#include "long_rows/row_slice.cuh"

namespace tutorial::softmax::long_rows {
namespace {

constexpr int BLOCKS = 8;  // of a cluster: the most that every GPU with clusters takes
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;  // of a block
// Up to so many columns step 1 does without: there it is nearly as fast as a copy (H200).
constexpr int64_t ENOUGH_FOR_ONE_BLOCK = 32768;

// While some blocks of an SM reduce, the others load and store: 8 of them, hence 32 registers a
// thread. Below 9.0 the kernel is empty, and an SM may not take that many threads.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr int BLOCKS_PER_SM = 1;
#else
constexpr int BLOCKS_PER_SM = 8;
#endif

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    cluster_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t rows, int cols,
                   bool wide_stores) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  // Maximum and sum of every warp of the cluster. Each block has a copy.
  __shared__ float max_slots[BLOCKS * WARPS];
  __shared__ float sum_slots[BLOCKS * WARPS];
  extern __shared__ float4 held[];
  const auto cluster = cooperative_groups::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;

  for (int64_t row = blockIdx.x / BLOCKS; row < rows; row += gridDim.x / BLOCKS) {
    const float* in = x + row * cols;
    float* out = y + row * cols;
    const Slice part = slice(in, cols, BLOCKS, rank);

    for (int s = part.first; s < part.end; s += THREADS)
      __pipeline_memcpy_async(held + s, in + part.start + 4 * s, sizeof(float4));
    __pipeline_commit();
    float edge = part.edge < 0 ? -INFINITY : in[part.edge];
    // All blocks of the cluster run, and have read what was said of the row before: from here on
    // their slots may be written. The barrier takes no time of its own while the copies are on
    // their way.
    cluster.sync();
    __pipeline_wait_prior(0);

    float max = edge;
#pragma unroll 4
    for (int s = part.first; s < part.end; s += THREADS) max = fmaxf(max, max_of(held[s]));
    max = warp_max(max);

    // The row's maximum is not known yet, so each warp subtracts its own. As in online: where a
    // warp saw nothing but -infinity, (-infinity) - (-infinity) would be NaN.
    const float base = max == -INFINITY ? 0 : max;
    edge = expf(edge - base);
    float sum = edge;
#pragma unroll 4
    for (int s = part.first; s < part.end; s += THREADS) {
      held[s] = exp_of(held[s], base);
      sum += sum_of(held[s]);
    }
    sum = warp_sum(sum);

    // Lane b tells block b.
    if (lane < BLOCKS) {
      cluster.map_shared_rank(max_slots, lane)[rank * WARPS + warp] = max;
      cluster.map_shared_rank(sum_slots, lane)[rank * WARPS + warp] = sum;
    }
    cluster.sync();

    float row_max = -INFINITY;
    for (int w = lane; w < BLOCKS * WARPS; w += WARP) row_max = fmaxf(row_max, max_slots[w]);
    row_max = warp_max(row_max);
    const float row_base = row_max == -INFINITY ? 0 : row_max;
    float row_sum = 0;
    for (int w = lane; w < BLOCKS * WARPS; w += WARP)
      row_sum += sum_slots[w] * expf(max_slots[w] - row_base);
    // From this warp's maximum to the row's.
    const float scale = expf(max - row_max) / warp_sum(row_sum);

    if (part.edge >= 0) out[part.edge] = edge * scale;
#pragma unroll 4
    for (int s = part.first; s < part.end; s += THREADS)
      store_four(out + part.start + 4 * s, scaled(held[s], scale), wide_stores);
  }
#endif
}

}  // namespace

void cluster(const Softmax& problem, const float* x, float* y, cudaStream_t stream) {
  require_clusters("cluster");
  const int64_t rows = problem.rows, cols = problem.cols;
  if (rows == 0 || cols == 0) return;
  if (cols <= ENOUGH_FOR_ONE_BLOCK) return row_in_shared(problem, x, y, stream);
  const int64_t bytes = slots_for(cols, BLOCKS) * static_cast<int64_t>(sizeof(float4));
  if (bytes > room_in_shared(2 * BLOCKS * WARPS * sizeof(float)))
    return online_on(x, y, rows, cols, stream);
  CUDA_CHECK(cudaFuncSetAttribute(cluster_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)));
  // <<<…>>> has no place for the size of a cluster.
  cudaLaunchAttribute of_cluster = {};
  of_cluster.id = cudaLaunchAttributeClusterDimension;
  of_cluster.val.clusterDim.x = BLOCKS;
  of_cluster.val.clusterDim.y = 1;
  of_cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = static_cast<unsigned>(BLOCKS * std::min(rows, grid_limit.x / BLOCKS));
  config.blockDim = THREADS;
  config.dynamicSmemBytes = static_cast<size_t>(bytes);
  config.stream = stream;
  config.attrs = &of_cluster;
  config.numAttrs = 1;
  CUDA_CHECK(cudaLaunchKernelEx(&config, cluster_kernel, x, y, rows, static_cast<int>(cols),
                                equally_aligned(x, y)));
}

}  // namespace tutorial::softmax::long_rows
