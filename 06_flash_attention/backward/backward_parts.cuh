// What the steps of the backward pass share: the weight of a pair, and D.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "backward/backward.hpp"
#include "faster/thread_rows.cuh"

namespace tutorial::flash_attention::backward {

using namespace faster;  // the words of its headers

/// log₂ of what divides a query's weights, as weight() takes it: LOG2_E·lse. Of a query that sees
/// no key, and past the last one, it is +∞: all its weights are 2^−∞ = 0.
__device__ inline float log2_of_sum(float lse) {
  return lse == -INFINITY ? INFINITY : LOG2_E * lse;
}

/// p = exp(dot/√HS − lse), where `scale` is LOG2_E/√HS.
__device__ inline float weight(float dot, float scale, float log2_sum) {
  return exp2f(scale * dot - log2_sum);
}

/// What a kernel is given: the tensors, and D in the workspace.
struct Operands : Tensors {
  const float* D;
};

/// D_i = dout_i·out_i for all rows: row_dots.cu. Throws Error for more blocks than a grid can have.
void row_dots(const Attention& shape, const Tensors& at, float* D, cudaStream_t stream);

}  // namespace tutorial::flash_attention::backward
