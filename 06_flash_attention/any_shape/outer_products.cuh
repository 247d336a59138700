// Sums of outer products as steps 1 and 2 take them: as in faster/outer_products, but of any
// length, and of any number of columns a thread; and the tile of both where registers or shared
// memory are short.
#pragma once

#include <cuda_runtime.h>

#include "common/kernel/vector4.cuh"
#include "faster/pieces.cuh"
#include "faster/thread_rows.cuh"

namespace tutorial::flash_attention::any_shape {

using namespace faster;  // the words of its headers

/// Which thread has what, as in faster/outer_products, but 8×4 elements of S, and QUERIES rows in a
/// tile. HS columns of the tile are the least multiple of 32 that holds the head; zeros stand past
/// its last.
template <int HEAD_SIZE, int QUERIES>
struct FourColumns : QuadLanes<16> {
  static constexpr bool EXACT = false;
  static constexpr int HS = HEAD_SIZE, Br = QUERIES, TX = 16, THREADS = Br / ROWS * TX;
  static constexpr int COLS = 4, Bc = COLS * TX, O_COLS = HS / TX;
  // A piece is (Bc, WIDTH) of K or (V_KEYS, D) of V: keys that stand side by side in P, which are
  // every fourth one of the tile. D is a power of two, for the copies.
  static constexpr int PIECES = 4, WIDTH = HS / PIECES, V_KEYS = Bc / PIECES, KEY_STEP = COLS;
  static constexpr int D = HS <= 32 ? 32 : HS <= 64 ? 64 : HS <= 128 ? 128 : 256;
  using VOrder = InOrder;
  static __device__ int first_key(int n) { return n; }
  static constexpr int PARTS = Br == 128 || D >= 128 ? 2 : 1;  // a piece's copies begin in so many
  static constexpr int Q_STRIDE = Br + 4, K_STRIDE = Bc + 4, P_STRIDE = Br + 8;
  static constexpr int K_FLOATS = WIDTH * K_STRIDE;
  static constexpr int BUFFER = K_FLOATS > V_KEYS* D ? K_FLOATS : V_KEYS* D;
  static constexpr int64_t BYTES =
      int64_t{sizeof(float)} * (HS * Q_STRIDE + Bc * P_STRIDE + 2 * BUFFER);
};

/// How many steps of `length` are unrolled: an even number that divides it, up to 16 if there is
/// one above 6, else half of it.
__host__ __device__ constexpr int unrolled(int length) {
  for (int steps = 16; steps > 6; steps -= 2)
    if (length % steps == 0) return steps;
  return length / 2;
}

/// sums[r][c] += Σ left[x][row(r)]·right[x][spread_column(c)] over LENGTH x. On the way it calls
/// begin(part) for each of Tile::PARTS. What the next x needs is read before the products of this
/// one.
template <class Tile, int LENGTH, int LEFT_STRIDE, int RIGHT_STRIDE, int N, class Begin>
__device__ void add_outer_products(float (&sums)[ROWS][N], const float* left, const float* right,
                                   Begin begin) {
  constexpr int STEPS = unrolled(LENGTH), ROUNDS = LENGTH / STEPS;
  float a[2][ROWS], b[2][N];
  const auto read = [&](int which, int x) {
#pragma unroll
    for (int r = 0; r < ROWS; r += 4) load4(&a[which][r], &left[x * LEFT_STRIDE + Tile::row(r)]);
#pragma unroll
    for (int c = 0; c < N / 4 * 4; c += 4)
      load4(&b[which][c], &right[x * RIGHT_STRIDE + Tile::column(c)]);
    if constexpr (N % 4 >= 2) {
      const int c = N / 4 * 4;
      const float2 two = *reinterpret_cast<const float2*>(
          &right[x * RIGHT_STRIDE + spread_column<Tile::TX, N>(Tile::tx(), c)]);
      b[which][c] = two.x, b[which][c + 1] = two.y;
    }
#pragma unroll
    for (int c = N / 2 * 2; c < N; ++c)
      b[which][c] = right[x * RIGHT_STRIDE + spread_column<Tile::TX, N>(Tile::tx(), c)];
  };
  read(0, 0);
#pragma unroll 1
  for (int round = 0; round < ROUNDS; ++round) {
    if (ROUNDS <= Tile::PARTS || round < Tile::PARTS) begin(round);
#pragma unroll
    for (int i = 0; i < STEPS; ++i) {
      read((i + 1) % 2, (round * STEPS + i + 1) % LENGTH);
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int n = 0; n < N; ++n) {
          const int c = r % 2 == 0 ? n : N - 1 - n;  // to and fro, as in faster/read_ahead
          sums[r][c] += a[i % 2][r] * b[i % 2][c];
        }
    }
  }
  for (int part = ROUNDS; part < Tile::PARTS; ++part) begin(part);
}

}  // namespace tutorial::flash_attention::any_shape
