// Words of the steps from 7 on: both products of a warp with TALL tiles of 16 rows, as step 6 has
// them. `Tile` is that of words.cuh.
#pragma once

#include <cstdint>

#include "tensor_cores/words.cuh"

namespace tutorial::flash_attention::tensor_cores {

/// S (16·TALL, 8·N) = Q (16·TALL, D) · Kᵀ.
template <class Tile, int TALL, int N>
__device__ void multiply_keys(float (&S)[TALL][N][4], const bf16* Q, const bf16* K) {
  const int lane = threadIdx.x % WARP;
#pragma unroll
  for (int d = 0; d < Tile::D / 16; ++d) {
    const bf16* const from_Q = &Q[Tile::place(lane % 16, 2 * d + lane / 16)];
    const bf16* const from_K = &K[Tile::place(lane / 16 * 8 + lane % 8, 2 * d + lane / 8 % 2)];
    uint32_t a[TALL][4], b[4];
#pragma unroll
    for (int m = 0; m < TALL; ++m) ldmatrix(a[m], from_Q + m * 16 * Tile::D);
#pragma unroll
    for (int n = 0; n < N; n += 2) {
      ldmatrix(b, from_K + n * 8 * Tile::D);
#pragma unroll
      for (int m = 0; m < TALL; ++m) {
        mma_m16n8k16<bf16>(S[m][n], a[m], b[0], b[1]);
        mma_m16n8k16<bf16>(S[m][n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

/// O (16·TALL, D) += P (16·TALL, 8·N) · V.
template <class Tile, int TALL, int N>
__device__ void multiply_values(Rows16<Tile::D> (&rows)[TALL], const float (&P)[TALL][N][4],
                                const bf16* V) {
  const int lane = threadIdx.x % WARP;
#pragma unroll
  for (int n = 0; n < N; n += 2) {
    uint32_t a[TALL][4], b[4];
#pragma unroll
    for (int m = 0; m < TALL; ++m)
#pragma unroll
      for (int x = 0; x < 4; ++x)
        a[m][x] = pack<bf16>(P[m][n + x / 2][x % 2 * 2], P[m][n + x / 2][x % 2 * 2 + 1]);
#pragma unroll
    for (int d = 0; d < Tile::D / 8; d += 2) {
      ldmatrix_trans(b, &V[Tile::place(lane % 16, d + lane / 16)] + n * 8 * Tile::D);
#pragma unroll
      for (int m = 0; m < TALL; ++m) {
        mma_m16n8k16<bf16>(rows[m].O[d], a[m], b[0], b[1]);
        mma_m16n8k16<bf16>(rows[m].O[d + 1], a[m], b[2], b[3]);
      }
    }
  }
}

}  // namespace tutorial::flash_attention::tensor_cores
