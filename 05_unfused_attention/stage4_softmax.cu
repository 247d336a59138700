// Stage 4: the softmax of each of the B·NH·T rows of preatt, a block a row.
//
// FLOP            5 an element: maximum; subtract, exp, add; divide
// global memory   20 bytes an element asked for, 8 at least: preatt is read twice; att is written,
//                 read and written again. What comes again so soon is mostly found in a cache.
// asked for       loads 12·B·NH·T·T bytes, stores 8·B·NH·T·T bytes
// shared memory   2 floats a warp, sized at the launch
// block           1 row, block_size threads
#include <algorithm>

#include "05_unfused_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"

namespace tutorial::unfused_attention {
namespace {

__global__ void softmax_kernel(const float* __restrict__ preatt, float* __restrict__ att,
                               int64_t rows, int64_t T) {
  // The launch says how large this is: 2 floats a warp. The first half is for maxima, the second
  // for sums: a warp may write its sum while another still reads the maxima.
  extern __shared__ float shared[];
  float* max_slots = shared;
  float* sum_slots = shared + blockDim.x / WARP;

  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* in = preatt + row * T;
    float* out = att + row * T;

    // Each thread takes every blockDim.x-th key; then the warps reduce, then the block.
    float max = -INFINITY;
    for (int64_t key = threadIdx.x; key < T; key += blockDim.x) max = fmaxf(max, in[key]);
    max = block_max(max, max_slots);

    float sum = 0;
    for (int64_t key = threadIdx.x; key < T; key += blockDim.x) {
      const float term = expf(in[key] - max);  // of a masked key exp(-infinity), 0
      out[key] = term;
      sum += term;
    }
    sum = block_sum(sum, sum_slots);

    for (int64_t key = threadIdx.x; key < T; key += blockDim.x) out[key] /= sum;
  }
}

}  // namespace

void softmax(const Attention& a, const float* preatt, float* att) {
  if (a.elements() == 0) return;
  const int64_t rows = a.heads() * a.T;
  const int64_t blocks = std::min(rows, grid_limit.x);
  const size_t shared_bytes = 2 * (a.block_size / WARP) * sizeof(float);
  softmax_kernel<<<blocks, a.block_size, shared_bytes>>>(preatt, att, rows, a.T);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::unfused_attention
