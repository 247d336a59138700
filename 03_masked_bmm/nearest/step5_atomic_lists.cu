// Step 5 = step 4 + a list of k keys and more for each row, which a chain of atomics keeps sorted.
//
// FLOP            2·M·N·D for the products, 3·M·(k + 6)·D in double for the second look
// global memory   as in step 4, and an atomic for each key of a list that a new key passes
// asked for       loads 12288·(⌈D/8⌉·⌈M/128⌉·⌈N/256⌉ + blocks) + 32·near·N·⌈M/128⌉ bytes,
//                 stores 0 bytes; near is 1 for distances, else 0
// shared memory   25.5 KB a block: 12 bytes a row beside the pieces
// block           256 threads, one block a multiprocessor
#include "common/kernel/check.hpp"
#include "nearest/key.cuh"
#include "nearest/strip.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

struct Shared {
  Pieces pieces;
  Key last[BM];     // of each row's list: what is not smaller has no place there
  float limit[BM];  // and its value
};

/// Puts a key into a sorted list: whoever loses at one place is tried at the next. Has it a place?
__device__ bool keep(Key* list, int listed, Key key) {
  if (key >= atomicMin(&list[listed - 1], NOTHING)) return false;  // reads: others may be at work
  for (int place = 0; place < listed && key != NOTHING; ++place)
    key = max(atomicMin(&list[place], key), key);
  return true;
}

/// What counts is scale·a·b + norm; without norms they are 0. `lists` are (M, listed), all NOTHING
/// at first.
__global__ void __launch_bounds__(THREADS)
    atomic_lists_kernel(Packed packed, const float* norms, float scale, Key* lists, int listed,
                        int64_t M, int N) {
  __shared__ Shared shared;
  const int me = threadIdx.x;
  for (Share share(shared.pieces, packed); !share.is_over(); share.step()) {
    const int64_t row0 = share.first_row();
    const int rows = static_cast<int>(min(M - row0, int64_t{BM})), col0 = share.first_col();
    const auto list_of = [&](int row) { return lists + (row0 + row) * listed; };
    if (share.begins_strip(packed) && me < BM) {
      shared.last[me] = me < rows ? NOTHING : 0;  // 0: nothing is smaller
      shared.limit[me] = me < rows ? NAN : -INFINITY;
    }
    float sum[TM][TN];
    share.multiply(sum);
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const int col = col0 + col_of(j);
      const float norm = col >= N ? NAN : norms == nullptr ? 0.0f : norms[col];
#pragma unroll
      for (int i = 0; i < TM; ++i) sum[i][j] = scale * sum[i][j] + norm;
    }
    const unsigned look_at = rows_to_look_at<true>(sum, shared.limit);
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      if ((look_at >> i & 1) == 0) continue;
#pragma unroll 1
      for (;;) {  // the thread's best, then the next …
        const float mine = smallest(sum[i]);
        const int place = first_place(sum[i], mine);
        const Key key = key_of(mine, col0 + col_of(place));
        if (mine != mine || key >= shared.last[row_of(i)]) break;
        if (!keep(list_of(row_of(i)), listed, key)) break;
        take_out(sum[i], place);
      }
    }
    __syncthreads();
    if (me < rows) {  // other blocks may be at work on this list
      shared.last[me] = atomicMin(&list_of(me)[listed - 1], NOTHING);
      shared.limit[me] = value_of(shared.last[me]);
    }
  }
}

}  // namespace

void atomic_lists(const Search& s, const float* A, const float* B, float* out, float* values,
                  Workspace workspace, cudaStream_t stream) {
  require_can_do("atomic_lists", s);
  if (s.M == 0) return;
  const Scratch scratch = scratch_in(workspace, s, atomic_lists);
  const Packed packed = pack(s, A, B, scratch, stream);
  const bool is_distance = s.measure == Measure::distance;
  if (is_distance) measure_points(s, B, scratch, stream);
  const auto listed = static_cast<int>(is_distance ? s.k + SPARE : s.k);
  Key* const lists = scratch.keys;
  CUDA_CHECK(cudaMemsetAsync(lists, 0xff, s.M * listed * sizeof(Key), stream));
  atomic_lists_kernel<<<packed.blocks, THREADS, 0, stream>>>(
      packed, is_distance ? scratch.norms : nullptr, is_distance ? -2.0f : 1.0f, lists, listed, s.M,
      static_cast<int>(s.N));
  CUDA_CHECK_LAUNCH();
  finish(s, A, B, /*parts=*/1, listed, out, values, scratch, stream);
  if (is_distance) scan_doubtful(s, packed, A, B, out, values, scratch, stream);
}

}  // namespace tutorial::masked_bmm::nearest
