// Words of this part: tiles of bf16 in shared memory, how they lie there and how they get there.
//
// Shared memory has 32 banks of 4 bytes; it serves 16 bytes of 8 lanes at a time if these lie in
// different banks. ldmatrix reads a matrix of 8 × 8 as 8 rows of 16 bytes: a chunk of each of 8
// rows of the tile.
#pragma once

#include <type_traits>

#include "common/kernel/async_copy.cuh"
#include "common/kernel/grid.hpp"
#include "tensor_cores/bf16_rows.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

/// How a tile (ROWS, COLS) lies in shared memory: at(row, col) is the place of an element. Plain:
/// the 8 rows of a matrix begin in the same bank wherever a row is a multiple of 128 bytes.
template <int ROWS_, int COLS_>
struct Plain {
  static constexpr int ROWS = ROWS_, COLS = COLS_, ROW = COLS, SIZE = ROWS * COLS;
  __device__ static int at(int row, int col) { return row * COLS + col; }
};

/// Each row is a chunk longer than the tile: rows begin 4 banks apart, and 8 of them fill all 32.
template <int ROWS_, int COLS_>
struct Padded {
  static constexpr int ROWS = ROWS_, COLS = COLS_, ROW = COLS + CHUNK, SIZE = ROWS * ROW;
  __device__ static int at(int row, int col) { return row * ROW + col; }
};

/// Chunk c of row r lies where chunk c XOR (r mod 8) of a plain tile would lie. For one c the 8
/// rows of a matrix then have 8 different places in their 128 bytes, and all banks.
template <int ROWS_, int COLS_>
struct Swizzled {
  static constexpr int ROWS = ROWS_, COLS = COLS_, SIZE = ROWS * COLS;
  static_assert(COLS % (8 * CHUNK) == 0, "eight chunks change places among themselves");
  __device__ static int at(int row, int col) {
    const unsigned in_row = col;  // unsigned: a quotient is a shift, and a remainder a mask
    const unsigned chunk = in_row / CHUNK ^ static_cast<unsigned>(row) % 8;
    return row * COLS + static_cast<int>(chunk * CHUNK + in_row % CHUNK);
  }
};

/// What moves COUNT elements at once.
template <int COUNT>
using Word = std::conditional_t<COUNT == CHUNK, uint4, uint16_t>;

/// The block's threads bring the tile of X (rows, cols) whose first element is X[row0][col0],
/// WIDTH elements at a time: CHUNK where X's rows are aligned, else 1. Where X ends, zeros fill the
/// tile. X's rows begin ld elements apart.
template <class Tile, int THREADS, int WIDTH>
__device__ void load_tile(bf16* tile, const bf16* X, int64_t rows, int64_t cols, int64_t row0,
                          int64_t col0, int64_t ld) {
  constexpr int ACROSS = Tile::COLS / WIDTH, APART = THREADS / ACROSS;  // threads, rows
  constexpr int COUNT = Tile::ROWS / APART, BATCH = COUNT < 8 ? COUNT : 8;
  static_assert(THREADS % ACROSS == 0 && Tile::ROWS % APART == 0 && COUNT % BATCH == 0);
  const int row = threadIdx.x / ACROSS, col = threadIdx.x % ACROSS * WIDTH;
  const bf16* from = X + (row0 + row) * ld + col0 + col;
#pragma unroll 1
  for (int first = 0; first < COUNT; first += BATCH) {
    // All loads before the first store: so they are under way at once.
    Word<WIDTH> words[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; ++i, from += APART * ld) {
      const bool inside = row0 + row + (first + i) * APART < rows && col0 + col < cols;
      words[i] = inside ? *reinterpret_cast<const Word<WIDTH>*>(from) : Word<WIDTH>{};
    }
#pragma unroll
    for (int i = 0; i < BATCH; ++i)
      *reinterpret_cast<Word<WIDTH>*>(tile + Tile::at(row + (first + i) * APART, col)) = words[i];
  }
}

template <class Tile, int THREADS, int WIDTH>
__device__ void load_tile(bf16* tile, const bf16* X, int64_t rows, int64_t cols, int64_t row0,
                          int64_t col0) {
  load_tile<Tile, THREADS, WIDTH>(tile, X, rows, cols, row0, col0, cols);
}

/// The side of a tile that K runs along.
enum class Depth { cols, rows };

/// From step 4 on: a thread's share of tile after tile of X (rows, cols), by copies that go on
/// while it does other work, if WIDTH allows them. What is the same for all tiles is computed once.
template <class Tile, int THREADS, int WIDTH, Depth DEPTH>
class TileCopies {
 public:
  static constexpr int ACROSS = Tile::COLS / WIDTH, APART = THREADS / ACROSS;  // threads, rows
  static_assert(THREADS % ACROSS == 0 && Tile::ROWS % APART == 0);

  /// The tiles begin in this row of A, or in this column of B.
  __device__ TileCopies(const bf16* X, int64_t rows, int64_t cols, int64_t first)
      : X_(X), rows_(rows), cols_(cols), first_(first) {
    if constexpr (DEPTH == Depth::cols) {
      from_ = X + (first + row_) * cols + col_;
      beside_ = static_cast<int>(min(rows - first, int64_t{Tile::ROWS}));
    } else {
      from_ = X + row_ * cols + first + col_;
      beside_ = static_cast<int>(min(cols - first, int64_t{Tile::COLS}));
    }
  }

  /// Begins to copy the tile from k0 on. Where X ends, zeros fill it.
  __device__ void begin(bf16* tile, int64_t k0) const {
    constexpr bool COLS = DEPTH == Depth::cols;
    if constexpr (WIDTH == 1) {
      load_tile<Tile, THREADS, 1>(tile, X_, rows_, cols_, COLS ? first_ : k0, COLS ? k0 : first_);
    } else {
      const int64_t left =
          min((COLS ? cols_ : rows_) - k0, int64_t{COLS ? Tile::COLS : Tile::ROWS});
      const int rows = COLS ? beside_ : static_cast<int>(left);
      const int cols = COLS ? static_cast<int>(left) : beside_;
      const bf16* from = from_ + (COLS ? k0 : k0 * cols_);
#pragma unroll
      for (int i = 0; i < Tile::ROWS; i += APART, from += APART * cols_)
        // 8 rows further chunks change places in the same way: what is constant stays outside of
        // at().
        copy_async<WIDTH>(tile + Tile::at(row_ + i % 8, col_) + i / 8 * 8 * Tile::COLS, from,
                          row_ + i < rows && col_ < cols);
    }
  }

 private:
  const bf16 *X_, *from_;  // from_: the first element that the thread brings of a tile at k0 = 0
  int64_t rows_, cols_, first_;
  int beside_;  // how many rows of A's tiles, or columns of B's, X has
  const int row_ = threadIdx.x / ACROSS, col_ = threadIdx.x % ACROSS * WIDTH;  // in the tile
};

/// Stages of SIZE elements each, used in turn: one is in use, the others are on their way. The
/// first of several that fits is taken (common/kernel/shared_memory.hpp).
template <int STAGES_, int SIZE>
struct Stages {
  static constexpr int STAGES = STAGES_, BYTES = STAGES * SIZE * sizeof(bf16);
};

/// Of a ring of stages: the one that is used after this one, and the one that was used before it.
template <int STAGES>
__device__ int stage_after(int stage) {
  return stage == STAGES - 1 ? 0 : stage + 1;
}
template <int STAGES>
__device__ int stage_before(int stage) {
  return stage == 0 ? STAGES - 1 : stage - 1;
}

/// C[row][col] = sum, if C (M, N) has it.
template <class Out>
__device__ void store(Out* C, int64_t M, int64_t N, int64_t row, int64_t col, float sum) {
  if (row < M && col < N) C[row * N + col] = static_cast<Out>(sum);
}

/// The sums of a warp's tile of C whose first element is C[row0][col0], straight from the
/// registers: sum[i][j] is the lane's share of the 16 × 8 elements 16·i further down and 8·j
/// further right.
template <class Out, int DOWN, int ACROSS>
__device__ void store_sums(Out* C, int64_t M, int64_t N, int64_t row0, int64_t col0,
                           const float (&sum)[DOWN][ACROSS][4]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < DOWN; ++i) {
#pragma unroll
    for (int j = 0; j < ACROSS; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        store(C, M, N, row0 + 16 * i + lane / 4 + e / 2 * 8, col0 + 8 * j + lane % 4 * 2 + e % 2,
              sum[i][j][e]);
    }
  }
}

}  // namespace tutorial::tiled_matmul::tensor_cores
