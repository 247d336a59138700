// Words of steps 10 to 16: finished sums on their way through shared memory.
#pragma once

#include "common/kernel/mma.cuh"
#include "tensor_cores/bf16_tile.cuh"

namespace tutorial::tiled_matmul::tensor_cores {

/// Two neighbours in one access.
__device__ inline void store_pair(float* to, float first, float second) {
  *reinterpret_cast<float2*>(to) = make_float2(first, second);
}
__device__ inline void store_pair(bf16* to, float first, float second) {
  *reinterpret_cast<uint32_t*>(to) = pack<bf16>(first, second);
}

/// Elements of shared memory that a warp needs for ACROSS·8 columns of C. In a row that is 8
/// elements longer than needed the lanes of 8 rows write to different banks. They also read without
/// conflicts, but for 32 columns of bf16: there two rows are read together that share 4 banks.
template <int ACROSS>
inline constexpr int STAGED_ROW = 8 * ACROSS + 8;
template <int ACROSS>
inline constexpr int STAGED = 16 * STAGED_ROW<ACROSS>;

/// As store_sums(), but 16 rows at a time go through `staged`, which nobody else reads or writes.
/// On the way out a lane has 16 bytes of C, and where rows of C begin or end anywhere, `aligned` is
/// false, its lanes have neighbours at least. Rows of C begin ldc elements apart.
template <class Out, int DOWN, int ACROSS>
__device__ void store_wide(Out* C, int64_t M, int64_t N, int64_t ldc, int64_t row0, int64_t col0,
                           const float (&sum)[DOWN][ACROSS][4], Out* staged, bool aligned) {
  constexpr int COLS = 8 * ACROSS, ROW = STAGED_ROW<ACROSS>, WIDTH = 16 / sizeof(Out);
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < DOWN; ++i, row0 += 16) {
    __syncwarp();  // nobody reads the 16 rows before any more
    Out* to = staged + lane / 4 * ROW + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < ACROSS; ++j) {
      store_pair(to + 8 * j, sum[i][j][0], sum[i][j][1]);
      store_pair(to + 8 * j + 8 * ROW, sum[i][j][2], sum[i][j][3]);
    }
    __syncwarp();
    if (aligned) {
#pragma unroll
      for (int x = lane; x < 16 * COLS / WIDTH; x += 32) {
        const int row = x / (COLS / WIDTH), col = x % (COLS / WIDTH) * WIDTH;
        if (row0 + row < M && col0 + col < N)
          *reinterpret_cast<uint4*>(C + (row0 + row) * ldc + col0 + col) =
              *reinterpret_cast<const uint4*>(staged + row * ROW + col);
      }
    } else {
      for (int x = lane; x < 16 * COLS; x += 32) {
        const int row = x / COLS, col = x % COLS;
        if (row0 + row < M && col0 + col < N)
          C[(row0 + row) * ldc + col0 + col] = staged[row * ROW + col];
      }
    }
  }
}
template <class Out, int DOWN, int ACROSS>
__device__ void store_wide(Out* C, int64_t M, int64_t N, int64_t row0, int64_t col0,
                           const float (&sum)[DOWN][ACROSS][4], Out* staged, bool aligned) {
  store_wide(C, M, N, N, row0, col0, sum, staged, aligned);
}

}  // namespace tutorial::tiled_matmul::tensor_cores
