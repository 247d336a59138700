#include <cmath>

#include "common/kernel/check.hpp"
#include "common/kernel/reduce.cuh"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int THREADS = 64;

/// A block has a row.
__global__ void causal_softmax_kernel(const float* S, float* P, int64_t Tq, int64_t Tk) {
  __shared__ float max_slots[MAX_WARPS], sum_slots[MAX_WARPS];  // for block_max and block_sum
  const int64_t row = blockIdx.x, query = row % Tq;             // row is head·Tq + query
  const float* in = S + row * Tk;
  float* out = P + row * Tk;
  const int tid = threadIdx.x;  // takes the keys tid, tid + THREADS, …
  // ---- your code, about 10 lines: how many keys are seen; maximum, sum; all of P's row
  const int64_t seen = query + (Tk - Tq) + 1;  // the first ones; none if it is <= 0
  float max = -INFINITY;
  for (int64_t key = tid; key < seen; key += THREADS) max = fmaxf(max, in[key]);
  max = block_max(max, max_slots);

  float sum = 0;
  for (int64_t key = tid; key < seen; key += THREADS) sum += expf(in[key] - max);
  sum = block_sum(sum, sum_slots);

  for (int64_t key = tid; key < Tk; key += THREADS)
    out[key] = key < seen ? expf(in[key] - max) / sum : 0.0f;
  // ----
}

}  // namespace

void causal_softmax(const float* S, float* P, int64_t heads, int64_t Tq, int64_t Tk) {
  const int64_t rows = heads * Tq;
  if (rows * Tk == 0) return;
  causal_softmax_kernel<<<rows, THREADS>>>(S, P, Tq, Tk);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
