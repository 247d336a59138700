// Words of this part: eight neighbours of B, zeros below A, a block's sums in shared memory, and
// their way to C.
#pragma once

#include "common/kernel/cluster.cuh"
#include "common/kernel/mma.cuh"
#include "common/kernel/vector4.cuh"
#include "few_rows/few_rows.hpp"

namespace tutorial::tiled_matmul::few_rows {

/// The eight numbers at `from`, a multiple of 16 bytes, as floats. A bf16 is a float's upper half.
__device__ inline void load8(float (&to)[8], const bf16* from) {
  const uint4 eight = *reinterpret_cast<const uint4*>(from);
  const uint32_t pairs[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[2 * i] = __uint_as_float(pairs[i] << 16);
    to[2 * i + 1] = __uint_as_float(pairs[i] & 0xffff0000u);
  }
}

/// Zeros in the rows of a tile (ROWS, BK) from `rows` on, which no copy writes. TMA would fill
/// them, too, but is slower at boxes that reach over the end of a matrix.
template <int ROWS, int BK>
__device__ void zero_rows(bf16* tile, int rows) {
  constexpr int CHUNK = 8;  // elements in 16 bytes; a swizzled row keeps to its 128 bytes
  for (int i = rows * BK / CHUNK + threadIdx.x; i < ROWS * BK / CHUNK; i += blockDim.x)
    reinterpret_cast<uint4*>(tile)[i] = uint4{};
}

/// Four neighbours of C, which begin at a multiple of four elements.
__device__ inline void store_four(float* to, float4 four) {
  store4(to, four);
}
__device__ inline void store_four(bf16* to, float4 four) {
  *reinterpret_cast<uint2*>(to) =
      make_uint2(pack<bf16>(four.x, four.y), pack<bf16>(four.z, four.w));
}

/// A block's sums (ROWS, COLS). Rows begin four banks apart: the eight rows of a fragment's lanes,
/// two by two, and the eight columns of it then lie in 32 banks.
template <int ROWS_, int COLS_>
struct Sums {
  static constexpr int ROWS = ROWS_, COLS = COLS_;
  float at[ROWS][COLS + 4];

  /// A fragment of 16 columns and 8 rows, transposed as it comes: mma.cuh says which is whose.
  __device__ void put(int row, int col, const float* fragment) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int e = 0; e < 4; ++e)
      at[row + lane % 4 * 2 + e % 2][col + lane / 4 + e / 2 * 8] = fragment[e];
  }
};

/// The block's sums into C (M, N), or into a part, from C[row0][col0] on. N is a multiple of 8, so
/// four neighbours are in C or outside.
template <class S, class Out>
__device__ void store_sums(const S& sums, Out* C, int64_t M, int64_t N, int64_t row0,
                           int64_t col0) {
  for (int i = threadIdx.x; i < S::ROWS * S::COLS / 4; i += blockDim.x) {
    const int row = i / (S::COLS / 4), col = i % (S::COLS / 4) * 4;
    if (row0 + row < M && col0 + col < N)
      store_four(C + (row0 + row) * N + col0 + col, load4(&sums.at[row][col]));
  }
}

/// From step 4 on: C = the sums of block 0 of the cluster + those of block 1 + …, always in this
/// order. Each block adds up its share. Rows before `first` are another cluster's (step 6).
template <class S, class Out>
__device__ void store_sums_of_cluster(S& sums, Out* C, int64_t M, int64_t N, int64_t row0,
                                      int64_t col0, int64_t first = 0) {
  cluster_sync();  // all blocks have put theirs
  const int blocks = cluster_size(), threads = static_cast<int>(blockDim.x);
  for (int i = cluster_rank() * threads + static_cast<int>(threadIdx.x); i < S::ROWS * S::COLS / 4;
       i += blocks * threads) {
    const int row = i / (S::COLS / 4), col = i % (S::COLS / 4) * 4;
    if (row0 + row < first || row0 + row >= M || col0 + col >= N) continue;
    float4 sum = {};
    for (int block = 0; block < blocks; ++block) {
      const float4 part = load4(&in_block(&sums, block)->at[row][col]);
      sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
    }
    store_four(C + (row0 + row) * N + col0 + col, sum);
  }
  cluster_sync();  // nobody leaves while another reads its sums
}

}  // namespace tutorial::tiled_matmul::few_rows
