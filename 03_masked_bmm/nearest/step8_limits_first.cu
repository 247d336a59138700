// Step 8 = step 7 without lists: the product twice, first for each row's limit, then for all below.
//
// FLOP            4·M·N·D for the products, 3·M·c·D in double for c candidates a row
// global memory   as in step 4, twice; M·N/16 bytes for minima, written and read
// asked for by minima_kernel
//                 loads 12288·(⌈D/8⌉·⌈M/128⌉·⌈N/256⌉ + blocks) + 32·N·⌈M/128⌉ bytes,
//                 stores 16·M·⌈N/256⌉ bytes
// asked for by candidates_kernel
//                 loads 12288·(⌈D/8⌉·⌈M/128⌉·⌈N/256⌉ + blocks) + 32·N·⌈M/128⌉ +
//                 16384·⌈M/128⌉·⌈N/256⌉ bytes,
//                 stores 4·kept bytes
// shared memory   36.1 KB a block: 12 KB for candidates that wait, beside the pieces
// block           256 threads, one block a multiprocessor
// H200            1.68 ms for 10 neighbours at 16384×16384×64 (M×N×D)
// long diff       another kernel, and one before it; the product and its walk stay
#include "common/kernel/check.hpp"
#include "nearest/candidates.cuh"
#include "nearest/strip.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

struct Shared {
  Pieces pieces;
  Waiting waiting[THREADS / 32];  // one a warp
};

/// What is compared, |b|² - 2·a·b, from the products of a tile.
__device__ void make_distances(float (&sum)[TM][TN], const float* norms, int col0, int N) {
#pragma unroll
  for (int j = 0; j < TN; ++j) {
    const int col = col0 + col_of(j);
    const float norm = col < N ? norms[col] : NAN;  // NaN never wins
#pragma unroll
    for (int i = 0; i < TM; ++i) sum[i][j] = norm - 2 * sum[i][j];  // |a|² is the row's
  }
}

/// The smallest of each GROUP points, ∞ where none is left, as in a key: minima is (M, groups).
__global__ void __launch_bounds__(THREADS)
    minima_kernel(Packed packed, const float* norms, unsigned* minima, int64_t M, int N) {
  extern __shared__ float4 memory[];
  Pieces& pieces = *reinterpret_cast<Pieces*>(memory);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (Share share(pieces, packed); !share.is_over(); share.step()) {
    float sum[TM][TN];
    share.multiply(sum);
    make_distances(sum, norms, share.first_col(), N);
    const int group = share.first_col() / GROUP + warp % WARPS_N;  // a warp's columns
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      float least = fminf(smallest(sum[i]), INFINITY);  // no NaN
      for (int other = 2; other <= 8; other *= 2)       // the lanes of the same row
        least = fminf(least, __shfl_xor_sync(0xffffffffu, least, other));
      const int64_t row = share.first_row() + row_of(i);
      if (lane / 2 % LANES_N == 0 && row < M)
        minima[row * packed.groups() + group] = bits_of(least);
    }
  }
}

/// All points that are not beyond their row's limit.
__global__ void __launch_bounds__(THREADS)
    candidates_kernel(Packed packed, const float* norms, const float* limits, Candidates found,
                      int N) {
  extern __shared__ float4 memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  Waiting& waiting = shared.waiting[threadIdx.x / 32];
  if (threadIdx.x % 32 == 0) waiting.count = 0;
  for (Share share(shared.pieces, packed); !share.is_over(); share.step()) {
    float sum[TM][TN];
    share.multiply(sum);  // has a barrier
    const int col0 = share.first_col();
    make_distances(sum, norms, col0, N);
    float limit[TM];  // NaN: nothing is within it
#pragma unroll
    for (int i = 0; i < TM; i += 4) load4(&limit[i], limits + share.first_row() + row_of(i));
    unsigned rows = 0;  // all are compared before the first branch
#pragma unroll
    for (int i = 0; i < TM; ++i) rows |= (smallest(sum[i]) <= limit[i] ? 1u : 0u) << i;
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      if ((rows >> i & 1) == 0) continue;  // as a rule
      unsigned hits = 0;
#pragma unroll
      for (int j = 0; j < TN; ++j) hits |= (sum[i][j] <= limit[i] ? 1u : 0u) << j;
#pragma unroll 1
      for (; hits != 0; hits &= hits - 1)
        put(waiting, found, share.first_row() + row_of(i), col0 + col_of(__ffs(hits) - 1));
    }
    write_waiting(waiting, found, Waiting::ENOUGH);
  }
  write_waiting(waiting, found, 1);
}

}  // namespace

void limits_first(const Search& s, const float* A, const float* B, float* out, float* values,
                  Workspace workspace, cudaStream_t stream) {
  require_can_do("limits_first", s);
  if (s.M == 0) return;
  const Scratch scratch = scratch_in(workspace, s, limits_first);
  if (!has_groups_enough(s)) return k_best(s, A, B, out, values, workspace, stream);
  if (s.M > rows_at_once(s))
    return launch_in_parts(limits_first, s, A, B, out, values, workspace, stream);
  const Packed packed = pack(s, A, B, scratch, stream);
  measure_points(s, B, scratch, stream);
  minima_kernel<<<packed.blocks, THREADS, sizeof(Pieces), stream>>>(
      packed, scratch.norms, scratch.minima, s.M, static_cast<int>(s.N));
  CUDA_CHECK_LAUNCH();
  find_limits(s, A, scratch, stream, /*of_halves=*/false);
  candidates_kernel<<<packed.blocks, THREADS, sizeof(Shared), stream>>>(
      packed, scratch.norms, scratch.limits, scratch.candidates, static_cast<int>(s.N));
  CUDA_CHECK_LAUNCH();
  choose(s, A, B, out, values, scratch, stream);
  scan_doubtful(s, packed, A, B, out, values, scratch, stream);
}

}  // namespace tutorial::masked_bmm::nearest
