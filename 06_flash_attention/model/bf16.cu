// Before and behind steps that take bf16: the model's own numbers stay float32.
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "model/layers.hpp"

namespace tutorial::flash_attention::model {
namespace {

using bf16 = __nv_bfloat16;

constexpr int THREADS = 256;

__global__ void round_to_bf16_kernel(const float* __restrict__ x, bf16* __restrict__ y,
                                     int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) y[i] = bf16(x[i]);
}

__global__ void join_heads_kernel(Heads shape, const bf16* __restrict__ out,
                                  float* __restrict__ rows) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= shape.B * shape.T * shape.heads * shape.head_size) return;

  // i is the place in rows[b][t][head][d].
  const int64_t d = i % shape.head_size;
  const int64_t head = i / shape.head_size % shape.heads;
  const int64_t t = i / shape.head_size / shape.heads % shape.T;
  const int64_t b = i / shape.head_size / shape.heads / shape.T;
  rows[i] = __bfloat162float(out[((b * shape.heads + head) * shape.T + t) * shape.head_size + d]);
}

}  // namespace

void round_to_bf16(const float* x, bf16* y, int64_t count) {
  if (count == 0) return;
  round_to_bf16_kernel<<<ceil_div(count, THREADS), THREADS>>>(x, y, count);
  CUDA_CHECK_LAUNCH();
}

void join_heads(const Heads& shape, const bf16* out, float* rows) {
  const int64_t count = shape.B * shape.T * shape.heads * shape.head_size;
  if (count == 0) return;
  join_heads_kernel<<<ceil_div(count, THREADS), THREADS>>>(shape, out, rows);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::flash_attention::model
