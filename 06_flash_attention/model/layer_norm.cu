// Layer norm: each row of x, less its mean, divided by its standard deviation. A block has a row,
// as in chapter 04's block_per_row; its second pass takes the mean from each number before it
// squares, because the mean of the squares less the square of the mean loses all digits where the
// mean is large.
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "model/layers.hpp"

namespace tutorial::flash_attention::model {
namespace {

constexpr int THREADS = 128;

__global__ void layer_norm_kernel(const float* __restrict__ x, const float* __restrict__ gain,
                                  const float* __restrict__ shift, float* __restrict__ y,
                                  int64_t width) {
  __shared__ float sum_slots[MAX_WARPS];
  __shared__ float square_slots[MAX_WARPS];  // its own: a slow warp still reads the sums
  x += blockIdx.x * width;
  y += blockIdx.x * width;

  float sum = 0;
  for (int64_t c = threadIdx.x; c < width; c += THREADS) sum += x[c];
  const float mean = block_sum(sum, sum_slots) / static_cast<float>(width);

  float squares = 0;
  for (int64_t c = threadIdx.x; c < width; c += THREADS) squares += (x[c] - mean) * (x[c] - mean);
  const float variance = block_sum(squares, square_slots) / static_cast<float>(width);
  const float inverse = 1 / sqrtf(variance + NORM_EPSILON);

  for (int64_t c = threadIdx.x; c < width; c += THREADS)
    y[c] = (x[c] - mean) * inverse * gain[c] + shift[c];
}

}  // namespace

void layer_norm(const float* x, const float* gain, const float* shift, float* y, int64_t rows,
                int64_t width) {
  if (rows * width == 0) return;
  layer_norm_kernel<<<rows, THREADS>>>(x, gain, shift, y, width);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::flash_attention::model
