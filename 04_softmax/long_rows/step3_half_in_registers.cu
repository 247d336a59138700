// Step 3 = step 2 + a part of each block's share waits in registers: so an SM holds more rows at a
// time, and while some blocks wait for others there are enough that load or store.
//
// FLOP            5 an element
// global memory   8 bytes an element, the least there is, 0.6 FLOP a byte
// asked for       loads 4·rows·cols bytes, stores 4·rows·cols bytes
// shared memory   about 3/5 of a block's share; and 384 bytes
// block           1/4, 1/8 or 1/16 of a row, 96 to 512 threads, 32 floats in the registers of each
// H200            0.139 ms for 1024 × 65536, 91 % of a plain copy; step 2 has 86 %
// long diff       a row lies in two places, so each loop over it becomes two, and a cluster has as
//                 many blocks as the row needs
//
// Up to 65536 columns 4 blocks share a row, up to 131072 columns 8. For longer ones it is 16, more
// than every GPU with clusters promises ("non-portable"), or 8 where 16 cannot run. A row of up to
// 32768 elements goes the way of row_on_chip, and one that does not fit goes step 2's.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <algorithm>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "common/kernel/vector4.cuh"
#include "four_floats.cuh"
#include "long_rows/long_rows.hpp"
#include "long_rows/row_slice.cuh"

namespace tutorial::softmax::long_rows {
namespace {

constexpr int VECTORS = 8;          // float4 that a thread holds in registers
constexpr int VECTORS_IN_ALL = 20;  // and about so many with those in shared memory
constexpr int MAX_THREADS = 512;    // of a block
constexpr int MAX_BLOCKS = 16;      // of a cluster
constexpr int64_t FITS_A_BLOCK = 32768, FOR_4_BLOCKS = 65536, FOR_8_BLOCKS = 131072;

struct Pair {
  float max, sum;  // of exp(element - max)
};

/// The pair of a whole row from those of the blocks that share it.
__device__ Pair merged(const Pair* pairs, int blocks) {
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const Pair mine = lane < blocks ? pairs[lane] : Pair{-INFINITY, 0};
  const float max = warp_max(mine.max);
  const float base = max == -INFINITY ? 0 : max;
  return {max, warp_sum(mine.sum * expf(mine.max - base))};
}

// 64 registers a thread, so that an SM has room for 1024 threads. Below 9.0 the kernel is empty.
__global__ void __launch_bounds__(MAX_THREADS, 2)
    half_in_registers_kernel(const float* __restrict__ x, float* __restrict__ y, int cols,
                             bool wide_stores) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  extern __shared__ float4 rest[];
  __shared__ float max_slots[MAX_WARPS];
  __shared__ float sum_slots[MAX_WARPS];
  __shared__ Pair pairs[MAX_BLOCKS];
  const auto cluster = cooperative_groups::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  const int blocks = static_cast<int>(cluster.num_blocks());
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);

  const int64_t row = blockIdx.x / blocks;
  const Slice part = slice(x + row * cols, cols, blocks, rank);
  const int64_t start = row * cols + part.start;  // where slot 0 begins in x and y
  // A thread's first slots are held in registers, the others from here on in shared memory.
  const int others = part.first + VECTORS * threads, behind = VECTORS * threads;

  for (int s = others; s < part.end; s += threads)
    __pipeline_memcpy_async(rest + s - behind, x + start + 4 * s, sizeof(float4));
  __pipeline_commit();
  float4 held[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int s = part.first + v * threads;
    held[v] = s < part.end ? load4(x + start + 4 * s)
                           : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
  }
  float edge = part.edge < 0 ? -INFINITY : x[row * cols + part.edge];
  cluster.sync();  // all blocks run: from here on their pairs may be written

  float max = edge;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) max = fmaxf(max, max_of(held[v]));
  __pipeline_wait_prior(0);
#pragma unroll 2
  for (int s = others; s < part.end; s += threads) max = fmaxf(max, max_of(rest[s - behind]));
  max = block_max(max, max_slots);

  // The block's own maximum, which may be -infinity: the row's is not known yet.
  const float base = max == -INFINITY ? 0 : max;
  edge = expf(edge - base);
  float sum = edge;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    held[v] = exp_of(held[v], base);
    sum += sum_of(held[v]);
  }
#pragma unroll 2
  for (int s = others; s < part.end; s += threads) {
    const float4 four = exp_of(rest[s - behind], base);
    rest[s - behind] = four;
    sum += sum_of(four);
  }
  sum = block_sum(sum, sum_slots);

  // Thread b tells block b.
  if (thread < blocks) *cluster.map_shared_rank(pairs + rank, thread) = {max, sum};
  cluster.sync();
  const Pair whole = merged(pairs, blocks);
  const float scale = expf(max - whole.max) / whole.sum;

  if (part.edge >= 0) y[row * cols + part.edge] = edge * scale;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int s = part.first + v * threads;
    if (s < part.end) store_four(y + start + 4 * s, scaled(held[v], scale), wide_stores);
  }
#pragma unroll 2
  for (int s = others; s < part.end; s += threads)
    store_four(y + start + 4 * s, scaled(rest[s - behind], scale), wide_stores);
#endif
}

/// How a row is shared.
struct Plan {
  int64_t blocks, threads, bytes;
};

Plan plan(int64_t cols, int64_t blocks) {
  const int64_t slots = slots_for(cols, blocks);
  const int64_t threads = std::max<int64_t>(slots / VECTORS_IN_ALL / WARP, 1) * WARP;
  const int64_t in_shared = std::max<int64_t>(slots - VECTORS * threads, 0);
  return {blocks, threads, in_shared * static_cast<int64_t>(sizeof(float4))};
}

}  // namespace

void half_in_registers(const Softmax& problem, const float* x, float* y, cudaStream_t stream) {
  require_clusters("half_in_registers");
  const int64_t rows = problem.rows, cols = problem.cols;
  if (rows == 0 || cols == 0) return;
  if (cols <= FITS_A_BLOCK) return row_on_chip_on(x, y, rows, cols, stream);

  cudaLaunchAttribute of_cluster = {};
  of_cluster.id = cudaLaunchAttributeClusterDimension;
  of_cluster.val.clusterDim.y = 1;
  of_cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.stream = stream;
  config.attrs = &of_cluster;
  config.numAttrs = 1;
  const int64_t most = cols <= FOR_4_BLOCKS ? 4 : cols <= FOR_8_BLOCKS ? 8 : MAX_BLOCKS;
  for (int64_t blocks = most; blocks >= std::min<int64_t>(most, 8); blocks /= 2) {
    const Plan how = plan(cols, blocks);
    constexpr size_t ARRAYS = 2 * MAX_WARPS * sizeof(float) + MAX_BLOCKS * sizeof(Pair);
    if (how.threads > MAX_THREADS || how.bytes > room_in_shared(ARRAYS)) continue;
    if (rows > grid_limit.x / blocks) continue;
    CUDA_CHECK(cudaFuncSetAttribute(half_in_registers_kernel,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(how.bytes)));
    if (blocks > 8)
      CUDA_CHECK(cudaFuncSetAttribute(half_in_registers_kernel,
                                      cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    of_cluster.val.clusterDim.x = static_cast<unsigned>(blocks);
    config.gridDim = static_cast<unsigned>(blocks * rows);
    config.blockDim = static_cast<unsigned>(how.threads);
    config.dynamicSmemBytes = static_cast<size_t>(how.bytes);
    int at_once = 0;  // clusters; none, or an error, where the device takes no such cluster
    if (cudaOccupancyMaxActiveClusters(&at_once, half_in_registers_kernel, &config) !=
        cudaSuccess) {
      cudaGetLastError();
      continue;
    }
    if (at_once == 0) continue;
    CUDA_CHECK(cudaLaunchKernelEx(&config, half_in_registers_kernel, x, y, static_cast<int>(cols),
                                  equally_aligned(x, y)));
    return;
  }
  cluster(problem, x, y, stream);
}

}  // namespace tutorial::softmax::long_rows
