// Step 1 = row_on_chip + the row waits in shared memory, which has room for a longer one than the
// registers, and is copied there without passing through them.
//
// FLOP            5 an element
// global memory   8 bytes an element, the least there is, 0.6 FLOP a byte
// asked for       loads 4·rows·cols bytes, stores 4·rows·cols bytes
// shared memory   the row, up to 227 KB on an H100; and 256 bytes
// block           1 row, 32 to 1024 threads
// H200            0.144 ms for 1335 × 50257, 88 % of a plain copy; online has 27 %
//
// A row that is longer than the shared memory of a block (58000 elements on an H100, 41500 on an
// A100) goes the way of row_on_chip, and where that has no room, either, of online.
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

__global__ void __launch_bounds__(1024)
    row_in_shared_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t rows, int cols,
                         bool wide_stores) {
  extern __shared__ float4 held[];
  __shared__ float max_slots[MAX_WARPS];
  __shared__ float sum_slots[MAX_WARPS];
  const int threads = static_cast<int>(blockDim.x);

  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* in = x + row * cols;
    float* out = y + row * cols;
    const Slice part = slice(in, cols, 1, 0);

    // The copies are under way at once, and none of them takes a register.
    for (int s = part.first; s < part.end; s += threads)
      __pipeline_memcpy_async(held + s, in + part.start + 4 * s, sizeof(float4));
    __pipeline_commit();
    float edge = part.edge < 0 ? -INFINITY : in[part.edge];
    // Each thread waits for its own copies. No barrier: it reads no other thread's.
    __pipeline_wait_prior(0);

    float max = edge;
#pragma unroll 4
    for (int s = part.first; s < part.end; s += threads) max = fmaxf(max, max_of(held[s]));
    max = block_max(max, max_slots);

    edge = expf(edge - max);
    float sum = edge;
#pragma unroll 4
    for (int s = part.first; s < part.end; s += threads) {
      held[s] = exp_of(held[s], max);
      sum += sum_of(held[s]);
    }
    const float scale = 1 / block_sum(sum, sum_slots);

    if (part.edge >= 0) out[part.edge] = edge * scale;
#pragma unroll 4
    for (int s = part.first; s < part.end; s += threads)
      store_four(out + part.start + 4 * s, scaled(held[s], scale), wide_stores);
  }
}

}  // namespace

void row_in_shared(const Softmax& problem, const float* x, float* y, cudaStream_t stream) {
  const int64_t rows = problem.rows, cols = problem.cols;
  if (rows == 0 || cols == 0) return;
  const int64_t bytes = slots_for(cols, 1) * static_cast<int64_t>(sizeof(float4));
  if (bytes > room_in_shared(2 * MAX_WARPS * sizeof(float)))
    return row_on_chip_on(x, y, rows, cols, stream);
  CUDA_CHECK(cudaFuncSetAttribute(row_in_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)));
  // 8 float4 a thread, until the block is full.
  const int64_t threads = std::min<int64_t>(ceil_div(cols, 32 * WARP) * WARP, 1024);
  row_in_shared_kernel<<<std::min(rows, grid_limit.x), threads, bytes, stream>>>(
      x, y, rows, static_cast<int>(cols), equally_aligned(x, y));
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::softmax::long_rows
