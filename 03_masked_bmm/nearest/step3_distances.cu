// Step 3 = step 2 + distances: |a - b|² = |a|² + |b|² - 2·a·b, as near as float32 can tell.
//
// FLOP            2·M·N·D for the products, 2·(M + N)·D for norms, 3·M·D in double for the values
// global memory   4·(M + N)·D bytes and the packed ones, 4·N for |b|², some 100·M for the rest
// asked for       loads 12288·(⌈D/8⌉·⌈M/128⌉·⌈N/256⌉ + blocks) + 32·N·⌈M/128⌉ bytes, stores 0 bytes
// shared memory   25.5 KB a block: 12 bytes a row beside the pieces
// block           256 threads, one block a multiprocessor
#include "common/kernel/check.hpp"
#include "nearest/key.cuh"
#include "nearest/strip.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

/// `keys` has one a row, NOTHING at first.
__global__ void __launch_bounds__(THREADS)
    distances_kernel(Packed packed, const float* norms, Key* keys, int64_t M, int N) {
  __shared__ Pieces pieces;
  __shared__ Key best[BM];               // of each row of the strip …
  alignas(16) __shared__ float low[BM];  // … and its value before this tile, NaN at first
  const int me = threadIdx.x;
  for (Share share(pieces, packed); !share.is_over(); share.step()) {
    if (share.begins_strip(packed) && me < BM) best[me] = NOTHING, low[me] = NAN;
    float sum[TM][TN];
    share.multiply(sum);
    const int col0 = share.first_col();
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const int col = col0 + col_of(j);
      const float norm = col < N ? norms[col] : NAN;  // NaN never wins
#pragma unroll
      for (int i = 0; i < TM; ++i) sum[i][j] = norm - 2 * sum[i][j];  // |a|² is the row's
    }
    const unsigned rows = rows_to_look_at<false>(sum, low);
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      if ((rows >> i & 1) == 0) continue;
      const float mine = smallest(sum[i]);
      if (mine != mine) continue;  // all are NaN
      atomicMin(&best[row_of(i)], key_of(mine, col0 + col_of(first_place(sum[i], mine))));
    }
    __syncthreads();
    if (me < BM) low[me] = value_of(best[me]);
    // Other blocks may have other points of these rows.
    const int64_t row = share.first_row() + me;
    if (share.ends_strip() && me < BM && row < M) atomicMin(&keys[row], best[me]);
  }
}

}  // namespace

void distances(const Search& s, const float* A, const float* B, float* out, float* values,
               Workspace workspace, cudaStream_t stream) {
  require_can_do("distances", s);
  if (s.M == 0) return;
  const Scratch scratch = scratch_in(workspace, s, distances);
  const Packed packed = pack(s, A, B, scratch, stream);
  measure_points(s, B, scratch, stream);
  Key* const keys = scratch.keys;
  CUDA_CHECK(cudaMemsetAsync(keys, 0xff, s.M * sizeof(Key), stream));
  distances_kernel<<<packed.blocks, THREADS, 0, stream>>>(packed, scratch.norms, keys, s.M,
                                                          static_cast<int>(s.N));
  CUDA_CHECK_LAUNCH();
  finish(s, A, B, /*parts=*/1, /*listed=*/1, out, values, scratch, stream);
}

}  // namespace tutorial::masked_bmm::nearest
