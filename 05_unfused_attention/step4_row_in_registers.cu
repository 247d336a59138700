// Step 4 = step 3 + the scale is a factor of the product, and the softmax reads a row once: a warp
// holds it in registers, masks it there, and writes the weights over the scores.
//
// FLOP            4 a seen score: maximum; subtract, exp, add; and a multiplication
// global memory   8 bytes a seen score and 4 a masked one, the least there is
// asked for by softmax_in_registers
//                 loads 4·seen bytes (up to 12 a row more, where rows are read 16 bytes at a time),
//                 stores 4·written bytes; `written` are the seen scores and the masked ones that
//                 the next product reads
// asked for by softmax_again
//                 loads 12·seen bytes, stores 4·written bytes
// shared memory   none; softmax_again 2 floats a warp
// block           block_size threads, but not more than 256, a row for each warp; softmax_again:
//                 block_size threads, 1 row
// H200            0.854 ms for B 8, T 1024, C 768, NH 12
// long diff       a new kernel for what fits; step 3's stays for the longer rows
//
// In place: what a warp overwrites only it has read, and it reads all of its row before it writes.
// A row of more than 1024 keys does not fit into a warp's registers and goes to softmax_again.
#include <algorithm>

#include "05_unfused_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "common/kernel/vector4.cuh"

namespace tutorial::unfused_attention {
namespace {

constexpr int64_t MOST_THREADS = 256;

/// How many keys row `row` of a strip's scores sees.
__device__ int seen_keys(int64_t row, int queries, int64_t first_query, int keys, bool causal) {
  return causal ? static_cast<int>(first_query + row % queries) + 1 : keys;
}

/// Each lane holds FLOATS of the row. WIDTH is 4 where every row starts on a 16-byte boundary and
/// ends on one, else 1. With 3 blocks of MOST_THREADS on an
/// SM a thread has 80 registers, with 2 of them 128: none of the row goes to memory.
template <int FLOATS, int WIDTH>
__global__ void __launch_bounds__(MOST_THREADS, WIDTH == 4 ? 3 : 2)
    softmax_in_registers(float* scores, int64_t rows, int queries, int64_t first_query, int keys,
                         bool causal) {
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const int64_t row = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / WARP;
  if (row >= rows) return;  // the whole warp
  float* const s = scores + row * keys;
  const int seen = seen_keys(row, queries, first_query, keys, causal);

  // Neighbouring lanes take neighbouring keys. What the query does not see is -infinity.
  float held[FLOATS];
#pragma unroll
  for (int f = 0; f < FLOATS; f += WIDTH) {
    const int key = f * WARP + lane * WIDTH;
    if constexpr (WIDTH == 4) {
      float4 four = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
      if (key < seen) four = load4(s + key);
      held[f] = four.x;
      held[f + 1] = key + 1 < seen ? four.y : -INFINITY;
      held[f + 2] = key + 2 < seen ? four.z : -INFINITY;
      held[f + 3] = key + 3 < seen ? four.w : -INFINITY;
    } else {
      held[f] = key < seen ? s[key] : -INFINITY;
    }
  }

  float max = -INFINITY;
#pragma unroll
  for (int f = 0; f < FLOATS; ++f) max = fmaxf(max, held[f]);
  max = warp_max(max);

  float sum = 0;
#pragma unroll
  for (int f = 0; f < FLOATS; ++f) {
    held[f] = expf(held[f] - max);
    sum += held[f];
  }
  const float share = 1 / warp_sum(sum);

  // The zeros are written too: the product with V reads them.
#pragma unroll
  for (int f = 0; f < FLOATS; f += WIDTH) {
    const int key = f * WARP + lane * WIDTH;
    if (key >= keys) continue;
    if constexpr (WIDTH == 4)
      store4(s + key, make_float4(held[f] * share, held[f + 1] * share, held[f + 2] * share,
                                  held[f + 3] * share));
    else
      s[key] = held[f] * share;
  }
}

/// A block for a row of any length, which is read again and again, as in step 2.
__global__ void softmax_again(float* scores, int64_t rows, int queries, int64_t first_query,
                              int keys, bool causal) {
  extern __shared__ float shared[];
  float* max_slots = shared;
  float* sum_slots = shared + blockDim.x / WARP;

  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    float* const s = scores + row * keys;
    const int seen = seen_keys(row, queries, first_query, keys, causal);

    float max = -INFINITY;
    for (int64_t key = threadIdx.x; key < seen; key += blockDim.x) max = fmaxf(max, s[key]);
    max = block_max(max, max_slots);

    float sum = 0;
    for (int64_t key = threadIdx.x; key < seen; key += blockDim.x) sum += expf(s[key] - max);
    sum = block_sum(sum, sum_slots);

    for (int64_t key = threadIdx.x; key < keys; key += blockDim.x)
      s[key] = key < seen ? expf(s[key] - max) / sum : 0.0f;
  }
}

template <int FLOATS>
void launch(const Attention& a, const Strip& strip, float* scores, cudaStream_t stream) {
  const int64_t rows = a.heads() * strip.queries;
  const int64_t threads = std::min(a.block_size, MOST_THREADS);
  const int64_t blocks = ceil_div(rows, threads / WARP);
  const auto queries = static_cast<int>(strip.queries), keys = static_cast<int>(strip.keys);
  const auto kernel = rows_are_aligned(scores, keys) ? &softmax_in_registers<FLOATS, 4>
                                                     : &softmax_in_registers<FLOATS, 1>;
  kernel<<<blocks, threads, 0, stream>>>(scores, rows, queries, strip.first_query, keys, a.causal);
  CUDA_CHECK_LAUNCH();
}

void launch_again(const Attention& a, const Strip& strip, float* scores, cudaStream_t stream) {
  const int64_t rows = a.heads() * strip.queries;
  const int64_t blocks = std::min(rows, grid_limit.x);
  const auto queries = static_cast<int>(strip.queries), keys = static_cast<int>(strip.keys);
  const size_t shared_bytes = 2 * (a.block_size / WARP) * sizeof(float);
  softmax_again<<<blocks, a.block_size, shared_bytes, stream>>>(scores, rows, queries,
                                                                strip.first_query, keys, a.causal);
  CUDA_CHECK_LAUNCH();
}

}  // namespace

void masked_softmax(const Attention& a, const Strip& strip, float* scores, cudaStream_t stream) {
  if (a.heads() * strip.queries * strip.keys == 0) return;
  if (strip.keys <= 128) return launch<4>(a, strip, scores, stream);
  if (strip.keys <= 256) return launch<8>(a, strip, scores, stream);
  if (strip.keys <= 512) return launch<16>(a, strip, scores, stream);
  if (strip.keys <= 768) return launch<24>(a, strip, scores, stream);
  if (strip.keys <= MOST_KEYS_IN_REGISTERS) return launch<32>(a, strip, scores, stream);
  launch_again(a, strip, scores, stream);
}

void row_in_registers(const Attention& a, const float* qkv, StageWorkspace& w, float* out) {
  require_supported(a);
  require_strides(a);
  if (a.elements() == 0) return;
  float* const scores = w.preatt.data();
  const HeadPointers at = locate(a, qkv, w, scores, scores, out);
  // (f·Q)·Kᵀ = f·(Q·Kᵀ), and cuBLAS multiplies by a factor anyway.
  strided_scores(a, w.blas, at, whole(a), a.scale());
  masked_softmax(a, whole(a), scores);
  strided_values(a, w.blas, at, whole(a));
}

}  // namespace tutorial::unfused_attention
