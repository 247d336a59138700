// qkv (B, T, 3, heads, head_size) + bias → q (B, heads, T, head_size), and k and v behind those
// that the cache has: chapter 05's permute, with a cache.
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "model/layers.hpp"

namespace tutorial::flash_attention::model {
namespace {

constexpr int THREADS = 256;

template <class Number>
__global__ void split_heads_kernel(Heads shape, const float* __restrict__ qkv,
                                   const float* __restrict__ bias, Number* __restrict__ q,
                                   Number* __restrict__ k, Number* __restrict__ v) {
  const int64_t width = shape.heads * shape.head_size;
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= shape.B * shape.T * 3 * width) return;

  // i is the place in qkv[b][t][which][head][d].
  const int64_t d = i % shape.head_size;
  const int64_t head = i / shape.head_size % shape.heads;
  const int64_t which = i / width % 3;
  const int64_t t = i / width / 3 % shape.T;
  const int64_t b = i / width / 3 / shape.T;

  const Number value(qkv[i] + bias[i % (3 * width)]);
  const int64_t of_all = b * shape.heads + head;  // the head's number among those of all texts
  const int64_t in_cache = (of_all * shape.capacity + shape.first + t) * shape.head_size + d;
  if (which == 0)
    q[(of_all * shape.T + t) * shape.head_size + d] = value;
  else
    (which == 1 ? k : v)[in_cache] = value;
}

template <class Number>
void launch(const Heads& shape, const float* qkv, const float* bias, Number* q, Number* k,
            Number* v) {
  const int64_t count = shape.B * shape.T * 3 * shape.heads * shape.head_size;
  if (count == 0) return;
  split_heads_kernel<<<ceil_div(count, THREADS), THREADS>>>(shape, qkv, bias, q, k, v);
  CUDA_CHECK_LAUNCH();
}

}  // namespace

void split_heads(const Heads& shape, const float* qkv, const float* bias, float* q, float* k,
                 float* v) {
  launch(shape, qkv, bias, q, k, v);
}

void split_heads(const Heads& shape, const float* qkv, const float* bias, __nv_bfloat16* q,
                 __nv_bfloat16* k, __nv_bfloat16* v) {
  launch(shape, qkv, bias, q, k, v);
}

}  // namespace tutorial::flash_attention::model
