// Words of steps 3 to 5, where a tile has few rows of Q, and each warp goes through keys of its
// own.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "06_flash_attention.hpp"
#include "common/kernel/async_copy.cuh"
#include "common/kernel/reduce.cuh"
#include "common/kernel/shared_memory.hpp"
#include "common/kernel/vector4.cuh"
#include "faster/thread_rows.cuh"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::any_shape {

using namespace faster;  // the words of thread_rows.cuh

inline constexpr int KEYS = 16;  // of a tile

/// Which lane has what of a warp's tile: RT rows, D their head size, padded. For S a lane has N × 4
/// elements, and of the columns of Q and K every DG-th four; for O it has N × 4·QUADS. A block has
/// WARPS of them, and Q.
template <int HEAD_SIZE, int TILE_ROWS, int OF_A_BLOCK>
struct WarpTile {
  static constexpr int D = HEAD_SIZE, RT = TILE_ROWS, WARPS = OF_A_BLOCK, THREADS = WARPS * WARP;
  static constexpr int N = RT < ROWS ? RT : ROWS, RG = RT / N;     // rows of a lane; groups of rows
  static constexpr int COLS = 4, KG = KEYS / COLS;                 // keys of a lane; groups of keys
  static constexpr int LANES = WARP / RG, DG = LANES / KG;         // lanes that share rows
  static constexpr int QUADS = D / 4 > LANES ? D / 4 / LANES : 1;  // of O's columns
  static constexpr int LOWEST = RG > 1 ? 2 : 1;                    // neighbours have other rows
  static constexpr int STRIDE = D + 8;  // 4 keys and 2 lanes of DG read 8 different 16 bytes
  static constexpr int64_t BYTES =
      int64_t{sizeof(float)} * (RT * STRIDE + WARPS * KEYS * (2 * STRIDE + RT));
  static __device__ int lane() { return threadIdx.x % WARP; }
  static __device__ int group() { return lane() / LOWEST % LANES; }
  static __device__ int first_row() {
    return RG == 1 ? 0 : N * (lane() % 2 + lane() / (2 * LANES) * 2);
  }
  static __device__ int key(int c) { return group() % KG + KG * c; }
  static __device__ int part() { return group() / KG; }
  static __device__ int column(int n) { return 4 * (group() + LANES * n); }
  static __device__ float row_max(float x) { return flash_attention::row_max<KG, LOWEST>(x); }
  static __device__ float row_sum(float x) { return flash_attention::row_sum<KG, LOWEST>(x); }
  static __device__ float sum_of_parts(float x) {
    return flash_attention::row_sum<DG, LOWEST * KG>(x);
  }
};

/// Begins to copy a warp's next KEYS rows of K or V, of which `rows` exist; then come zeros.
template <int D>
__device__ void fetch_keys(float* tile, const float* from, int rows, int HS, bool aligned) {
  constexpr int ACROSS = D / 4 < WARP ? D / 4 : WARP, DOWN = WARP / ACROSS, STRIDE = D + 8;
  const int r0 = threadIdx.x % WARP / ACROSS;
#pragma unroll
  for (int col = threadIdx.x % ACROSS * 4; col < D; col += 4 * ACROSS) {
    if (col >= HS) break;
    if (aligned) {
#pragma unroll 4
      for (int r = r0; r < KEYS; r += DOWN)
        copy_async<4>(&tile[r * STRIDE + col], from + r * HS + col, r < rows);
    } else {
#pragma unroll 1
      for (int r = r0; r < KEYS; r += DOWN)
        for (int d = col; d < col + 4; ++d)
          copy_async<1>(&tile[r * STRIDE + d], from + r * HS + d, r < rows && d < HS);
    }
  }
}

/// Begins to copy Q. Its columns are swapped in pairs, so that q and k of a product lie in
/// different banks of registers.
template <class Tile>
__device__ void fetch_queries(float* Q, const float* q, int rows, int HS) {
#pragma unroll 4
  for (int i = threadIdx.x; i < Tile::RT * Tile::D; i += Tile::THREADS) {
    const int r = i / Tile::D, d = i % Tile::D;
    copy_async<1>(&Q[r * Tile::STRIDE + (d ^ 1)], q + r * HS + d, r < rows && d < HS);
  }
}

/// S = Q·Kᵀ, (RT, HS) by (HS, KEYS). By turns k and q are what is read anew, both from registers of
/// one bank; S can be in the other.
template <class Tile>
__device__ void multiply_keys(float (&S)[Tile::N][Tile::COLS], const float* Q, const float* K,
                              int HS) {
  Q += Tile::first_row() * Tile::STRIDE;
  K += Tile::key(0) * Tile::STRIDE;
#pragma unroll 2
  for (int x = 4 * Tile::part(); x < HS; x += 4 * Tile::DG) {
    float q[Tile::N][4], k[Tile::COLS][4];
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c) load4(k[c], &K[Tile::KG * c * Tile::STRIDE + x]);
#pragma unroll
    for (int r = 0; r < Tile::N; ++r) load4(q[r], &Q[r * Tile::STRIDE + x]);
#pragma unroll
    for (int e = 0; e < 4; e += 2) {
#pragma unroll
      for (int r = 0; r < Tile::N; ++r)
#pragma unroll
        for (int c = 0; c < Tile::COLS; ++c) S[r][c] += q[r][e + 1] * k[c][e];
#pragma unroll
      for (int c = 0; c < Tile::COLS; ++c)
#pragma unroll
        for (int r = 0; r < Tile::N; ++r) S[r][c] += q[r][e] * k[c][e + 1];
    }
  }
#pragma unroll
  for (int r = 0; r < Tile::N; ++r)
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c) S[r][c] = Tile::sum_of_parts(S[r][c]);
}

/// S[r][c] = −∞ where a row's query may not look at the key. Row r has query r % Tq: where the tile
/// has rows of several heads, these lie one after another.
template <class Tile>
__device__ void hide_masked_keys(float (&S)[Tile::N][Tile::COLS], const Attention& shape,
                                 int64_t row, int64_t key) {
#pragma unroll
  for (int r = 0; r < Tile::N; ++r) {
    const int64_t query = (row + Tile::first_row() + r) % shape.Tq;
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c)
      if (key + Tile::key(c) >= shape.visible_keys(query)) S[r][c] = -INFINITY;
  }
}

/// The online softmax; the weights go to P_t, (KEYS, RT). The DG lanes of an element all have its
/// weight, and one of them stores it.
template <class Tile, class Rows>
__device__ void online_softmax(const float (&S)[Tile::N][Tile::COLS], Rows& rows, float* P_t,
                               float scale) {
  float minus_m[Tile::N];
#pragma unroll
  for (int r = 0; r < Tile::N; ++r) minus_m[r] = raise_maximum<Tile>(rows, r, S[r], scale);
#pragma unroll
  for (int c = 0; c < Tile::COLS; ++c) {
    float p[Tile::N];
#pragma unroll
    for (int r = 0; r < Tile::N; ++r) {
      p[r] = exp2f(scale * S[r][c] + minus_m[r]);
      rows.l[r] += p[r];
    }
    if (c % Tile::DG != Tile::part()) continue;
#pragma unroll
    for (int r = 0; r < Tile::N; r += 4)
      store4(&P_t[Tile::key(c) * Tile::RT + Tile::first_row() + r], &p[r]);
  }
}

/// O = O + P·V, (RT, KEYS) by (KEYS, HS). Columns past the last are not stored: they are sums of
/// column 0.
template <class Tile, class Rows>
__device__ void add_values(Rows& rows, const float* P_t, const float* V, int HS) {
  constexpr int COLUMNS = 4 * Tile::QUADS;
#pragma unroll 4
  for (int key = 0; key < KEYS; ++key) {
    float p[Tile::N], v[COLUMNS];
#pragma unroll
    for (int r = 0; r < Tile::N; r += 4) load4(&p[r], &P_t[key * Tile::RT + Tile::first_row() + r]);
#pragma unroll
    for (int n = 0; n < Tile::QUADS; ++n)
      load4(&v[4 * n], &V[key * Tile::STRIDE + (Tile::column(n) < HS ? Tile::column(n) : 0)]);
#pragma unroll
    for (int r = 0; r < Tile::N; ++r)
#pragma unroll
      for (int n = 0; n < COLUMNS; ++n) {
        const int d = r % 2 == 0 ? n : COLUMNS - 1 - n;  // to and fro, as in faster/read_ahead
        rows.O[r][d] += p[r] * v[d];
      }
  }
}

/// Calls launch with as many warps a block as the device has shared memory for, each with the same
/// tile of its own.
template <int D, int RT, class Launch>
void with_most_warps(const Launch& launch) {
  constexpr int MOST = D == 128 && RT == 8 ? 8 : 4, FEWEST = 256 / D;
  static_assert(WarpTile<D, RT, FEWEST>::BYTES <= 64 * 1024, "that every device has");
  with_first_that_fits<WarpTile<D, RT, MOST>, WarpTile<D, RT, std::max(MOST / 2, FEWEST)>,
                       WarpTile<D, RT, FEWEST>>(shared_memory_limit(), launch);
}

/// Calls launch with the tile for a head size and a number of rows; refuses larger ones.
template <class Launch>
void with_few_rows(int64_t HS, int64_t rows, const char* step, const Launch& launch) {
  const auto with_rows = [&]<int D>() {
    if (rows == 4) return with_most_warps<D, 4>(launch);
    if (rows == 8) return with_most_warps<D, 8>(launch);
    if (rows == 16) return with_most_warps<D, 16>(launch);
    if constexpr (D <= 128) with_most_warps<D, 32>(launch);
  };
  require_head_size(HS, step, 256);
  if (HS <= 64) return with_rows.template operator()<64>();
  if (HS <= 128) return with_rows.template operator()<128>();
  with_rows.template operator()<256>();
}

}  // namespace tutorial::flash_attention::any_shape
