#include <cmath>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int WARPS = 4, THREADS = WARPS * WARP;

/// A query and what it has seen. A lane has two elements of the query, and of the output.
struct Seen {
  float2 q, o = {0, 0};        // o is not divided yet
  float m = -INFINITY, l = 0;  // the largest score, the sum of the weights
  __device__ void take(const float* key, const float* value);  // by all lanes
};

__device__ void Seen::take(const float* key, const float* value) {
  const int d = threadIdx.x % WARP * 2;
  const float2 k = *reinterpret_cast<const float2*>(key + d);
  const float2 v = *reinterpret_cast<const float2*>(value + d);
  const float s = warp_sum(q.x * k.x + q.y * k.y);
  const float m_new = fmaxf(m, s), rescale = expf(m - m_new), p = expf(s - m_new);
  l = l * rescale + p;
  o = {o.x * rescale + p * v.x, o.y * rescale + p * v.y};
  m = m_new;
}

/// A warp has a sequence.
__global__ void __launch_bounds__(THREADS)
    paged_attention_kernel(const float* q, const float* k, const float* v, const int* table,
                           const int64_t* lengths, float* out, int64_t sequences, int64_t most,
                           float scale) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int64_t sequence = int64_t{blockIdx.x} * WARPS + warp;
  if (sequence >= sequences) return;
  const int* pages = table + sequence * most;
  const int64_t length = lengths[sequence];
  const float* query = q + sequence * HS + 2 * lane;
  Seen seen = {.q = {query[0] * scale, query[1] * scale}};
  // ---- your code, about 8 lines: seen.take() of each key and its value, in their pages
  for (int64_t first = 0; first < length; first += PAGE) {
    const int64_t page = pages[first / PAGE];
    const int64_t keys = length - first < PAGE ? length - first : PAGE;
    for (int64_t i = 0; i < keys; ++i) {
      const int64_t at = (page * PAGE + i) * HS;
      seen.take(k + at, v + at);
    }
  }
  // ----
  const float inverse = seen.l == 0 ? 0 : 1 / seen.l;  // 0: no key
  out[sequence * HS + 2 * lane] = seen.o.x * inverse;
  out[sequence * HS + 2 * lane + 1] = seen.o.y * inverse;
}

}  // namespace

void paged_attention(const float* q, const float* k, const float* v, const int* table,
                     const int64_t* lengths, float* out, int64_t sequences, int64_t most) {
  if (sequences == 0) return;
  const float scale = 1 / std::sqrt(static_cast<float>(HS));
  paged_attention_kernel<<<ceil_div(sequences, WARPS), THREADS>>>(q, k, v, table, lengths, out,
                                                                  sequences, most, scale);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
