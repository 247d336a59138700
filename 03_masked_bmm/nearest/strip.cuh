// The product in all steps: a block has 128 rows of A, a strip, and walks along the points, 256 at
// a time. What it does with a tile of 128 × 256 sums stands in the steps; here is how it comes by
// them: chapter 2's tile of 16×8 a thread, pieces of K in two buffers, the copies spread over the
// products, the operands read a k ahead. The pipeline does not end with a tile: the last products
// of one run beside the first copies of the next.
#pragma once

#include "common/kernel/async_copy.cuh"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"
#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {

inline constexpr int BM = STRIP, BN = TILE;  // a tile: rows of A, points
inline constexpr int BK = 8;                 // of D at a time
inline constexpr int TM = 16, TN = 8;        // a thread's sums, in groups of 4 × 4
inline constexpr int THREADS = BM / TM * BN / TN;
inline constexpr int LANES_M = 4, LANES_N = 8, WARPS_N = 4;  // a warp's threads; warps side by side
inline constexpr int PAD = 4;  // floats behind each row of a piece: rows begin 4 banks apart

/// A piece of A and one of B in shared memory, k by k; two of them: one that comes, one in use.
struct Pieces {
  alignas(16) float a[2][BK][BM + PAD];
  alignas(16) float b[2][BK][BN + PAD];
};

/// The row, and the column, in the tile of a thread's sum [i][j].
__device__ inline int row_of(int i) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  return warp / WARPS_N * (LANES_M * TM) + (lane / 16 * 2 + lane % 2) * 4 +
         i / 4 * (LANES_M * 4) + i % 4;
}
__device__ inline int col_of(int j) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  return warp % WARPS_N * (LANES_N * TN) + lane / 2 % 8 * 4 + j / 4 * (LANES_N * 4) + j % 4;
}

/// Sums of columns from `cols` on become NaN: what lies beyond the last point never wins.
__device__ inline void drop_beyond(float (&sum)[TM][TN], int cols) {
#pragma unroll
  for (int j = 0; j < TN; ++j)
#pragma unroll
    for (int i = 0; i < TM; ++i)
      if (col_of(j) >= cols) sum[i][j] = NAN;
}

/// Blocks: x counts strips, y their parts.
inline dim3 strip_grid(const Search& s, const Cut& cut) {
  return dim3(static_cast<unsigned>(ceil_div(s.M, BM)), static_cast<unsigned>(cut.parts));
}

/// The tiles of one block.
class Strip {
 public:
  /// The strip from row row0 on, and points `first` … `last` - 1, at least one.
  __device__ Strip(Pieces& pieces, const float* A, const float* B, int64_t M, int64_t D,
                   int64_t row0, int first, int last)
      : pieces_(pieces), D_(D), last_(last) {
    row_ = threadIdx.x / BK, k_ = threadIdx.x % BK;
    rows_ = static_cast<int>(min(M - row0, int64_t{BM}));
    a_ = A + (row0 + row_) * D + k_;
    b_ = B + (first + row_) * D + k_;
    come_ = first;
    for (int c = 0; c < COPIES; ++c) begin_copy(c, 0);
    advance();
    wait();
    read_operands(0, 0, 0);
  }

  /// The products of the next tile.
  __device__ void multiply(float (&sum)[TM][TN]) {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) sum[i][j] = 0;
    for (int64_t k0 = 0; k0 < D_ || k0 == 0; k0 += BK) {
#pragma unroll
      for (int k = 0; k < BK; ++k) {
        // Before the last products the next piece must have come: its first elements are read now.
        if (k == BK - 1) {
          wait();
          advance();
          read_operands(0, 1 - buffer_, 0);
        } else {
          read_operands((k + 1) % 2, buffer_, k + 1);
        }
#pragma unroll
        for (int c = k * A_K; c < COPIES && c < (k + 1) * A_K; ++c)
          begin_copy(c, 1 - buffer_);
        add_products(sum, a_now_[k % 2], b_now_[k % 2]);
      }
      buffer_ = 1 - buffer_;
    }
  }

 private:
  static constexpr int APART = THREADS / BK;  // rows from one copy of a thread to its next
  static constexpr int OF_A = BM / APART, COPIES = OF_A + BN / APART;
  static constexpr int A_K = 2 * COPIES / BK;  // copies with each k: all are begun in a piece's first half

  /// Begins copy c of COPIES of the piece that comes. A copy is transposed on its way, so it brings
  /// one float. What lies outside becomes 0.
  __device__ void begin_copy(int c, int buffer) const {
    const int i = c < OF_A ? c : c - OF_A;
    const float* from = (c < OF_A ? a_ : b_) + i * APART * D_;
    float* to = c < OF_A ? &pieces_.a[buffer][k_][row_ + i * APART]
                         : &pieces_.b[buffer][k_][row_ + i * APART];
    const bool inside = k_come_ + k_ < D_ && (c < OF_A ? row_ + i * APART < rows_
                                                       : come_ + row_ + i * APART < last_);
    copy_async<1>(to, from, inside);
  }

  /// On to the next piece: further along D, or the first of the next tile.
  __device__ void advance() {
    k_come_ += BK, a_ += BK, b_ += BK;
    if (k_come_ < D_) return;
    a_ -= k_come_, b_ += BN * D_ - k_come_;
    k_come_ = 0, come_ += BN;
    if (come_ >= last_) rows_ = 0;  // nothing comes any more
  }

  __device__ void wait() const {
    __pipeline_commit();
    __pipeline_wait_prior(0);  // this thread's copies have come …
    __syncthreads();           // … and all threads', and nobody reads the other buffer any more
  }

  __device__ void read_operands(int which, int buffer, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4) load4(&a_now_[which][i], &pieces_.a[buffer][k][row_of(i)]);
#pragma unroll
    for (int j = 0; j < TN; j += 4) load4(&b_now_[which][j], &pieces_.b[buffer][k][col_of(j)]);
  }

  /// To and fro: from one product to the next, a or b stays.
  __device__ static void add_products(float (&sum)[TM][TN], const float (&a)[TM],
                                      const float (&b)[TN]) {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        const int turn = i % 2 == 0 ? j : TN - 1 - j;
        sum[i][turn] += a[i] * b[turn];
      }
  }

  Pieces& pieces_;
  int64_t D_, k_come_ = 0;  // of the piece that comes: its first d …
  int last_, come_;       // … and its first point
  int row_, k_, rows_;       // of a thread's copies
  const float *a_, *b_;
  int buffer_ = 0;
  float a_now_[2][TM], b_now_[2][TN];
};

}  // namespace tutorial::masked_bmm::nearest
