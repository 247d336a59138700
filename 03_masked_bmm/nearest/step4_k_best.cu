// Step 4 = step 3 + a sorted list of the best for each row; what is better than its last goes to a
// buffer first.
//
// FLOP            2·M·N·D for the products, and 3·M·(k + 6)·D in double
// global memory   8·(M + N)·D + 8·N bytes, and the lists: 8·M·(k + 6) bytes a part, read and
//                 written again by each merge
// asked for by k_best_kernel  loads 4·D·(M·⌈N/256⌉ + N·⌈M/128⌉) + 32·N·… bytes
// shared memory   59 KB a block: 32 keys a row wait in the buffer
// block           256 threads for a strip of 128 rows, or a part of one
#include "common/kernel/check.hpp"
#include "nearest/merge.cuh"
#include "nearest/strip.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

constexpr int WAITING = 32;  // keys a row: as many as a warp merges at once

struct Shared {
  Pieces pieces;
  Key waiting[BM][WAITING];
  Key last[BM];   // of each row's list: what is not smaller has no place there
  int count[BM];  // of the keys that wait, or would if there were room
};

/// What counts is scale·a·b + norm; without norms they are 0. `lists` are (M, parts, listed), all
/// NOTHING at first.
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    k_best_kernel(Packed packed, const float* norms, float scale, Key* lists, int parts,
                  int listed, int64_t M, int N) {
  extern __shared__ float4 memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (Share share(shared.pieces, packed); !share.is_over(); share.step()) {
    const int64_t row0 = share.first_row();
    const int rows = static_cast<int>(min(M - row0, int64_t{BM})), col0 = share.first_col();
    const int64_t part = blockIdx.x - packed.block_of(row0 / BM * packed.tiles);
    if (const int row = threadIdx.x; share.begins_strip(packed) && row < BM) {
      shared.last[row] = row < rows ? NOTHING : 0;  // 0: nothing is smaller
      shared.count[row] = 0;
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
    __syncthreads();
    bool is_full;
    do {
      is_full = false;
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        const int row = row_of(i);
        float mine = NAN;
#pragma unroll
        for (int j = 0; j < TN; ++j) mine = fminf(mine, sum[i][j]);
        const Key worst = shared.last[row];
        if (mine > value_of(worst)) continue;
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          const Key key = key_of(sum[i][j], col0 + col_of(j));
          if (sum[i][j] != sum[i][j] || key >= worst) continue;
          const int place = atomicAdd(&shared.count[row], 1);
          if (place < WAITING)
            shared.waiting[row][place] = key, sum[i][j] = NAN;  // is done
          else
            is_full = true;  // the next time round
        }
      }
      is_full = __syncthreads_or(is_full);
      for (int row = warp; row < rows; row += THREADS / 32) {
        const int count = min(shared.count[row], WAITING);
        if (count <= (is_full || share.ends_strip() ? 0 : WAITING / 2)) continue;
        Key* const list = lists + ((row0 + row) * parts + part) * listed;
        merge(list, listed, lane < count ? shared.waiting[row][lane] : NOTHING);
        if (lane == 0) shared.last[row] = list[listed - 1], shared.count[row] = 0;
      }
      __syncthreads();
    } while (is_full);
  }
}

}  // namespace

void k_best(const Search& s, const float* A, const float* B, Workspace& workspace, float* out) {
  require_can_do("k_best", s);
  if (s.M == 0) return;
  const Packed packed = pack(s, A, B, workspace);
  const bool is_distance = s.measure == Measure::distance;
  if (is_distance) measure_points(s, B, workspace);
  const auto listed = static_cast<int>(is_distance ? s.k + SPARE : s.k);
  const auto parts = static_cast<int>(packed.parts());
  Key* const lists = workspace.keys.data();
  CUDA_CHECK(cudaMemsetAsync(lists, 0xff, s.M * parts * listed * sizeof(Key)));
  // A block may have more than 48 KB of shared memory only if the kernel asks for it.
  CUDA_CHECK(cudaFuncSetAttribute(k_best_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  sizeof(Shared)));
  k_best_kernel<<<packed.blocks, THREADS, sizeof(Shared)>>>(
      packed, is_distance ? workspace.norms.data() : nullptr, is_distance ? -2.0f : 1.0f, lists,
      parts, listed, s.M, static_cast<int>(s.N));
  CUDA_CHECK_LAUNCH();
  finish(s, A, B, parts, listed, workspace, out);
}

}  // namespace tutorial::masked_bmm::nearest
