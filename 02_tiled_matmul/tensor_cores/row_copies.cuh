// Word of step 16: tiles from rows that may have gaps, which are not read.
#pragma once

#include "tensor_cores/bf16_tile.cuh"

namespace tutorial::tiled_matmul::tensor_cores {

/// As TileCopies, but X's rows (rows, cols) begin ld elements apart, and a row may end within a
/// copy, which then reads what the row has.
template <class Tile, int THREADS, int WIDTH, Depth DEPTH>
class RowCopies {
 public:
  static constexpr int ACROSS = Tile::COLS / WIDTH, APART = THREADS / ACROSS;  // threads, rows
  static_assert(THREADS % ACROSS == 0 && Tile::ROWS % APART == 0);

  /// The tiles begin in this row of A or Bᵀ, or in this column of B.
  __device__ RowCopies(const bf16* X, int64_t rows, int64_t cols, int64_t ld, int64_t first)
      : X_(X), rows_(rows), cols_(cols), ld_(ld), first_(first) {
    if constexpr (DEPTH == Depth::cols) {
      from_ = X + (first + row_) * ld + col_;
      beside_ = static_cast<int>(min(rows - first, int64_t{Tile::ROWS})) - row_;
    } else {
      from_ = X + row_ * ld + first + col_;
      beside_ = in_a_copy(static_cast<int>(min(cols - first, int64_t{Tile::COLS})));
    }
  }

  /// Begins to copy the tile from k0 on. Where X ends, zeros fill it.
  __device__ void begin(bf16* tile, int64_t k0) const {
    constexpr bool COLS = DEPTH == Depth::cols;
    if constexpr (WIDTH == 1) {
      load_tile<Tile, THREADS, 1>(tile, X_, rows_, cols_, COLS ? first_ : k0, COLS ? k0 : first_,
                                  ld_);
    } else {
      const int left = static_cast<int>(
          min((COLS ? cols_ : rows_) - k0, int64_t{COLS ? Tile::COLS : Tile::ROWS}));
      const int rows = COLS ? beside_ : left - row_, count = COLS ? in_a_copy(left) : beside_;
      const bf16* from = from_ + (COLS ? k0 : k0 * ld_);
#pragma unroll
      for (int i = 0; i < Tile::ROWS; i += APART, from += APART * ld_)
        copy_async_part<WIDTH>(tile + Tile::at(row_ + i % 8, col_) + i / 8 * 8 * Tile::COLS, from,
                               i < rows ? count : 0);
    }
  }

 private:
  /// How many elements a copy of this thread has where a row of the tile has so many.
  __device__ int in_a_copy(int cols) const {
    return max(0, min(cols - col_, WIDTH));
  }

  const bf16 *X_, *from_;  // from_: the first element that the thread brings of a tile at k0 = 0
  int64_t rows_, cols_, ld_, first_;
  int beside_;  // rows of A's tiles from the thread's first one on, or elements of a copy of B's
  const int row_ = threadIdx.x / ACROSS, col_ = threadIdx.x % ACROSS * WIDTH;  // in the tile
};

}  // namespace tutorial::tiled_matmul::tensor_cores
