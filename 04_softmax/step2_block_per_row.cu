// Step 2 = step 1 + a block of threads shares a row: neighbouring threads take neighbouring
// columns, and shuffles and shared memory join what the threads found.
//
// FLOP            7 an element, as in step 1
// global memory   16 bytes an element asked for, as in step 1. But a warp's load is now 128
//                 neighbouring bytes, 4 sectors, all of it used, and a row comes round again so
//                 soon that a cache holds most of it.
// asked for       loads 12·rows·cols bytes, stores 4·rows·cols bytes
// shared memory   256 bytes
// block           1 row, up to 256 threads
// H200            0.268 ms for 16384 × 4096, 47 % of a plain copy
#include <algorithm>

#include "04_softmax.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"

namespace tutorial::softmax {
namespace {

__global__ void block_per_row_kernel(const float* __restrict__ x, float* __restrict__ y,
                                     int64_t rows, int64_t cols) {
  // Two arrays, because a fast warp writes its sum while a slow one still reads the maxima. The
  // barrier inside each reduction then keeps the other's array safe, in the next row too.
  __shared__ float max_slots[MAX_WARPS];
  __shared__ float sum_slots[MAX_WARPS];

  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* in = x + row * cols;
    float* out = y + row * cols;

    // A thread without a column gives -infinity to the maximum and 0 to the sum: no difference.
    float max = -INFINITY;
    for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) max = fmaxf(max, in[c]);
    max = block_max(max, max_slots);

    float sum = 0;
    for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) sum += expf(in[c] - max);
    sum = block_sum(sum, sum_slots);

    for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) out[c] = expf(in[c] - max) / sum;
  }
}

}  // namespace

void block_per_row(const float* x, float* y, int64_t rows, int64_t cols) {
  if (rows == 0 || cols == 0) return;
  const int64_t blocks = std::min(rows, grid_limit.x);
  block_per_row_kernel<<<blocks, threads_for(cols)>>>(x, y, rows, cols);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::softmax
