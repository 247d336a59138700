// From step 2 on: a tile of V becomes one of Vᵀ in shared memory.
//
// ldmatrix_trans transposes 8 × 8 pieces of 16 bits; here those are pairs of columns. Lane 4·g + t
// gets of keys 2t and 2t + 1 the columns 2g and 2g + 1, and byte permutes make of two pieces, of
// keys 0 … 7 and 8 … 15, four keys of each column:
//
//              key 2t     key 2t + 1                            keys 2t 2t+1 2t+8 2t+9
//   piece 0    2g 2g+1    2g 2g+1         ──byte permutes──▶    column 2g:      ■ ■ ■ ■
//   piece 1    2g 2g+1    2g 2g+1  (+ 8)                        column 2g + 1:  ■ ■ ■ ■
//
// Those are places 4t … 4t + 3 of their group, as P's registers have them (words.cuh): the order
// costs nothing. stmatrix writes them, 16 places of 8 columns at a time. These eight are 2g for
// g < 4 and 2g + 1 for others, and then the other way round: rows whose numbers all differ modulo
// 8, so that the swizzle puts them into different banks.
#pragma once

#include "fp8/words.cuh"

namespace tutorial::flash_attention::fp8 {

/// Where the byte at `column` of a row of COLS bytes lies, from the tile's first one on.
template <int R, int COLS>
__device__ __forceinline__ int place_in(const Rows<R, COLS>& tile, int row, int column) {
  const int swizzle = static_cast<int>(swizzled(row * COLS, tile.SWIZZLE)) ^ row * COLS;
  return row * COLS + (column ^ swizzle);
}

/// By a warp: 32 keys and 32 columns, from these on.
template <int Bc, int D>
__device__ __forceinline__ void transpose_piece(Columns<Bc, D>& to, const Rows<Bc, D>& V, int key,
                                                int column) {
  constexpr int KEYS = Columns<Bc, D>::KEYS;
  const int lane = threadIdx.x % WARP, row = lane % 8, piece = lane / 8;
  const unsigned first = lane < WARP / 2 ? 0x6420 : 0x7531, second = first ^ 0x1111;
  const int d = column + 2 * row + (piece / 2 ^ row / 4);
  e4m3* const at = to.box[key / KEYS].at + place_in(to.box[0], d, key % KEYS + piece % 2 * 16);
  uint32_t pairs[2][4];
#pragma unroll
  for (int c = 0; c < 2; ++c)
    ldmatrix_trans(pairs[c], V.at + place_in(V, key + lane, column + 16 * c));
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    const auto& [p0, p1, p2, p3] = pairs[c];
    const uint32_t places[4] = {__byte_perm(p0, p1, first), __byte_perm(p2, p3, first),
                                __byte_perm(p0, p1, second), __byte_perm(p2, p3, second)};
    stmatrix(at + 16 * c * KEYS, places);  // 16 columns further the swizzle is the same
  }
}

/// By warp `warp` of `warps`: its share of the tile.
template <int Bc, int D>
__device__ __forceinline__ void transpose(Columns<Bc, D>& to, const Rows<Bc, D>& V, int warp,
                                          int warps) {
  constexpr int ACROSS = D / 32, PIECES = Bc / GROUP * ACROSS;
#pragma unroll 1
  for (int piece = warp; piece < PIECES; piece += warps)
    transpose_piece(to, V, piece / ACROSS * GROUP, piece % ACROSS * 32);
}

}  // namespace tutorial::flash_attention::fp8
