// Words of this part: tiles of bf16 in shared memory, how they lie there and how they get there.
//
// Shared memory has 32 banks of 4 bytes; it serves 16 bytes of 8 lanes at a time if these lie in
// different banks. ldmatrix reads a matrix of 8 × 8 as 8 rows of 16 bytes: a chunk of each of 8
// rows of the tile.
#pragma once

#include <type_traits>

#include "common/kernel/async_copy.cuh"
#include "common/kernel/grid.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

inline constexpr int CHUNK = 8;  // elements of 16 bits in the 16 bytes that one access moves

/// How a tile (ROWS, COLS) lies in shared memory: at(row, col) is the place of an element. Plain:
/// the 8 rows of a matrix begin in the same bank wherever a row is a multiple of 128 bytes.
template <int ROWS_, int COLS_>
struct Plain {
  static constexpr int ROWS = ROWS_, COLS = COLS_, ROW = COLS, SIZE = ROWS * COLS;
  __device__ static unsigned at(unsigned row, unsigned col) { return row * COLS + col; }
};

/// Each row is a chunk longer than the tile: rows begin 4 banks apart, and 8 of them fill all 32.
template <int ROWS_, int COLS_>
struct Padded {
  static constexpr int ROWS = ROWS_, COLS = COLS_, ROW = COLS + CHUNK, SIZE = ROWS * ROW;
  __device__ static unsigned at(unsigned row, unsigned col) { return row * ROW + col; }
};

/// Chunk c of row r lies where chunk c XOR (r mod 8) of a plain tile would lie. For one c the 8
/// rows of a matrix then have 8 different places in their 128 bytes, and all banks.
template <int ROWS_, int COLS_>
struct Swizzled {
  static constexpr int ROWS = ROWS_, COLS = COLS_, SIZE = ROWS * COLS;
  static_assert(COLS % (8 * CHUNK) == 0, "eight chunks change places among themselves");
  __device__ static unsigned at(unsigned row, unsigned col) {
    return row * COLS + (col / CHUNK ^ row % 8) * CHUNK + col % CHUNK;
  }
};

/// What moves COUNT elements at once.
template <int COUNT>
using Word = std::conditional_t<COUNT == CHUNK, uint4, uint16_t>;

/// Whether each row of X begins at a multiple of 16 bytes. Then no 16 bytes of a row reach over its
/// end.
template <class T>
bool rows_are_aligned(const T* X, int64_t cols) {
  return reinterpret_cast<uintptr_t>(X) % 16 == 0 && cols * sizeof(T) % 16 == 0;
}

/// From step 9 on: the most elements of rows of X that one copy can bring, 8, 4, 2 or 1.
inline int copy_width(const bf16* X, int64_t cols) {
  for (int width : {8, 4, 2})
    if (reinterpret_cast<uintptr_t>(X) % (2 * width) == 0 && cols % width == 0) return width;
  return 1;
}

/// The block's threads bring the tile of X (rows, cols) whose first element is X[row0][col0],
/// WIDTH elements at a time: CHUNK where X's rows are aligned, else 1. Where X ends, zeros fill the
/// tile.
template <class Tile, int THREADS, int WIDTH>
__device__ void load_tile(bf16* tile, const bf16* X, int64_t rows, int64_t cols, int64_t row0,
                          int64_t col0) {
  constexpr int ACROSS = Tile::COLS / WIDTH, APART = THREADS / ACROSS;  // threads, rows
  constexpr int COUNT = Tile::ROWS / APART, BATCH = COUNT < 16 ? COUNT : 16;
  static_assert(THREADS % ACROSS == 0 && Tile::ROWS % APART == 0 && COUNT % BATCH == 0);
  const int row = threadIdx.x / ACROSS, col = threadIdx.x % ACROSS * WIDTH;
  const bf16* from = X + (row0 + row) * cols + col0 + col;
#pragma unroll 1
  for (int first = 0; first < COUNT; first += BATCH) {
    // All loads before the first store: so they are under way at once.
    Word<WIDTH> words[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; ++i, from += APART * cols) {
      const bool inside = row0 + row + (first + i) * APART < rows && col0 + col < cols;
      words[i] = inside ? *reinterpret_cast<const Word<WIDTH>*>(from) : Word<WIDTH>{};
    }
#pragma unroll
    for (int i = 0; i < BATCH; ++i)
      *reinterpret_cast<Word<WIDTH>*>(tile + Tile::at(row + (first + i) * APART, col)) = words[i];
  }
}

/// The same from step 4 on, by copies that go on while the thread does other work, if WIDTH allows
/// them.
template <class Tile, int THREADS, int WIDTH>
__device__ void copy_tile(bf16* tile, const bf16* X, int64_t rows, int64_t cols, int64_t row0,
                          int64_t col0) {
  if constexpr (WIDTH == 1) {
    load_tile<Tile, THREADS, 1>(tile, X, rows, cols, row0, col0);
  } else {
    constexpr int ACROSS = Tile::COLS / WIDTH, APART = THREADS / ACROSS;  // threads, rows
    static_assert(THREADS % ACROSS == 0 && Tile::ROWS % APART == 0);
    const int row = threadIdx.x / ACROSS, col = threadIdx.x % ACROSS * WIDTH;
    const bf16* from = X + (row0 + row) * cols + col0 + col;
    const bool col_inside = col0 + col < cols;
    const int rows_left = static_cast<int>(min(rows - row0, int64_t{Tile::ROWS}));
#pragma unroll
    for (int i = 0; i < Tile::ROWS; i += APART, from += APART * cols)
      copy_async<WIDTH>(tile + Tile::at(row + i, col), from, col_inside && row + i < rows_left);
  }
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
