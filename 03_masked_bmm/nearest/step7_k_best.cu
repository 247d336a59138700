// Step 7 = step 6 + a buffer before each row's list, which is merged when it is half full.
//
// FLOP            2·M·N·D for the products, 3·M·(k + 6)·D in double for the second look
// global memory   as in step 4, and the lists: 8·(k + 6) bytes for each row of a share
// asked for       loads 12288·(⌈D/8⌉·⌈M/128⌉·⌈N/256⌉ + blocks) + 32·near·N·⌈M/128⌉ bytes,
//                 stores 8·c·lists bytes, for lists of c keys; near is 1 for distances, else 0
// shared memory   59 KB a block, and 1 KB for each key of a list, if there is so much
// block           256 threads, one block a multiprocessor
// H200            1.83 ms for 10 neighbours at 16384×16384×64 (M×N×D)
#include "common/kernel/check.hpp"
#include "common/kernel/shared_memory.hpp"
#include "nearest/merge.cuh"
#include "nearest/strip.cuh"

namespace tutorial::masked_bmm::nearest {
namespace {

constexpr int ROWS_A_WARP = BM / (THREADS / 32);
constexpr int WAITING = 32;  // keys a row: as many as a warp merges at once

struct Shared {
  Pieces pieces;
  Key waiting[BM][WAITING];
  Key last[BM];     // of each row's list: what is not smaller has no place there
  float limit[BM];  // and its value
  int count[BM];    // of the keys that wait, or would if there were room
  // Key lists[BM][listed], where there is room for them
};

/// What counts is scale·a·b + norm; without norms they are 0. `lists` are (M, parts, listed), all
/// NOTHING at first. A block works on them in place, unless shared memory has room for its own.
__global__ void __launch_bounds__(THREADS)
    k_best_kernel(Packed packed, const float* norms, float scale, Key* lists, int parts, int listed,
                  bool is_room, int64_t M, int N) {
  extern __shared__ float4 memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const int lane = threadIdx.x % 32;
  const int first_row = threadIdx.x / 32 * ROWS_A_WARP;  // of those whose lists the warp has
  for (Share share(shared.pieces, packed); !share.is_over(); share.step()) {
    const int64_t row0 = share.first_row();
    const int rows = static_cast<int>(min(M - row0, int64_t{BM})), col0 = share.first_col();
    const auto final_list_of = [&](int row) {
      const int64_t part = blockIdx.x - packed.block_of(row0 / BM * packed.tiles);
      return lists + ((row0 + row) * parts + part) * listed;
    };
    const auto list_of = [&](int row) {
      return is_room ? reinterpret_cast<Key*>(&shared + 1) + row * listed : final_list_of(row);
    };
    if (share.begins_strip(packed)) {
      for (int row = first_row; row < first_row + ROWS_A_WARP; ++row) {
        for (int place = lane; is_room && place < listed; place += 32)
          list_of(row)[place] = NOTHING;
        if (lane > 0) continue;
        shared.last[row] = row < rows ? NOTHING : 0;  // 0: nothing is smaller
        shared.limit[row] = row < rows ? NAN : -INFINITY;
        shared.count[row] = 0;
      }
    }
    float sum[TM][TN];
    share.multiply(sum);  // has a barrier
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const int col = col0 + col_of(j);
      const float norm = col >= N ? NAN : norms == nullptr ? 0.0f : norms[col];
#pragma unroll
      for (int i = 0; i < TM; ++i) sum[i][j] = scale * sum[i][j] + norm;
    }
    bool is_full;
    do {
      is_full = false;
      const unsigned look_at = rows_to_look_at<true>(sum, shared.limit);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        if ((look_at >> i & 1) == 0) continue;
        const Key worst = shared.last[row_of(i)];
#pragma unroll 1
        for (;;) {  // the thread's best, then the next …
          const float mine = smallest(sum[i]);
          const int place = first_place(sum[i], mine);
          const Key key = key_of(mine, col0 + col_of(place));
          if (mine != mine || key >= worst) break;
          const int slot = atomicAdd(&shared.count[row_of(i)], 1);
          is_full |= slot >= WAITING;
          if (slot >= WAITING) break;  // the next time round
          shared.waiting[row_of(i)][slot] = key;
          take_out(sum[i], place);
        }
      }
      is_full = __syncthreads_or(is_full);
      // A warp has 16 rows. Lane by lane: which of them are to be merged?
      const int least = is_full || share.ends_strip() ? 1 : WAITING / 2;
      const bool is_due =
          lane < ROWS_A_WARP && shared.count[first_row + lane % ROWS_A_WARP] >= least;
      for (unsigned due = __ballot_sync(0xffffffffu, is_due); due != 0; due &= due - 1) {
        const int row = first_row + __ffs(due) - 1;
        const int count = min(shared.count[row], WAITING);
        merge(list_of(row), listed, lane < count ? shared.waiting[row][lane] : NOTHING);
        if (lane > 0) continue;
        shared.last[row] = list_of(row)[listed - 1];
        shared.limit[row] = value_of(shared.last[row]);
        shared.count[row] = 0;
      }
      __syncthreads();
    } while (is_full);
    if (!share.ends_strip() || !is_room) continue;
    for (int row = first_row; row < min(first_row + ROWS_A_WARP, rows); ++row)
      for (int place = lane; place < listed; place += 32)
        final_list_of(row)[place] = list_of(row)[place];
  }
}

size_t shared_bytes_allowed() {
  return static_cast<size_t>(shared_memory_limit());
}

}  // namespace

void k_best(const Search& s, const float* A, const float* B, float* out, float* values,
            Workspace workspace, cudaStream_t stream) {
  require_can_do("k_best", s);
  if (s.M == 0) return;
  const Scratch scratch = scratch_in(workspace, s, k_best);
  const Packed packed = pack(s, A, B, scratch, stream);
  const bool is_distance = s.measure == Measure::distance;
  if (is_distance) measure_points(s, B, scratch, stream);
  const auto listed = static_cast<int>(is_distance ? s.k + SPARE : s.k);
  const auto parts = static_cast<int>(packed.parts());
  Key* const lists = scratch.keys;
  CUDA_CHECK(cudaMemsetAsync(lists, 0xff, s.M * parts * listed * sizeof(Key), stream));
  const size_t with_lists = sizeof(Shared) + BM * listed * sizeof(Key);
  const bool is_room = with_lists <= shared_bytes_allowed();
  const size_t shared_bytes = is_room ? with_lists : sizeof(Shared);
  // A block may have more than 48 KB of shared memory only if the kernel asks for it.
  CUDA_CHECK(cudaFuncSetAttribute(k_best_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shared_bytes)));
  k_best_kernel<<<packed.blocks, THREADS, shared_bytes, stream>>>(
      packed, is_distance ? scratch.norms : nullptr, is_distance ? -2.0f : 1.0f, lists, parts,
      listed, is_room, s.M, static_cast<int>(s.N));
  CUDA_CHECK_LAUNCH();
  finish(s, A, B, parts, listed, out, values, scratch, stream);
  if (is_distance) scan_doubtful(s, packed, A, B, out, values, scratch, stream);
}

}  // namespace tutorial::masked_bmm::nearest
