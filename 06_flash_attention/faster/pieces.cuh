// How the steps bring K and V into shared memory: in pieces, asynchronously; and the sizes of their
// tiles.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "common/kernel/async_copy.cuh"
#include "common/kernel/vector4.cuh"
#include "faster/thread_rows.cuh"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::faster {

/// The sizes of a block's tiles: Br queries, Bc keys, D columns, the head size padded with zeros.
/// TX threads share a row. K and V come in PIECES each: a piece is (Bc, WIDTH) of K, a part of the
/// columns, or (V_KEYS, D) of V, a part of the keys.
template <int HEAD_SIZE, int QUERIES, int KEYS, int LANES, int OF_A_TILE>
struct PieceSizes {
  static constexpr int D = HEAD_SIZE, Br = QUERIES, Bc = KEYS, TX = LANES, PIECES = OF_A_TILE;
  static constexpr int THREADS = Br / ROWS * TX;
  static constexpr int COLS = Bc / TX, O_COLS = D / TX;  // columns of S and of O of a thread
  static constexpr int WIDTH = D / PIECES, V_KEYS = Bc / PIECES;
  /// A piece's copies can begin in so many parts: each has a copy of 16 bytes for each thread.
  static constexpr int MOST_PARTS = std::min(Bc * WIDTH, V_KEYS* D) / (4 * THREADS);
};

// The tiles of the steps. The largest is for as much shared memory as an H100 has, the middle
// one for 99 KB, the small one for 64 KB; where one would serve another's purpose, it does.
template <int D>
using LargeSizes = PieceSizes<D, 128, D <= 64 ? 64 : 128, D <= 64 ? 8 : 16, D <= 64 ? 1 : 2>;
template <int D>
using MiddleSizes = std::conditional_t<D == 32, LargeSizes<D>,
                                       PieceSizes<D, D == 64 ? 128 : 64, 64, D == 64 ? 8 : 16, 2>>;
template <int D>
using SmallSizes = std::conditional_t<D == 32, PieceSizes<D, 128, 32, 8, 1>,
                                      PieceSizes<D, 64, 64, 16, D == 64 ? 2 : 8>>;

/// Calls launch with Tile<Sizes> for the least of 32, 64, 128 columns that hold the head size, and
/// the largest sizes that the device has shared memory for. Refuses a larger head size.
template <template <class Sizes> class Tile, template <int D> class Middle = MiddleSizes,
          template <int D> class Small = SmallSizes, class Launch>
void with_tile(int64_t HS, const char* step, const Launch& launch) {
  with_padded_head_size(HS, step, [&]<int D>() {
    with_first_that_fits<Tile<LargeSizes<D>>, Tile<Middle<D>>, Tile<Small<D>>>(
        shared_memory_limit(), launch);
  });
}

/// Where they lie in steps 1 to 4: two buffers, each with place for a piece of K or of V, behind
/// Q and P, all in the order of their rows. Rows of Q and K have 4 floats more than they need, as
/// before; 16 more in P also keep apart the stores of step 3, those of 8 lanes go to 2 rows of P.
template <class Sizes>
struct RowMajorPieces : Sizes {
  static constexpr int Q_STRIDE = Sizes::D + 4, K_STRIDE = Sizes::WIDTH + 4;
  static constexpr int P_STRIDE = Sizes::Bc + 16;
  static constexpr int BUFFER = Sizes::Bc * K_STRIDE;
  static_assert(Sizes::V_KEYS * Sizes::D <= BUFFER, "V's pieces are a little smaller");
  static constexpr int64_t BYTES =
      int64_t{sizeof(float)} * (Sizes::Br * (Q_STRIDE + P_STRIDE) + 2 * BUFFER);
};

/// Rows keep their order on the way to shared memory.
struct InOrder {
  __device__ int operator()(int r) const { return r; }
};

/// From step 3 on lanes side by side find side by side what they want, of each 4·TX rows lane tx
/// the four from 4·tx on: row quad_column(tx, c) goes to row c·TX + tx.
template <int TX>
struct ByLane {
  __device__ int operator()(int r) const { return (r / (4 * TX) * 4 + r % 4) * TX + r / 4 % TX; }
};

/// What stands past a matrix's last row: zeros, or copies of that row, which cost no test. Either
/// is right for K and V: such a key is masked, and its value is multiplied by 0.
enum class PastLastRow { zeros, repeated };

/// Begins to copy (HEIGHT, WIDTH) floats, VEC at a time, or part `part` of PARTS of them. `from`
/// has (rows, cols) that exist, and its rows begin `length` floats apart; past its columns come
/// zeros. Row r goes to row place(r) of the tile; `place` only permutes the bits of r. The copy is
/// there after finish_fetch().
template <int HEIGHT, int WIDTH, int VEC, int THREADS, PastLastRow PAST = PastLastRow::zeros,
          int PARTS = 1, class Order = InOrder>
__device__ void fetch(float* tile, int stride, const float* from, int length, int64_t rows,
                      int cols, Order place = {}, int part = 0) {
  constexpr int ACROSS = WIDTH / VEC < THREADS ? WIDTH / VEC : THREADS, STEP = THREADS / ACROSS;
  static_assert(STEP <= HEIGHT / PARTS, "each thread has something to do in each part");
  const int r0 = threadIdx.x / ACROSS, col = threadIdx.x % ACROSS * VEC;
  const int last = static_cast<int>(rows < HEIGHT ? rows : HEIGHT) - 1;
  float* const to = tile + place(r0) * stride + col;
#pragma unroll 8
  for (int i = 0; i < HEIGHT / PARTS; i += STEP) {
    // r0 and r have no bit in common, so place(r0 + r) = place(r0) + place(r).
    const int r = part * (HEIGHT / PARTS) + i, row = r0 + r;
    const bool repeat = PAST == PastLastRow::repeated && row > last;
#pragma unroll
    for (int c = 0; c < WIDTH; c += ACROSS * VEC)
      copy_async<VEC>(to + place(r) * stride + c, from + (repeat ? last : row) * length + col + c,
                      (repeat || row <= last) && col + c < cols);
  }
}

/// The same from step 5 on, 4 bytes at a time, but element (r, c) goes to row c and column r of
/// the tile: 8 lanes copy 32 bytes of a row, and columns up to the next multiple of 8. WHOLE: all
/// columns exist.
template <int HEIGHT, int WIDTH, bool WHOLE, int THREADS, PastLastRow PAST = PastLastRow::zeros,
          int PARTS = 1>
__device__ void fetch_transposed(float* tile, int stride, const float* from, int length,
                                 int64_t rows, int cols, int part = 0) {
  static_assert(THREADS / 8 <= HEIGHT / PARTS, "each thread has something to do in each part");
  const int r0 = threadIdx.x / 8, col = threadIdx.x % 8;
  const int last = static_cast<int>(rows < HEIGHT ? rows : HEIGHT) - 1;
  float* const to = tile + col * stride + r0;
#pragma unroll 1
  for (int i = 0; i < HEIGHT / PARTS; i += THREADS / 8) {
    const int r = part * (HEIGHT / PARTS) + i, row = r0 + r;
    const bool repeat = PAST == PastLastRow::repeated && row > last;
#pragma unroll 8
    for (int c = 0; c < WIDTH; c += 8)
      copy_async<1>(to + c * stride + r, from + (repeat ? last : row) * length + col + c,
                    (repeat || row <= last) && (WHOLE || col + c < cols));
  }
}

}  // namespace tutorial::flash_attention::faster
