// Words of this part: how a tile of A lies in shared memory, and how tiles get there through
// registers. The rest is in tensor_cores/bf16_tile.cuh.
#pragma once

#include "fp16/fp16.hpp"
#include "tensor_cores/bf16_tile.cuh"

namespace tutorial::tiled_matmul::fp16 {

using tensor_cores::CHUNK, tensor_cores::rows_are_aligned;
using tensor_cores::Plain, tensor_cores::Swizzled;
using tensor_cores::store, tensor_cores::store_sums;

/// As Swizzled, for rows of 32 elements, which are half of all 32 banks: rows 2i and 2i + 1 lie
/// side by side, and the four chunks of each change places by i. So a chunk of each of 8 rows lies
/// in 8 different places of 128 bytes.
template <int ROWS_>
struct Swizzled32 {
  static constexpr int ROWS = ROWS_, COLS = 32, SIZE = ROWS * COLS;
  __device__ static int at(int row, int col) {
    const unsigned in_row = col;  // unsigned: a quotient is a shift, and a remainder a mask
    const unsigned chunk = in_row / CHUNK ^ static_cast<unsigned>(row) / 2 % 4;
    return row * COLS + static_cast<int>(chunk * CHUNK + in_row % CHUNK);
  }
};

/// A thread's share of a tile on its way from global memory into shared memory: between read() and
/// store() it is in registers. ALIGNED: rows begin at multiples of 16 bytes, so a chunk is one
/// access; else it is one for each element.
template <class Tile, int THREADS, bool ALIGNED>
class TileInRegisters {
 public:
  static constexpr int ACROSS = Tile::COLS / CHUNK, APART = THREADS / ACROSS;  // threads, rows
  static_assert(THREADS % ACROSS == 0 && Tile::ROWS % APART == 0);

  /// Of X (rows, cols) the tile whose first element is X[row0][col0]. Where X ends, zeros fill it.
  __device__ void read(const __half* X, int64_t rows, int64_t cols, int64_t row0, int64_t col0) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const int64_t row = row0 + row_ + i * APART, col = col0 + col_;
      chunks_[i] = uint4{};
      if (row >= rows || col >= cols) continue;
      const __half* const from = X + row * cols + col;
      if constexpr (ALIGNED)
        chunks_[i] = *reinterpret_cast<const uint4*>(from);
      else
        chunks_[i] = chunk_of(from, cols - col);
    }
  }

  /// … goes into shared memory.
  __device__ void store(__half* tile) const {
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
      *reinterpret_cast<uint4*>(tile + Tile::at(row_ + i * APART, col_)) = chunks_[i];
  }

 private:
  static constexpr int COUNT = Tile::ROWS / APART;

  /// The elements of a chunk one by one, and zeros in place of those that do not exist.
  __device__ static uint4 chunk_of(const __half* from, int64_t exist) {
    const auto pair = [&](int i) {
      const uint32_t low = i < exist ? __half_as_ushort(from[i]) : 0;
      const uint32_t high = i + 1 < exist ? __half_as_ushort(from[i + 1]) : 0;
      return high << 16 | low;
    };
    return make_uint4(pair(0), pair(2), pair(4), pair(6));
  }

  uint4 chunks_[COUNT];
  const int row_ = threadIdx.x / ACROSS, col_ = threadIdx.x % ACROSS * CHUNK;  // in the tile
};

}  // namespace tutorial::tiled_matmul::fp16
