// Words of the steps of this part: tiles of numbers of 8 bits, both products, the softmax. What is
// the same in 16 bits and in 8 is part hopper's (hopper/words.cuh).
//
// Scores lie in registers as there: lane 4·g + t of a warp has of every 8 keys 8·j … the keys
// 8j + 2t and 8j + 2t + 1, of rows g and g + 8. As A of the next product a lane holds four weights
// in a register, side by side along K, and has of 32 in a row g
//
//   P[0]: places 4t … 4t + 3      P[2]: places 16 + 4t … 16 + 4t + 3      (P[1], P[3]: row g + 8)
//
// Those are not its own keys. But a sum does not care for the order of what it adds up. So the keys
// of V have the order that P's registers have: place 16h + 4t + 2i + e of 32 is key
// 16h + 8i + 2t + e (key_of_place(), fp8.hpp).
//
//   key     0  1  8  9  2  3 10 11  4  5 12 13  6  7 14 15 │16 17 24 25 18 19 …
//   place   0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 │16 17 18 19 20 21 …
//   lane t  ────0──────  ────1──────  ────2──────  ────3───── │────0──────
#pragma once

#include <cmath>
#include <cstdint>

#include "common/kernel/fp8.cuh"
#include "fp8/fp8.hpp"
#include "hopper/words.cuh"

namespace tutorial::flash_attention::fp8 {

using hopper::Boxes, hopper::COLUMNS, hopper::hide_masked, hopper::put_rows, hopper::Queries,
    hopper::release, hopper::Rescale, hopper::rescale_rows, hopper::ROWS, hopper::Sums;

// ---- Tiles

/// R rows of COLS numbers, 32, 64 or 128, as TMA brings and wgmma reads them: swizzled.
template <int R, int COLS>
struct Rows {
  static constexpr int BYTES = R * COLS;
  static constexpr Swizzle SWIZZLE = COLS == 128  ? Swizzle::bytes_128
                                     : COLS == 64 ? Swizzle::bytes_64
                                                  : Swizzle::bytes_32;
  alignas(1024) e4m3 at[R * COLS];

  /// The rows from `row` on, as an operand.
  __device__ __forceinline__ WgmmaOperand operand(int row = 0) const {
    return WgmmaOperand({.start = at + row * COLS, .stride = 8 * COLS, .swizzle = SWIZZLE});
  }
};

/// By one thread: begins to load rows `row` … of a head. The tile's bytes arrive at `full`.
template <int R, int COLS>
__device__ __forceinline__ void load(Rows<R, COLS>& tile, const CUtensorMap& map, Barrier& full,
                                     int row, int head) {
  barrier_arrive_expect(full, tile.BYTES);
  tma_load(tile.at, map, full, {0, row, head});
}

/// Vᵀ of Bc keys: boxes beside each other of D rows, one a column of V.
template <int Bc, int D>
struct Columns {
  static constexpr int KEYS = Bc % 128 == 0 ? 128 : Bc % 64 == 0 ? 64 : 32;  // of a box
  static constexpr int COUNT = Bc / KEYS, BYTES = Bc * D;
  Rows<D, KEYS> box[COUNT];
};

/// The same for Vᵀ of the keys from `key` on, which lies in global memory.
template <int Bc, int D>
__device__ __forceinline__ void load(Columns<Bc, D>& tile, const CUtensorMap& map, Barrier& full,
                                     int key, int head) {
  barrier_arrive_expect(full, tile.BYTES);
#pragma unroll
  for (int i = 0; i < tile.COUNT; ++i)
    tma_load(tile.box[i].at, map, full, {key + i * tile.KEYS, 0, head});
}

// ---- Products

/// Begins S (64, Bc) = Q (64, D) · Kᵀ.
template <int D, int Bc, int Br>
__device__ __forceinline__ void multiply_keys(float (&S)[Bc / 2], const Rows<Br, D>& Q, int row,
                                              const Rows<Bc, D>& K) {
  const WgmmaOperand q = Q.operand(row), k = K.operand();
  wgmma_fence();
#pragma unroll
  for (int d = 0; d < D; d += 32) wgmma_e4m3<Bc>(S, q + d, k + d, d > 0);
  wgmma_commit();
}

/// Begins O (64, D) += P (64, Bc) · V.
template <int D, int Bc>
__device__ __forceinline__ void multiply_values(float (&O)[D / 2],
                                                const uint32_t (&P)[Bc / GROUP][4],
                                                const Columns<Bc, D>& V) {
  constexpr int KEYS = Columns<Bc, D>::KEYS;
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < Bc; k += GROUP)
    wgmma_e4m3<D>(O, P[k / GROUP], V.box[k / KEYS].operand() + k % KEYS);
  wgmma_commit();
}

// ---- Softmax

/// e4m3's numbers lie between 2^−9 and 448, so weights of at most 1 would leave half of them
/// unused. A row's largest weight is 2^SHIFT when its m is new, and grows until SLACK more: to
/// 2^8.75, which is 431.
inline constexpr float SHIFT = 6, SLACK = 2.75f;

/// S becomes the weights 2^(scale·S − m), `sums` those of all keys so far. Here m is SHIFT less
/// than the maximum that it comes from. (Part hopper's, but for SHIFT and SLACK.)
template <int N>
__device__ __forceinline__ Rescale shifted_softmax(float (&S)[N], Sums& sums, float scale) {
  float max[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int i = 0; i < N; ++i) max[i / 2 % 2] = fmaxf(max[i / 2 % 2], S[i]);
#pragma unroll
  for (float& m : max) m = fmaf(quad_max(m), scale, -SHIFT);

  Rescale rescale = {.any = false, .by = {1, 1}};
  if (__any_sync(0xffffffffu, max[0] > sums.m[0] + SLACK || max[1] > sums.m[1] + SLACK)) {
    rescale.any = true;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      max[h] = fmaxf(sums.m[h], max[h]);
      rescale.by[h] = exp2_approx(sums.m[h] - finite_max(max[h]));
      sums.m[h] = max[h];
      sums.l[h] *= rescale.by[h];
    }
  }
  const float base[2] = {finite_max(sums.m[0]), finite_max(sums.m[1])};
#pragma unroll
  for (int i = 0; i < N; ++i)
    sums.l[i / 2 % 2] += S[i] = exp2_approx(fmaf(S[i], scale, -base[i / 2 % 2]));
  return rescale;
}

/// The weights as the A of the next product, in the order above.
template <int N>
__device__ __forceinline__ void round_weights(uint32_t (&P)[N / 16][4], const float (&S)[N]) {
#pragma unroll
  for (int n = 0; n < N / 16; ++n)
#pragma unroll
    for (int a = 0; a < 4; ++a) {  // row g + 8·(a % 2), keys from 16·(a / 2) on
      const float* const s = &S[16 * n + 8 * (a / 2) + 2 * (a % 2)];
      P[n][a] = pack_e4m3(s[0], s[1], s[4], s[5]);
    }
}

// ---- The result

/// O · scale_v / l, and lse: hopper::finish().
template <int N>
__device__ __forceinline__ void finish(float (&O)[N], Sums& sums, float scale_v, float* lse,
                                       int64_t i0, int64_t Tq) {
#pragma unroll
  for (float& o : O) o *= scale_v;
  hopper::finish(O, sums, lse, i0, Tq);
}

}  // namespace tutorial::flash_attention::fp8
