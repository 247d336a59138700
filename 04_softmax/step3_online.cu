// Step 3 = step 2 + one pass finds maximum and sum together: where a larger value comes, the sum so
// far is scaled down to it. (Milakov and Gimelshein, "Online normalizer calculation for softmax",
// 2018.)
//
// FLOP            11 an element: 8 to merge it (maximum, 2 subtractions, 2 exp, 2 products, 1 sum),
//                 3 to write it
// global memory   12 bytes an element asked for, 0.9 FLOP a byte: x twice, y once
// asked for       loads 8·rows·cols bytes, stores 4·rows·cols bytes
// shared memory   256 bytes
// block           1 row, up to 256 threads
// H200            0.268 ms for 16384 × 4096, 47 % of a plain copy
//
// A row that fits a cache gains little, since the pass that is saved was cheap. Long rows gain a
// third of their reads, and chapter 06 cannot do without: there no row is ever seen whole.
#include <algorithm>

#include "04_softmax.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"

namespace tutorial::softmax {
namespace {

/// What is known of some elements of a row: their maximum, and Σ exp(element - max).
struct Running {
  float max = -INFINITY;
  float sum = 0;
};

__device__ Running merge(Running a, Running b) {
  const float max = fmaxf(a.max, b.max);
  // While all elements so far are -infinity: (-infinity) - (-infinity) is NaN, and one masked
  // stretch would spoil a good row.
  const float base = max == -INFINITY ? 0 : max;
  return {max, a.sum * expf(a.max - base) + b.sum * expf(b.max - base)};
}

__device__ Running warp_merge(Running mine) {
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    mine = merge(mine, {__shfl_xor_sync(0xffffffffu, mine.max, offset),
                        __shfl_xor_sync(0xffffffffu, mine.sum, offset)});
  return mine;
}

__global__ void online_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t rows,
                              int64_t cols) {
  __shared__ float max_slots[MAX_WARPS];
  __shared__ float sum_slots[MAX_WARPS];
  const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;

  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* in = x + row * cols;
    float* out = y + row * cols;

    Running seen;
    for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) seen = merge(seen, {in[c], 1});

    seen = warp_merge(seen);
    if (lane == 0) {
      max_slots[warp] = seen.max;
      sum_slots[warp] = seen.sum;
    }
    __syncthreads();
    seen = {};
    if (lane < blockDim.x / WARP) seen = {max_slots[lane], sum_slots[lane]};
    seen = warp_merge(seen);

    for (int64_t c = threadIdx.x; c < cols; c += blockDim.x)
      out[c] = expf(in[c] - seen.max) / seen.sum;
    __syncthreads();  // all have read the slots: the next row may fill them
  }
}

}  // namespace

void online_on(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
  if (rows == 0 || cols == 0) return;
  const int64_t blocks = std::min(rows, grid_limit.x);
  online_kernel<<<blocks, threads_for(cols), 0, stream>>>(x, y, rows, cols);
  CUDA_CHECK_LAUNCH();
}

void online(const float* x, float* y, int64_t rows, int64_t cols) {
  online_on(x, y, rows, cols, nullptr);  // the default stream
}

}  // namespace tutorial::softmax
