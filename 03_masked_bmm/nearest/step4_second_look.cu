// Step 4 = step 3 + the two best of each row, looked at exactly: the second one proves the first.
//
// FLOP            2·M·N·D for the products, 6·M·D in double for the second look
// global memory   4·(M + N)·D bytes and the packed ones, 4·N for |b|², some 100·M for the rest
// asked for       loads 12288·(⌈D/8⌉·⌈M/128⌉·⌈N/256⌉ + blocks) + 32·N·⌈M/128⌉ bytes, stores 0 bytes
// shared memory   26.5 KB a block: 20 bytes a row beside the pieces
// block           256 threads, one block a multiprocessor
// H200            1.27 ms at 16384×16384×64 (M×N×D)
#include "common/kernel/check.hpp"
#include "nearest/key.cuh"
#include "nearest/strip.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

/// Puts a key among the two smallest: whoever loses against the best is tried as the next.
__device__ void keep_two(Key* two, Key key) {
  const Key before = atomicMin(&two[0], key);
  atomicMin(&two[1], max(before, key));
}

/// `keys` has two a row, NOTHING at first.
__global__ void __launch_bounds__(THREADS)
    second_look_kernel(Packed packed, const float* norms, Key* keys, int64_t M, int N) {
  __shared__ Pieces pieces;
  __shared__ Key two[BM][2];             // of each row of the strip: the best and the next …
  alignas(16) __shared__ float low[BM];  // … whose value this was before this tile, NaN at first
  const int me = threadIdx.x;
  for (Share share(pieces, packed); !share.is_over(); share.step()) {
    if (share.begins_strip(packed) && me < BM) two[me][0] = two[me][1] = NOTHING, low[me] = NAN;
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
#pragma unroll 1
      for (int turn = 0; turn < 2; ++turn) {  // the best two of these
        const float mine = smallest(sum[i]);
        if (mine != mine) break;
        const int place = first_place(sum[i], mine);
        keep_two(two[row_of(i)], key_of(mine, col0 + col_of(place)));
        take_out(sum[i], place);
      }
    }
    __syncthreads();
    if (me < BM) low[me] = value_of(two[me][1]);
    // Other blocks may have other points of these rows.
    const int64_t row = share.first_row() + me;
    if (share.ends_strip() && me < BM && row < M)
      for (const Key key : two[me]) keep_two(keys + 2 * row, key);
  }
}

}  // namespace

void second_look(const Search& s, const float* A, const float* B, float* out, float* values,
                 Workspace workspace, cudaStream_t stream) {
  require_can_do("second_look", s);
  if (s.M == 0) return;
  const Scratch scratch = scratch_in(workspace, s, second_look);
  const Packed packed = pack(s, A, B, scratch, stream);
  measure_points(s, B, scratch, stream);
  Key* const keys = scratch.keys;
  CUDA_CHECK(cudaMemsetAsync(keys, 0xff, 2 * s.M * sizeof(Key), stream));
  second_look_kernel<<<packed.blocks, THREADS, 0, stream>>>(packed, scratch.norms, keys, s.M,
                                                            static_cast<int>(s.N));
  CUDA_CHECK_LAUNCH();
  finish(s, A, B, /*parts=*/1, /*listed=*/2, out, values, scratch, stream);
  scan_doubtful(s, packed, A, B, out, values, scratch, stream);
}

}  // namespace tutorial::masked_bmm::nearest
