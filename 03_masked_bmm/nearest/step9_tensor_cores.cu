// Step 9 = step 8 + both products on tensor cores, of numbers rounded to fp16.
//
// FLOP            4·M·N·D for the products, 3·M·c·D in double for c candidates a row
// global memory   as in step 8, and fragments: 2 bytes for each element of A and B, padded
// asked for by half_minima_kernel
//                 loads 12288·(⌈D/16⌉·⌈M/128⌉·⌈N/256⌉ + 4·blocks) + 64·N·⌈M/128⌉ +
//                 2048·blocks bytes, stores 16·M·⌈N/256⌉ bytes
// asked for by half_candidates_kernel
//                 loads 12288·(⌈D/16⌉·⌈M/128⌉·⌈N/256⌉ + 4·blocks) + 64·N·⌈M/128⌉ +
//                 8192·⌈M/128⌉·⌈N/256⌉ + 2048·blocks bytes, stores 4·kept bytes
// shared memory   60 KB a block: four pieces of 12 KB, and 12 KB for candidates that wait
// block           256 threads, one block a multiprocessor
// H200            0.598 ms for 10 neighbours at 16384×16384×64 (M×N×D)
#include "common/kernel/check.hpp"
#include "common/kernel/shared_memory.hpp"
#include "nearest/candidates.cuh"
#include "nearest/exact.cuh"
#include "nearest/tensor_share.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

struct Shared {
  FragmentPiece pieces[STAGES];
  Waiting waiting[THREADS / 32];  // one a warp
};

/// What numbers in fp16 stand for: the products of points and queries, times this and |b|².
struct Points {
  const float* norms;
  const unsigned *about_points, *about_queries;
  int N;
  /// -2, and the scaling undone.
  __device__ float scale() const {
    return ldexpf(-2.0f, -scaling_of(__uint_as_float(about_points[0])) -
                             scaling_of(__uint_as_float(about_queries[0])));
  }
};

/// What is compared, |b|² - 2·a·b, from the products of a tile.
__device__ void make_distances(Sums& sum, const Points& points, float scale, int col0) {
#pragma unroll
  for (int c = 0; c < COLS; ++c) {
    const int col = col0 + tensor_col_of(c);
    const float norm = col < points.N ? points.norms[col] : NAN;  // NaN never wins
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum_of(sum, r, c) = scale * sum_of(sum, r, c) + norm;
  }
}

/// The smallest of a lane's sums of a row. fminf passes over NaN.
__device__ float smallest_of(Sums& sum, int r) {
  float least = sum_of(sum, r, 0);
#pragma unroll
  for (int c = 1; c < COLS; ++c) least = fminf(least, sum_of(sum, r, c));
  return least;
}

/// The smallest of each GROUP points, ∞ where none is left, as in a key: minima is (M, groups).
__global__ void __launch_bounds__(THREADS)
    half_minima_kernel(Packed packed, Points points, unsigned* minima, int64_t M) {
  extern __shared__ float4 memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float scale = points.scale();
  for (TensorShare share(shared.pieces, packed); !share.is_over(); share.step()) {
    Sums sum;
    share.multiply(sum);
    make_distances(sum, points, scale, share.first_col());
    const int group = share.first_col() / GROUP + warp % WARPS_N;  // a warp's columns
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      float least = fminf(smallest_of(sum, r), INFINITY);  // no NaN
      for (int other = 1; other <= 2; other *= 2)          // the lanes of the same row
        least = fminf(least, __shfl_xor_sync(0xffffffffu, least, other));
      const int64_t row = share.first_row() + tensor_row_of(r);
      if (lane % 4 == 0 && row < M) minima[row * packed.groups() + group] = bits_of(least);
    }
  }
}

/// All points that are not beyond their row's limit.
__global__ void __launch_bounds__(THREADS)
    half_candidates_kernel(Packed packed, Points points, const float* limits, Candidates found) {
  extern __shared__ float4 memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  Waiting& waiting = shared.waiting[threadIdx.x / 32];
  if (threadIdx.x % 32 == 0) waiting.count = 0;
  const float scale = points.scale();
  for (TensorShare share(shared.pieces, packed); !share.is_over(); share.step()) {
    Sums sum;
    share.multiply(sum);  // has a barrier
    const int col0 = share.first_col();
    make_distances(sum, points, scale, col0);
    float limit[ROWS];  // NaN: nothing is within it
#pragma unroll
    for (int r = 0; r < ROWS; ++r) limit[r] = limits[share.first_row() + tensor_row_of(r)];
    unsigned rows = 0;  // all are compared before the first branch
#pragma unroll
    for (int r = 0; r < ROWS; ++r) rows |= (smallest_of(sum, r) <= limit[r] ? 1u : 0u) << r;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if ((rows >> r & 1) == 0) continue;  // as a rule
      unsigned hits = 0;
#pragma unroll
      for (int c = 0; c < COLS; ++c) hits |= (sum_of(sum, r, c) <= limit[r] ? 1u : 0u) << c;
#pragma unroll 1
      for (; hits != 0; hits &= hits - 1)
        put(waiting, found, share.first_row() + tensor_row_of(r),
            col0 + tensor_col_of(__ffs(hits) - 1));
    }
    write_waiting(waiting, found, Waiting::ENOUGH);
  }
  write_waiting(waiting, found, 1);
}

}  // namespace

void tensor_cores(const Search& s, const float* A, const float* B, float* out, float* values,
                  Workspace workspace, cudaStream_t stream) {
  require_can_do("tensor_cores", s);
  if (s.M == 0) return;
  const Scratch scratch = scratch_in(workspace, s, tensor_cores);
  if (!has_groups_enough(s) || !has_tensor_cores())
    return limits_first(s, A, B, out, values, workspace, stream);
  if (s.M > rows_at_once(s))
    return launch_in_parts(tensor_cores, s, A, B, out, values, workspace, stream);
  measure_points(s, B, scratch, stream);
  measure_queries(s, A, scratch, stream);
  const Packed fragments = pack_fragments(s, A, B, scratch, stream);
  const Points points = {scratch.norms, scratch.about_points, scratch.about_queries,
                         static_cast<int>(s.N)};
  allow_shared_memory(half_minima_kernel, sizeof(Shared));
  half_minima_kernel<<<fragments.blocks, THREADS, sizeof(Shared), stream>>>(fragments, points,
                                                                            scratch.minima, s.M);
  CUDA_CHECK_LAUNCH();
  find_limits(s, A, scratch, stream, /*of_halves=*/true);
  allow_shared_memory(half_candidates_kernel, sizeof(Shared));
  half_candidates_kernel<<<fragments.blocks, THREADS, sizeof(Shared), stream>>>(
      fragments, points, scratch.limits, scratch.candidates);
  CUDA_CHECK_LAUNCH();
  choose(s, A, B, out, values, scratch, stream);
  Search without_queries = s;  // which that scan reads as they are
  without_queries.M = 0;
  const Packed packed = pack(without_queries, A, B, scratch, stream);
  scan_doubtful(s, packed, A, B, out, values, scratch, stream);
}

}  // namespace tutorial::masked_bmm::nearest
