// Words of this part: how rows lie in shared memory, and how they get there through registers. The
// softmax, the mask and a lane's rows of O are part tensor_cores' (softmax.cuh, words.cuh).
#pragma once

#include "common/kernel/mma.cuh"
#include "fp16/fp16.hpp"
#include "tensor_cores/softmax.cuh"
#include "tensor_cores/words.cuh"

namespace tutorial::flash_attention::fp16 {

using tensor_cores::BlockOf, tensor_cores::CHUNK, tensor_cores::Rows16;
using tensor_cores::hide_masked, tensor_cores::softmax, tensor_cores::store_rows;

/// Rows of D numbers, one after the other, each with its chunks of 16 bytes in an order of its own:
/// so a chunk of each of eight rows lies in different banks.
template <int HEAD_SIZE>
struct Swizzled {
  static constexpr int D = HEAD_SIZE;
  static_assert(D % 64 == 0, "eight chunks change places among themselves");
  static __device__ int place(int row, int chunk) { return row * D + (chunk ^ row % 8) * CHUNK; }
};

/// A thread's share of ROWS rows of HS numbers on its way from global into shared memory: between
/// read() and store() it is in registers.
template <class Tile, int ROWS, int THREADS>
class RowsInRegisters {
 public:
  /// Rows that are not there, and columns from HS on, become zeros: a masked key still meets its
  /// value as 0 · v. Unless they are ALIGNED, a multiple of 16 bytes, the numbers come one by one.
  template <bool ALIGNED>
  __device__ void read(const __half* from, int64_t rows_there, int HS) {
    const int there = static_cast<int>(rows_there < ROWS ? rows_there : ROWS);
#pragma unroll
    for (int x = 0; x < COUNT; ++x) {
      const int row = row_of(x), column = chunk_of(x) * CHUNK;
      chunks_[x] = uint4{};
      if (row >= there || column >= HS) continue;
      const __half* const first = from + row * HS + column;
      if constexpr (ALIGNED) {
        chunks_[x] = *reinterpret_cast<const uint4*>(first);
      } else {
        const auto pair = [&](int i) {
          return uint32_t{__half_as_ushort(first[i + 1])} << 16 | __half_as_ushort(first[i]);
        };
        chunks_[x] = make_uint4(pair(0), pair(2), pair(4), pair(6));
      }
    }
  }

  __device__ void store(__half* tile) const {
#pragma unroll
    for (int x = 0; x < COUNT; ++x)
      *reinterpret_cast<uint4*>(&tile[Tile::place(row_of(x), chunk_of(x))]) = chunks_[x];
  }

 private:
  static constexpr int CHUNKS = Tile::D / CHUNK, COUNT = ROWS * CHUNKS / THREADS;
  static_assert(ROWS * CHUNKS % THREADS == 0 && THREADS % CHUNKS == 0);
  static __device__ int row_of(int x) {
    return threadIdx.x / CHUNKS + x * (THREADS / CHUNKS);
  }
  static __device__ int chunk_of(int) {
    return threadIdx.x % CHUNKS;
  }

  uint4 chunks_[COUNT];
};

}  // namespace tutorial::flash_attention::fp16
