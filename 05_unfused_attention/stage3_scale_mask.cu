// Stage 3: preatt · 1/√HS, and -infinity where a key lies after its query. In place.
//
// The dot product of HS terms of variance 1 has variance HS. Divided by √HS it has variance 1
// again, and the softmax does not collapse onto the largest score.
//
// FLOP            1 an element
// global memory   8 bytes an element; 4 for a masked one, which is written and not read
// asked for       loads 4·seen bytes, stores 4·B·NH·T·T bytes; `seen` are the scores not masked
// shared memory   none
// block           block_size threads, one element each; x counts keys, y rows of preatt
#include <algorithm>
#include <cmath>

#include "05_unfused_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial::unfused_attention {
namespace {

__global__ void scale_mask_kernel(float* preatt, float scale, bool causal, int64_t rows,
                                  int64_t T) {
  const int64_t key = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (key >= T) return;
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const int64_t query = row % T;  // row is (b·NH + nh)·T + query
    const int64_t i = row * T + key;
    // Not multiplied by 0: 0·score would be an ordinary score, and NaN for an infinite one.
    preatt[i] = causal && key > query ? -INFINITY : preatt[i] * scale;
  }
}

}  // namespace

void scale_mask(const Attention& a, float* preatt) {
  if (a.elements() == 0) return;
  const float scale = a.scale();
  const int64_t rows = a.heads() * a.T;
  // A grid has few blocks in y, so a block may take several rows.
  const dim3 grid(ceil_div(a.T, a.block_size), std::min(rows, grid_limit.y));
  scale_mask_kernel<<<grid, a.block_size>>>(preatt, scale, a.causal, rows, a.T);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::unfused_attention
