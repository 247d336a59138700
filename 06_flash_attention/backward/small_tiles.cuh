// Tiles of 32×32, as steps 1 and 2 have them: 16×16 threads with 2×2 elements each; or of 16×16,
// where a thread has one (E×E elements).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tutorial::flash_attention::backward {

inline constexpr int SIDE = 16, THREADS = SIDE * SIDE;
inline constexpr int SIZE = 2 * SIDE;  // rows and columns of a tile

/// Copies the tile of a (rows, cols) matrix that begins at (row0, col0) to shared memory, where its
/// rows take SIZE + 1 floats; zeros where it lies past the matrix's edges.
__device__ inline void load_square(float* tile, const float* matrix, int64_t row0, int64_t col0,
                                   int64_t rows, int64_t cols) {
  for (int e = threadIdx.x; e < SIZE * SIZE; e += THREADS) {
    const int64_t row = row0 + e / SIZE, col = col0 + e % SIZE;
    const bool inside = row < rows && col < cols;
    tile[e / SIZE * (SIZE + 1) + e % SIZE] = inside ? matrix[row * cols + col] : 0.0f;
  }
}

/// sums += left·rightᵀ: rows of `left` by rows of `right`, `length` floats of each, `stride` apart.
/// This thread has rows ty and ty + SIDE of `left`, tx and tx + SIDE of `right`.
template <int E>
__device__ void add_dots(float (&sums)[E][E], const float* left, const float* right, int length,
                         int stride) {
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  for (int x = 0; x < length; ++x)
#pragma unroll
    for (int i = 0; i < E; ++i)
#pragma unroll
      for (int j = 0; j < E; ++j)
        sums[i][j] += left[(ty + SIDE * i) * stride + x] * right[(tx + SIDE * j) * stride + x];
}

/// sums += left·right: the tile's columns of `left` by as many rows of `right`, of which this
/// thread has the columns tx, tx + SIDE, ….
template <int E, int N>
__device__ void add_rows(float (&sums)[E][N], const float* left, const float* right, int stride) {
  constexpr int SIZE = E * SIDE;
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  for (int x = 0; x < SIZE; ++x)
#pragma unroll
    for (int i = 0; i < E; ++i)
#pragma unroll
      for (int j = 0; j < N; ++j)
        sums[i][j] += left[(ty + SIDE * i) * (SIZE + 1) + x] * right[x * stride + tx + SIDE * j];
}

}  // namespace tutorial::flash_attention::backward
