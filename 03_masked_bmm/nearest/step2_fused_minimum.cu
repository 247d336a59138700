// Step 2 = step 1 + the block looks for the minima itself, while it has the sums in registers.
//
// FLOP            2·M·N·D, and M·N comparisons
// global memory   C is never written: 4·(M + N)·D bytes and the packed ones, 24·M for the result
// asked for by fused_minimum_kernel  loads 12288·(⌈D/8⌉·⌈M/128⌉·⌈N/256⌉ + blocks) bytes,
//                                    stores 0 bytes
// asked for by unpack_kernel         loads 8·M bytes, stores 8·M bytes
// shared memory   25.5 KB a block: 12 bytes a row beside the pieces
// block           256 threads, one block a multiprocessor
// H200            0.771 ms at 16384×16384×64 (M×N×D), 169 % of cuBLAS and a minimum
#include "common/kernel/check.hpp"
#include "nearest/key.cuh"
#include "nearest/strip.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

/// `keys` has one a row, NOTHING at first.
__global__ void __launch_bounds__(THREADS)
    fused_minimum_kernel(Packed packed, Key* keys, int64_t M, int N) {
  __shared__ Pieces pieces;
  __shared__ Key best[BM];               // of each row of the strip …
  alignas(16) __shared__ float low[BM];  // … and its value before this tile, NaN at first
  const int me = threadIdx.x;
  for (Share share(pieces, packed); !share.is_over(); share.step()) {
    if (share.begins_strip(packed) && me < BM) best[me] = NOTHING, low[me] = NAN;
    float sum[TM][TN];
    share.multiply(sum);
    const int col0 = share.first_col();
    if (col0 + BN > N) drop_beyond(sum, N - col0);
    const unsigned rows = rows_to_look_at<false>(sum, low);  // seldom any
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

/// A thread has a row.
__global__ void unpack_kernel(const Key* keys, int64_t M, float* out, float* values) {
  const int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row >= M) return;
  const Key best = keys[row];
  out[row] = static_cast<float>(index_of(best));
  values[row] = value_of(best);
}

}  // namespace

void fused_minimum(const Search& s, const float* A, const float* B, float* out, float* values,
                   Workspace workspace, cudaStream_t stream) {
  require_can_do("fused_minimum", s);
  if (s.M == 0) return;
  const Scratch scratch = scratch_in(workspace, s, fused_minimum);
  const Packed packed = pack(s, A, B, scratch, stream);
  Key* const keys = scratch.keys;
  CUDA_CHECK(cudaMemsetAsync(keys, 0xff, s.M * sizeof(Key), stream));
  fused_minimum_kernel<<<packed.blocks, THREADS, 0, stream>>>(packed, keys, s.M,
                                                              static_cast<int>(s.N));
  CUDA_CHECK_LAUNCH();
  const auto blocks = static_cast<unsigned>(ceil_div(s.M, 256));
  unpack_kernel<<<blocks, 256, 0, stream>>>(keys, s.M, out, values);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::masked_bmm::nearest
