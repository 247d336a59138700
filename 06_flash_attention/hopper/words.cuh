// Words of the steps of this part: tiles in shared memory and their barriers, both products, the
// mask, the softmax, how a result is stored. Who does what when stands in the steps.
//
// A block has Br = 64 queries for each of its warpgroups that compute. Lane 4·g + t of warp w of a
// warpgroup has rows 16·w + g and 16·w + g + 8 of its 64, and of every 8 columns 8·j … two, in S as
// in O (common/kernel/wgmma.cuh):
//
//   S[4j], S[4j+1]: row g, columns 8j + 2t, 8j + 2t + 1       S[4j+2], S[4j+3]: row g + 8
//
// So S[i] is of row g + 8·(i / 2 % 2), and the four lanes of a quad have whole rows. What packs two
// neighbours of S into a register makes the A of the next product, without a word to other lanes:
//
//   S  8i … 8i+7  ──pack──▶  P[i][0 … 3], columns 16i … 16i + 15
#pragma once

#include <cmath>
#include <cstdint>

#include "common/kernel/barrier.cuh"
#include "common/kernel/exp2.cuh"
#include "common/kernel/grid.hpp"
#include "common/kernel/mma.cuh"
#include "common/kernel/reduce.cuh"
#include "common/kernel/tma.cuh"
#include "common/kernel/warpgroup.cuh"
#include "common/kernel/wgmma.cuh"
#include "hopper/hopper.hpp"

namespace tutorial::flash_attention::hopper {

inline constexpr int ROWS = 64;      // of a warpgroup: what one wgmma has
inline constexpr int COLUMNS = 64;   // of a box: rows of 128 bytes, what the swizzle takes
inline constexpr int BOX_ROW = 128;  // bytes

// ---- Tiles

/// A tile of R rows of D numbers as TMA brings and wgmma reads it: boxes of 64 columns beside each
/// other, each (R, 64) with its rows swizzled. Columns from HS on are zeros.
template <int R, int D>
struct Boxes {
  static constexpr int COUNT = (D + COLUMNS - 1) / COLUMNS, BOX = R * COLUMNS;
  static constexpr int BYTES = COUNT * BOX * static_cast<int>(sizeof(bf16));
  alignas(1024) bf16 box[COUNT][BOX];
};

/// By one thread: begins to load rows `row` … of a head. The tile's bytes arrive at `full`.
template <int R, int D>
__device__ __forceinline__ void load(Boxes<R, D>& tile, const CUtensorMap& map, Barrier& full,
                                     int row, int head) {
  barrier_arrive_expect(full, Boxes<R, D>::BYTES);
#pragma unroll
  for (int i = 0; i < Boxes<R, D>::COUNT; ++i)
    tma_load(tile.box[i], map, full, {i * COLUMNS, row, head});
}

/// The same from a map of four dimensions, of steps from 12 on.
template <int R, int D>
__device__ __forceinline__ void load(Boxes<R, D>& tile, const CUtensorMap& map, Barrier& full,
                                     int row, int head, int batch) {
  barrier_arrive_expect(full, tile.BYTES);
#pragma unroll
  for (int i = 0; i < Boxes<R, D>::COUNT; ++i)
    tma_load(tile.box[i], map, full, {i * COLUMNS, row, head, batch});
}

/// A tile of queries: from i0 on, of one head; and how many tiles of Bc keys one of them sees.
struct Queries {
  int head, kv_head, i0, tiles;
  __device__ Queries(const Attention& shape, int Br, int Bc, int64_t head, int64_t i0)
      : head(static_cast<int>(head)),
        kv_head(static_cast<int>(head / shape.group())),
        i0(static_cast<int>(i0)) {
    const int64_t last = (i0 + Br < shape.Tq ? i0 + Br : shape.Tq) - 1;
    tiles = static_cast<int>(ceil_div(shape.visible_keys(last), Bc));
  }
};

/// Whose they are: the sequence, its head, and its head of keys.
struct HeadOf {
  int batch, head, kv_head;
  __device__ HeadOf(const Attention& shape, const Queries& queries) {
    batch = queries.head / static_cast<int>(shape.NH);
    head = queries.head % static_cast<int>(shape.NH);
    kv_head = queries.kv_head - batch * static_cast<int>(shape.NH_kv);
  }
};

/// Once for 128 threads: they are done with a stage.
__device__ __forceinline__ void release(Barrier& empty) {
  if (threadIdx.x % WARPGROUP == 0) barrier_arrive(empty);
}

// ---- Products

/// Begins S (64, Bc) = Q (64, D) · Kᵀ.
template <int D, int Bc>
__device__ __forceinline__ void multiply_keys(float (&S)[Bc / 2], const bf16* Q, int Q_box,
                                              const Boxes<Bc, D>& K) {
  wgmma_fence();
#pragma unroll
  for (int d = 0; d < D; d += 16) {
    const int box = d / COLUMNS, bytes = d % COLUMNS * static_cast<int>(sizeof(bf16));
    wgmma<Bc, bf16>(S, WgmmaOperand({.start = Q + box * Q_box}) + bytes,
                    WgmmaOperand({.start = K.box[box]}) + bytes, d > 0);
  }
  wgmma_commit();
}

/// Begins O (64, D) += P (64, Bc) · V. V lies as in global memory, its columns along rows.
template <int D, int Bc>
__device__ __forceinline__ void multiply_values(float (&O)[D / 2], const uint32_t (&P)[Bc / 16][4],
                                                const Boxes<Bc, D>& V) {
  const WgmmaOperand values({.start = V.box, .leading = Bc * BOX_ROW});
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < Bc / 16; ++k) wgmma<D, bf16, Major::mn>(O, P[k], values + k * 16 * BOX_ROW);
  wgmma_commit();
}

// ---- Softmax

/// −∞ in place of the scores that the query may not see. The warpgroup's rows begin at query i0,
/// the columns at key j0.
template <int N>
__device__ __forceinline__ void hide_masked(float (&S)[N], const Attention& shape, int64_t i0,
                                            int64_t j0) {
  constexpr int Bc = 2 * N;
  const int lane = threadIdx.x % WARP, warp = threadIdx.x % WARPGROUP / WARP;
  const int row = 16 * warp + lane / 4;
  // Row `row` sees of these columns the first `edge` + row, if there are so many keys.
  const int64_t left = shape.Tk - j0, edge = i0 + 1 - shape.Tq + left;
  const int keys = static_cast<int>(left < Bc ? left : Bc);
  const int low = static_cast<int>(edge < -ROWS ? -ROWS : edge < Bc ? edge : Bc);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const int h = i / 2 % 2, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    const int seen = shape.causal && low + row + 8 * h < keys ? low + row + 8 * h : keys;
    if (column >= seen) S[i] = -INFINITY;
  }
}

/// What a lane knows of its two rows, for the keys so far: m is their maximum, times log2(e), or up
/// to SLACK less; l is the sum over this lane's columns.
struct Sums {
  float m[2] = {-INFINITY, -INFINITY}, l[2] = {};
};
/// What O has to be multiplied by for a new m. Unless `any` of the warp's rows has one, nothing.
struct Rescale {
  bool any;
  float by[2];
};

/// How much larger than 2^m a row's largest weight may be, in log2: what FlashAttention 4 takes for
/// inputs of 16 bits.
inline constexpr float SLACK = 8;

/// S becomes the weights 2^(scale·S − m), `sums` those of all keys so far. (Part tensor_cores,
/// steps short_softmax and lazy_rescale.)
template <int N>
__device__ __forceinline__ Rescale softmax(float (&S)[N], Sums& sums, float scale) {
  float max[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int i = 0; i < N; ++i) max[i / 2 % 2] = fmaxf(max[i / 2 % 2], S[i]);
#pragma unroll
  for (float& m : max) m = quad_max(m) * scale;

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

template <int N>
__device__ __forceinline__ void rescale_rows(float (&O)[N], const Rescale& rescale) {
  if (!rescale.any) return;
#pragma unroll
  for (int i = 0; i < N; ++i) O[i] *= rescale.by[i / 2 % 2];
}

/// The weights as the A of the next product.
template <int N>
__device__ __forceinline__ void round_weights(uint32_t (&P)[N / 8][4], const float (&S)[N]) {
#pragma unroll
  for (int i = 0; i < N / 2; ++i) P[i / 4][i % 4] = pack<bf16>(S[2 * i], S[2 * i + 1]);
}

// ---- The result

/// Rows from query Tq on become those of queries without keys, for step 13. The warpgroup's rows
/// begin at query i0. Their O is not multiplied by 0, since it may be NaN.
template <int N>
__device__ __forceinline__ void clear_padding(float (&O)[N], Sums& sums, int64_t i0, int64_t Tq) {
  if (i0 + ROWS <= Tq) return;
  const int64_t i = i0 + 16 * (threadIdx.x % WARPGROUP / WARP) + threadIdx.x % WARP / 4;
#pragma unroll
  for (int h = 0; h < 2; ++h)
    if (i + 8 * h >= Tq) sums.m[h] = -INFINITY, sums.l[h] = 0;
#pragma unroll
  for (int n = 0; n < N; ++n)
    if (i + 8 * (n / 2 % 2) >= Tq) O[n] = 0;
}

/// O / l, and lse = log(l) + ln(2)·m of the rows that exist. The warpgroup's rows begin at query
/// i0; lse is the head's.
template <int N>
__device__ __forceinline__ void finish(float (&O)[N], Sums& sums, float* lse, int64_t i0,
                                       int64_t Tq) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x % WARPGROUP / WARP;
  float inverse[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float l = quad_sum(sums.l[h]);
    inverse[h] = l == 0 ? 0.0f : 1 / l;  // no key seen: 0, and lse is −∞
    const int64_t i = i0 + 16 * warp + lane / 4 + 8 * h;
    if (lane % 4 == 0 && i < Tq) lse[i] = LN_2 * sums.m[h] + logf(l);
  }
#pragma unroll
  for (int i = 0; i < N; ++i) O[i] *= inverse[i / 2 % 2];
}

/// Stores the rows of O that exist, rounded to bf16. out is the head's.
template <int N>
__device__ __forceinline__ void store(bf16* out, const float (&O)[N], int64_t i0, int64_t Tq,
                                      int HS) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x % WARPGROUP / WARP;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int64_t i = i0 + 16 * warp + lane / 4 + 8 * h;
    if (i >= Tq) continue;
#pragma unroll
    for (int n = 0; n < N / 4; ++n)
      if (n * 8 < HS)
        *reinterpret_cast<uint32_t*>(&out[i * HS + n * 8 + lane % 4 * 2]) =
            pack<bf16>(O[4 * n + 2 * h], O[4 * n + 2 * h + 1]);
  }
}

/// Puts O, rounded to bf16, where TMA stores a tile from: 64 rows of boxes like those of Q, whose
/// first begins at `rows`. stmatrix is ldmatrix the other way round: of the four pieces of 8 by 8
/// that a lane's registers are parts of, lane l gives the address of row l % 8 of piece l / 8.
template <int N>
__device__ __forceinline__ void put_rows(bf16* rows, int box, const float (&O)[N]) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x % WARPGROUP / WARP;
  const int row = 16 * warp + lane % 16;
#pragma unroll
  for (int d = 0; d < N / 8; ++d) {  // 16 columns
    const float* const o = &O[8 * d];
    const uint32_t pieces[4] = {pack<bf16>(o[0], o[1]), pack<bf16>(o[2], o[3]),
                                pack<bf16>(o[4], o[5]), pack<bf16>(o[6], o[7])};
    const int chunk = d % (COLUMNS / 16) * 2 + lane / 16;  // of 8 numbers, 16 bytes
    stmatrix(rows + d / (COLUMNS / 16) * box + row * COLUMNS + (chunk ^ row % 8) * 8, pieces);
  }
}

}  // namespace tutorial::flash_attention::hopper
