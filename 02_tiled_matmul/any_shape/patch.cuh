// Words of steps 3 and 4: what a thread does with its patch of C.
#pragma once

#include "common/kernel/vector4.cuh"
#include "faster/epilogue.cuh"

namespace tutorial::tiled_matmul::any_shape {

/// faster/spread_copies's: sum (TM, TN) += a (TM) times b (TN), to and fro, so that from one
/// product to the next a or b stays.
template <int TM, int TN>
__device__ void multiply_patch(float (&sum)[TM][TN], const float (&a)[TM], const float (&b)[TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const int turn = i % 2 == 0 ? j : TN - 1 - j;
      sum[i][turn] += a[i] * b[turn];
    }
  }
}

/// As store() of faster/warp_tile.cuh, where rows of C begin anywhere: through shared memory, so
/// that a warp writes 32 neighbours at once, and not eight groups of four, one float of each at a
/// time. row0 and col0 are the warp's first; nobody reads the 4 · STAGED_ROW floats a warp at
/// `staged` any more. For step 4.
template <class T>
constexpr int STAGED_ROW = T::WN + 16;  // floats: lanes of two rows write to different banks
template <class T>
__device__ void store_staged(float* C, int64_t M, int64_t N, int64_t row0, int64_t col0,
                             const float (&sum)[T::TM][T::TN], float alpha, float beta,
                             float* staged) {
  const int lane = threadIdx.x % 32;
  const int lane_m = lane / 16 * 2 + lane % 2, lane_n = lane / 2 % 8;
#pragma unroll
  for (int i = 0; i < T::TM; ++i) {  // four rows of C, 4 apart
    __syncwarp();
#pragma unroll
    for (int j = 0; j < T::TN; j += 4) {
      const float4 four = make_float4(alpha * sum[i][j], alpha * sum[i][j + 1],
                                      alpha * sum[i][j + 2], alpha * sum[i][j + 3]);
      store4(staged + lane_m * STAGED_ROW<T> + j * T::LANES_N + lane_n * 4, four);
    }
    __syncwarp();
#pragma unroll
    for (int x = lane; x < T::LANES_M * T::WN; x += 32) {
      const int64_t row = row0 + i / 4 * 4 * T::LANES_M + x / T::WN * 4 + i % 4;
      const int64_t col = col0 + x % T::WN;
      const float* value = staged + x / T::WN * STAGED_ROW<T> + x % T::WN;
      if (row < M && col < N) faster::store_scaled<1>(C + row * N + col, value, 1, beta);
    }
  }
}

}  // namespace tutorial::tiled_matmul::any_shape
