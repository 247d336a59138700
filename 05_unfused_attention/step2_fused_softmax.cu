// Step 2 = step 1 + stages 3 and 4 in one kernel: the scores are scaled where they are read, and a
// masked one is not read at all.
//
// FLOP            10 an element that is not masked: scaled three times, which is cheaper than
//                 writing it down
// global memory   16 bytes an element asked for, 8 at least; 4 for a masked one. Gone are the 8 of
//                 stage 3 and stage 4's reading of att.
// asked for       loads 12·seen bytes, stores 4·B·NH·T·T bytes; `seen` are the scores not masked
// shared memory   2 floats a warp, sized at the launch
// block           1 row, block_size threads
// H200            1.12 ms for B 8, T 1024, C 768, NH 12
#include <algorithm>
#include <cmath>

#include "05_unfused_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"

namespace tutorial::unfused_attention {
namespace {

__global__ void scale_mask_softmax_kernel(const float* __restrict__ preatt, float* __restrict__ att,
                                          float scale, bool causal, int64_t rows, int64_t T) {
  extern __shared__ float shared[];
  float* max_slots = shared;
  float* sum_slots = shared + blockDim.x / WARP;

  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* in = preatt + row * T;
    float* out = att + row * T;
    const int64_t keys = causal ? row % T + 1 : T;  // the keys that this query sees

    float max = -INFINITY;
    for (int64_t key = threadIdx.x; key < keys; key += blockDim.x)
      max = fmaxf(max, scale * in[key]);
    max = block_max(max, max_slots);

    float sum = 0;
    for (int64_t key = threadIdx.x; key < keys; key += blockDim.x)
      sum += expf(scale * in[key] - max);
    sum = block_sum(sum, sum_slots);

    // All of the row is written: stage 5 reads it whole, the zeros too.
    for (int64_t key = threadIdx.x; key < T; key += blockDim.x)
      out[key] = key < keys ? expf(scale * in[key] - max) / sum : 0.0f;
  }
}

}  // namespace

void scale_mask_softmax(const Attention& a, const float* preatt, float* att) {
  if (a.elements() == 0) return;
  const float scale = a.scale();
  const int64_t rows = a.heads() * a.T;
  const int64_t blocks = std::min(rows, grid_limit.x);
  const size_t shared_bytes = 2 * (a.block_size / WARP) * sizeof(float);
  scale_mask_softmax_kernel<<<blocks, a.block_size, shared_bytes>>>(preatt, att, scale, a.causal,
                                                                    rows, a.T);
  CUDA_CHECK_LAUNCH();
}

void fused_softmax(const Attention& a, const float* qkv, StageWorkspace& w, float* out) {
  require_supported(a);
  if (a.elements() == 0) return;
  permute(a, qkv, w.q.data(), w.k.data(), w.v.data());
  scores(a, w.blas, w.q.data(), w.k.data(), w.preatt.data());
  scale_mask_softmax(a, w.preatt.data(), w.att.data());
  values(a, w.blas, w.att.data(), w.v.data(), w.vaccum.data());
  unpermute(a, w.vaccum.data(), out);
}

}  // namespace tutorial::unfused_attention
