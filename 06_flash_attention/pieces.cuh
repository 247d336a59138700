// How steps 4 to 10 bring K and V into shared memory: in pieces, asynchronously.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kernel/async_copy.cuh"
#include "common/kernel/vector4.cuh"
#include "thread_rows.cuh"

namespace tutorial::flash_attention {

inline constexpr int Br = 128;    // queries of a block
inline constexpr int PIECE = 64;  // columns of K, or keys of V, that come at a time

/// The sizes of a block's tiles. D is the head size, padded with zeros; TX threads share a row.
template <int HEAD_SIZE>
struct PieceSizes {
  static constexpr int D = HEAD_SIZE;
  static constexpr int TX = D <= 64 ? 8 : 16, THREADS = Br / ROWS * TX;
  static constexpr int COLS = 8, Bc = COLS * TX;  // columns of S: of a thread, of a tile
  static constexpr int O_COLS = D / TX;           // columns of O of a thread
  // A piece is (Bc, WIDTH) of K, or (PIECE, D) of V; a tile of K or V has as many of either.
  static constexpr int WIDTH = D < PIECE ? D : PIECE;
  static constexpr int PIECES = D / WIDTH;
  static_assert(PIECES * PIECE == Bc, "a tile of V has as many pieces as one of K");
};

/// Where they lie in steps 4 to 7: two buffers, each with place for a piece of K or of V, behind Q
/// and P, all in the order of their rows. Rows of Q and K have 4 floats more than they need, as in
/// step 3; 16 more in P also keep apart the stores of step 6, those of 8 lanes go to 2 rows of P.
template <int HEAD_SIZE>
struct RowMajorPieces : PieceSizes<HEAD_SIZE> {
  using Sizes = PieceSizes<HEAD_SIZE>;
  static constexpr int Q_STRIDE = Sizes::D + 4, K_STRIDE = Sizes::WIDTH + 4;
  static constexpr int P_STRIDE = Sizes::Bc + 16;
  static constexpr int BUFFER = Sizes::Bc * K_STRIDE;
  static_assert(PIECE * Sizes::D <= BUFFER, "V's pieces are a little smaller");
  static constexpr int64_t bytes(int64_t columns) {
    return int64_t{sizeof(float)} * (Br * (columns + 4) + Br * P_STRIDE + 2 * BUFFER);
  }
};

/// Rows keep their order on the way to shared memory.
struct InOrder {
  __device__ int operator()(int r) const { return r; }
};

/// From step 6 on lanes side by side find side by side what they want, of each 4·TX rows lane tx
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
  constexpr int ACROSS = WIDTH / VEC, STEP = THREADS / ACROSS;
  const int r0 = threadIdx.x / ACROSS, col = threadIdx.x % ACROSS * VEC;
  const int last = static_cast<int>(rows < HEIGHT ? rows : HEIGHT) - 1;
  float* const to = tile + place(r0) * stride + col;
#pragma unroll 8
  for (int i = 0; i < HEIGHT / PARTS; i += STEP) {
    // r0 and r have no bit in common, so place(r0 + r) = place(r0) + place(r).
    const int r = part * (HEIGHT / PARTS) + i, row = r0 + r;
    const bool repeat = PAST == PastLastRow::repeated && row > last;
    copy_async<VEC>(to + place(r) * stride, from + (repeat ? last : row) * length + col,
                    (repeat || row <= last) && col < cols);
  }
}

/// The same from step 8 on, 4 bytes at a time, but element (r, c) goes to row c and column r of the
/// tile: 8 lanes copy 32 bytes of a row, and columns up to the next multiple of 8. WHOLE: all
/// columns exist.
template <int HEIGHT, int WIDTH, bool WHOLE, int THREADS, PastLastRow PAST = PastLastRow::zeros,
          int PARTS = 1>
__device__ void fetch_transposed(float* tile, int stride, const float* from, int length,
                                 int64_t rows, int cols, int part = 0) {
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

/// Now what was fetched is in shared memory for all threads, and all are done with what they read
/// before: its place may be filled again.
__device__ inline void finish_fetch() {
  __pipeline_commit();
  __pipeline_wait_prior(0);  // this thread's copies
  __syncthreads();           // and everyone else's
}

/// Whether 16 bytes can be copied at a time: all rows of all tensors begin at multiples of 16
/// bytes.
inline bool rows_begin_aligned(int64_t HS, const float* q, const float* k, const float* v,
                               const float* out) {
  return rows_are_aligned(q, HS) && rows_are_aligned(k, HS) && rows_are_aligned(v, HS) &&
         rows_are_aligned(out, HS);
}

}  // namespace tutorial::flash_attention
