// D = rowsum(dout ∘ out), the first kernel of every step. It replaces a sum over the keys:
// Σ_j p_ij·(dout_i·v_j) = dout_i·Σ_j p_ij·v_j = dout_i·out_i. A warp has a row.
//
// asked for       loads 8·B·NH·Tq·HS bytes, stores 4·B·NH·Tq bytes
#include "backward/backward_parts.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::backward {
namespace {

constexpr int WARPS = 8;

__global__ void __launch_bounds__(WARPS* WARP)
    row_dots_kernel(const float* __restrict__ dout, const float* __restrict__ out,
                    float* __restrict__ D, int64_t rows, int64_t HS) {
  const int lane = threadIdx.x % WARP;
  const int64_t row = int64_t{blockIdx.x} * WARPS + threadIdx.x / WARP;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int64_t d = lane; d < HS; d += WARP) sum += dout[row * HS + d] * out[row * HS + d];
  sum = warp_sum(sum);
  if (lane == 0) D[row] = sum;
}

}  // namespace

void row_dots(const Attention& shape, const Tensors& at, float* D, cudaStream_t stream) {
  const unsigned blocks = grid_blocks(ceil_div(shape.rows(), WARPS));
  if (blocks == 0) return;
  row_dots_kernel<<<blocks, WARPS * WARP, 0, stream>>>(at.dout, at.out, D, shape.rows(), shape.HS);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::flash_attention::backward
