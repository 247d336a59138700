// The tile of steps 2 to 4: where it lies, and which part of it a thread owns.
#pragma once

#include <cstdint>

#include "block_lists/block_lists.hpp"

namespace tutorial::masked_bmm::block_lists {

inline constexpr int BM = 64, BN = BLOCK;           // a tile of C is half of a 128×128 block
inline constexpr int TILES_PER_BLOCK = BLOCK / BM;  // one below the other
inline constexpr int BK = 32;                       // K comes in pieces of 32
inline constexpr int THREADS = 128, BLOCKS_PER_SM = 4;
inline constexpr int TM = PATCH;        // a thread's rows, one below the other
inline constexpr int HALF = PATCH / 2;  // its columns: 4, and 4 more …
inline constexpr int TN = 2 * HALF;
inline constexpr int HALVES_APART = 32;  // … so far to the right
static_assert(THREADS * TM * TN == BM * BN, "the threads' elements must fill the tile");

// A piece of A keeps A's rows, 32 elements long. After 8 rows come 4 floats of padding: the four
// threads of a warp that lie below each other read rows 8 apart, and so meet different banks.
inline constexpr int A_GROUP = 8 * BK + 4;                           // floats of 8 rows
inline constexpr int A_PIECE = BM / 8 * A_GROUP, B_PIECE = BK * BN;  // floats

inline constexpr int PIECES = 2;  // of K that shared memory holds, in steps 3 and 4
inline constexpr int SHARED_BYTES = PIECES * (A_PIECE + B_PIECE) * sizeof(float);
inline constexpr unsigned ALL_LANES = 0xffffffff;

/// Where row `row` of a piece of A begins.
__host__ __device__ constexpr int a_offset(int row) {
  return row / 8 * A_GROUP + row % 8 * BK;
}

/// One tile of one matrix, and where its operands begin. One thread works this out for all.
struct TileView {
  const float *A, *B;          // its first row of A, its first column of B
  float* C;                    // its first element
  int rows, cols;              // how many of C it has, at C's edges less than BM and BN
  Kept kept;                   // of its block
  int64_t mask, down, across;  // the mask, and the patch of it, where the tile begins
};

/// Tile `number`, 0 or 1, of the block in block row `block_row` and block column `block_col`.
__device__ inline TileView view_tile(const ListedBmm& p, int64_t matrix, int64_t block_row,
                                     int64_t block_col, int number, Kept kept, const float* A,
                                     const float* B, float* C) {
  const int64_t row = block_row * BLOCK + number * BM, col = block_col * BLOCK;
  return {.A = A + (matrix * p.M + row) * p.K,
          .B = B + matrix * p.K * p.N + col,
          .C = C + (matrix * p.M + row) * p.N + col,
          .rows = static_cast<int>(min(p.M - row, int64_t{BM})),
          .cols = static_cast<int>(min(p.N - col, int64_t{BN})),
          .kept = kept,
          .mask = p.mask_per_batch ? matrix : 0,
          .down = row / PATCH,
          .across = col / PATCH};
}

/// The first of the elements that a thread owns in a tile. A warp owns 32×64. Lanes l and l + 1 (l
/// even) share the columns, l and l + 2 the rows: so shared memory serves half a warp at a time.
struct ThreadCorner {
  int row, col;

  __device__ ThreadCorner() {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    row = warp / 2 * 32 + (lane / 16 * 2 + lane % 2) * TM;
    col = warp % 2 * 64 + lane / 2 % 8 * HALF;
  }
};

/// The tile of this block of threads. x goes through the list from tile `first` on, y through the
/// matrices; but where each matrix has a mask of its own, the list names the matrix, too.
__device__ inline TileView listed_tile(const ListedBmm& p, int64_t first, int64_t first_matrix,
                                       const float* A, const float* B, float* C) {
  const int64_t number = first + blockIdx.x;
  const ListedBlock block = p.block_list[number / TILES_PER_BLOCK];
  return view_tile(p, p.mask_per_batch ? block.mask : first_matrix + blockIdx.y, block.row,
                   block.col, number % TILES_PER_BLOCK, static_cast<Kept>(block.kept), A, B, C);
}

/// The word of patch (down, across) of a mask; 0 outside C.
__device__ inline uint64_t word_of_patch(const ListedBmm& p, int64_t mask, int64_t down,
                                         int64_t across) {
  const int64_t patches_down = ceil_div(p.M, PATCH), patches_across = ceil_div(p.N, PATCH);
  if (down >= patches_down || across >= patches_across) return 0;
  return p.mask_words[(mask * patches_down + down) * patches_across + across];
}

/// The word of what a thread owns, from those of the tile's 8×16 patches: half of the patch that
/// its first column lies in, and half of the patch that is HALVES_APART to the right.
__device__ inline uint64_t word_of_thread(const uint64_t* words) {
  constexpr uint64_t LEFT_HALVES = 0x0f0f0f0f0f0f0f0f;
  const ThreadCorner mine;
  const uint64_t* first = words + mine.row / PATCH * (BN / PATCH) + mine.col / PATCH;
  const int shift = mine.col % PATCH;  // 0 or 4: the left or the right half
  return (first[0] >> shift & LEFT_HALVES) | (first[HALVES_APART / PATCH] >> shift & LEFT_HALVES)
                                                 << HALF;
}

}  // namespace tutorial::masked_bmm::block_lists
