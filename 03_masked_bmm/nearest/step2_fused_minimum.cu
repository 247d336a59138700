// Step 2 = step 1 + the block looks for the minima itself, while it has the sums in registers.
//
// FLOP            2·M·N·D, and M·N comparisons
// global memory   4·(M + N)·D bytes, and 24·M for what is found: C is never written
// asked for by fused_minimum_kernel  loads 4·D·(M·⌈N/256⌉ + N·⌈M/128⌉) bytes, stores 0 bytes
// asked for by unpack_kernel         loads 8·M bytes, stores 8·M bytes
// shared memory   26 KB a block: 12 bytes more a row
// block           256 threads for a strip of 128 rows of C, or a part of one
#include "common/kernel/check.hpp"
#include "nearest/key.cuh"
#include "nearest/strip.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

/// Blocks: x counts strips, y their parts. `keys` has one a row, NOTHING at first.
__global__ void __launch_bounds__(THREADS)
    fused_minimum_kernel(const float* A, const float* B, Key* keys, int64_t M, int N, int64_t D,
                         int points) {
  __shared__ Pieces pieces;
  __shared__ Key best[BM];  // of each row of the strip …
  __shared__ float low[BM];  // … and its value before this tile, NaN at first
  const int64_t row0 = blockIdx.x * int64_t{BM};
  const int first = blockIdx.y * points, last = min(first + points, N);
  if (threadIdx.x < BM) best[threadIdx.x] = NOTHING, low[threadIdx.x] = NAN;
  Strip strip(pieces, A, B, M, D, row0, first, last);  // has a barrier
  for (int col0 = first; col0 < last; col0 += BN) {
    float sum[TM][TN];
    strip.multiply(sum);
    if (col0 + BN > last) drop_beyond(sum, last - col0);
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      float mine = sum[i][0];
#pragma unroll
      for (int j = 1; j < TN; ++j) mine = fminf(mine, sum[i][j]);  // passes over NaN
      // Seldom does a tile have anything better. (This is false, too, while low is NaN.)
      if (mine >= low[row_of(i)]) continue;
      int first_j = TN;
#pragma unroll
      for (int j = TN - 1; j >= 0; --j)
        if (sum[i][j] == mine) first_j = j;
      if (first_j < TN) atomicMin(&best[row_of(i)], key_of(mine, col0 + col_of(first_j)));
    }
    __syncthreads();
    if (threadIdx.x < BM) low[threadIdx.x] = value_of(best[threadIdx.x]);
    __syncthreads();
  }
  // Other blocks may have other points of these rows.
  if (threadIdx.x < BM && row0 + threadIdx.x < M)
    atomicMin(&keys[row0 + threadIdx.x], best[threadIdx.x]);
}

/// A thread has a row.
__global__ void unpack_kernel(const Key* keys, int64_t M, float* out, float* values) {
  const int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row >= M) return;
  const Key best = keys[row];
  out[row] = static_cast<float>(index_of(best));
  values[row] = value_of(best);
}

}  // namespace

void fused_minimum(const Search& s, const float* A, const float* B, Workspace& workspace,
                   float* out) {
  require_can_do("fused_minimum", s);
  if (s.M == 0) return;
  const Cut cut = cut_of(s);
  Key* const keys = workspace.keys.data();
  CUDA_CHECK(cudaMemsetAsync(keys, 0xff, s.M * sizeof(Key)));
  fused_minimum_kernel<<<strip_grid(s, cut), THREADS>>>(
      A, B, keys, s.M, static_cast<int>(s.N), s.D, static_cast<int>(cut.points));
  CUDA_CHECK_LAUNCH();
  const auto blocks = static_cast<unsigned>(ceil_div(s.M, 256));
  unpack_kernel<<<blocks, 256>>>(keys, s.M, out, workspace.values.data());
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::masked_bmm::nearest
