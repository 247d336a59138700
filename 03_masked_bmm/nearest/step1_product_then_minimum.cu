// Step 1 = the product C = A·Bᵀ, then a second kernel that looks for each row's minimum.
//
// FLOP            2·M·N·D, and M·N comparisons
// global memory   C is written and read again: 8·M·N bytes beside those of A and B
// asked for by product_kernel  loads 12288·(⌈D/8⌉·⌈M/128⌉·⌈N/256⌉ + blocks) bytes,
//                              stores 16·M·⌈N/4⌉ bytes
// asked for by minimum_kernel  loads 16·M·⌈N/4⌉ bytes, stores 8·M bytes
// shared memory   24 KB a block
// block           256 threads, one block a multiprocessor
// H200            1.17 ms at 16384×16384×64 (M×N×D), 111 % of cuBLAS and a kernel for the minimum
#include <algorithm>

#include "common/kernel/check.hpp"
#include "nearest/key.cuh"
#include "nearest/strip.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

__global__ void __launch_bounds__(THREADS)
    product_kernel(Packed packed, float* C, int64_t M, int N, int64_t row_floats) {
  __shared__ Pieces pieces;
  for (Share share(pieces, packed); !share.is_over(); share.step()) {
    float sum[TM][TN];
    share.multiply(sum);
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const int64_t row = share.first_row() + row_of(i), col = share.first_col() + col_of(j);
        if (row < M && col < N) store4(C + row * row_floats + col, &sum[i][j]);
      }
    }
  }
}

constexpr int MINIMUM_THREADS = 256;

/// A block has a row of C. ALIGNED: it begins at a multiple of 16 bytes.
template <bool ALIGNED>
__global__ void __launch_bounds__(MINIMUM_THREADS)
    minimum_kernel(const float* C, int N, int64_t row_floats, int64_t row0, float* out,
                   float* values) {
  __shared__ Key of_warps[MINIMUM_THREADS / 32];
  const int64_t row = row0 + blockIdx.x;
  Key best = NOTHING;
  float low = INFINITY;
#pragma unroll 4
  for (int col = threadIdx.x * 4; col < N; col += MINIMUM_THREADS * 4) {
    float x[4];
    load4_guarded<ALIGNED>(x, C + row * row_floats + col, N - col);
    for (int j = 0; j < 4; ++j)
      if (x[j] <= low && col + j < N) {
        const Key key = key_of(x[j], col + j);  // of equal values the first stays
        if (key < best) best = key, low = x[j];
      }
  }
  best = warp_min(best);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  best = warp_min(threadIdx.x < MINIMUM_THREADS / 32 ? of_warps[threadIdx.x] : NOTHING);
  if (threadIdx.x > 0) return;
  out[row] = static_cast<float>(index_of(best));
  values[row] = value_of(best);
}

}  // namespace

void row_minimum(const Search& s, const float* C, int64_t row_floats, float* out, float* values,
                 cudaStream_t stream) {
  const auto kernel =
      rows_are_aligned(C, row_floats) ? minimum_kernel<true> : minimum_kernel<false>;
  for (int64_t row = 0; row < s.M; row += grid_limit.x) {
    kernel<<<std::min(s.M - row, grid_limit.x), MINIMUM_THREADS, 0, stream>>>(
        C, static_cast<int>(s.N), row_floats, row, out, values);
    CUDA_CHECK_LAUNCH();
  }
}

void product_then_minimum(const Search& s, const float* A, const float* B, float* out,
                          float* values, Workspace workspace, cudaStream_t stream) {
  require_can_do("product_then_minimum", s);
  if (s.M == 0) return;
  const Scratch scratch = scratch_in(workspace, s, product_then_minimum);
  const Packed packed = pack(s, A, B, scratch, stream);
  const int64_t row_floats = ceil_div(s.N, 4) * 4;
  product_kernel<<<packed.blocks, THREADS, 0, stream>>>(packed, scratch.product, s.M,
                                                        static_cast<int>(s.N), row_floats);
  CUDA_CHECK_LAUNCH();
  row_minimum(s, scratch.product, row_floats, out, values, stream);
}

}  // namespace tutorial::masked_bmm::nearest
