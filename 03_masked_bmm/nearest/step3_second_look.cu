// Step 3 = step 2 + distances: |a - b|² = |a|² + |b|² - 2·a·b, whose best two are looked at again,
// exactly.
//
// FLOP            2·M·N·D for the products, and 5·M·D in double
// global memory   8·(M + N)·D + 8·N bytes, and 64·M for what is found
// asked for by second_look_kernel  loads 4·D·(M·⌈N/256⌉ + N·⌈M/128⌉) + 32·N·… bytes
// shared memory   27 KB a block: 20 bytes more a row than step 1
// block           256 threads for a strip of 128 rows, or a part of one
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

/// Blocks: x counts strips, y their parts. `keys` has two a row, NOTHING at first.
__global__ void __launch_bounds__(THREADS)
    second_look_kernel(const float* A, const float* B, const float* norms, Key* keys, int64_t M,
                       int N, int64_t D, int points) {
  __shared__ Pieces pieces;
  __shared__ Key two[BM][2];  // of each row of the strip: the best and the next …
  __shared__ float low[BM];   // … whose value this was before this tile, NaN at first
  const int64_t row0 = blockIdx.x * int64_t{BM};
  const int first = blockIdx.y * points, last = min(first + points, N);
  if (threadIdx.x < BM)
    two[threadIdx.x][0] = two[threadIdx.x][1] = NOTHING, low[threadIdx.x] = NAN;
  Strip strip(pieces, A, B, M, D, row0, first, last);  // has a barrier
  for (int col0 = first; col0 < last; col0 += BN) {
    float sum[TM][TN], norm[TN];
    strip.multiply(sum);
#pragma unroll
    for (int j = 0; j < TN; ++j)
      norm[j] = col0 + col_of(j) < last ? norms[col0 + col_of(j)] : NAN;  // NaN never wins
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      float mine = NAN;
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        sum[i][j] = norm[j] - 2 * sum[i][j];  // |a|² is the same for all points
        mine = fminf(mine, sum[i][j]);
      }
      if (mine >= low[row_of(i)]) continue;
#pragma unroll
      for (int j = 0; j < TN; ++j)
        if (!(sum[i][j] >= low[row_of(i)]) && sum[i][j] == sum[i][j])
          keep_two(two[row_of(i)], key_of(sum[i][j], col0 + col_of(j)));
    }
    __syncthreads();
    if (threadIdx.x < BM) low[threadIdx.x] = value_of(two[threadIdx.x][1]);
    __syncthreads();
  }
  if (threadIdx.x < BM && row0 + threadIdx.x < M)
    for (const Key key : two[threadIdx.x]) keep_two(keys + 2 * (row0 + threadIdx.x), key);
}

}  // namespace

void second_look(const Search& s, const float* A, const float* B, Workspace& workspace,
                 float* out) {
  require_can_do("second_look", s);
  if (s.M == 0) return;
  const Cut cut = cut_of(s);
  measure_points(s, B, workspace);
  Key* const keys = workspace.keys.data();
  CUDA_CHECK(cudaMemsetAsync(keys, 0xff, 2 * s.M * sizeof(Key)));
  second_look_kernel<<<strip_grid(s, cut), THREADS>>>(A, B, workspace.norms.data(), keys, s.M,
                                                      static_cast<int>(s.N), s.D,
                                                      static_cast<int>(cut.points));
  CUDA_CHECK_LAUNCH();
  finish(s, A, B, 1, 2, workspace, out);
}

}  // namespace tutorial::masked_bmm::nearest
