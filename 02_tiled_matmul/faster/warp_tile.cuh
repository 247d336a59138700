// Words of the steps from 2 on, and of part any_shape's: the tile of a block that is made of warps'
// tiles.
#pragma once

#include "common/kernel/async_copy.cuh"
#include "common/kernel/grid.hpp"
#include "faster/epilogue.cuh"

namespace tutorial::tiled_matmul::faster {

/// What follows from the numbers that a step chooses, each with its reason:
///   WARPS_M, WARPS_N   a block's warps, one above the other and side by side
///   BLOCKS_PER_SM      how many blocks shall share a multiprocessor's 65536 registers
///   TM, TN             a thread's elements of C, in groups of 4 × 4
///   BK                 elements of K at a time
template <class Numbers>
struct WarpTile : Numbers {
  static constexpr int LANES_M = 4, LANES_N = 8;                                // a warp's threads
  static constexpr int WM = LANES_M * Numbers::TM, WN = LANES_N * Numbers::TN;  // its tile of C
  static constexpr int BM = Numbers::WARPS_M * WM, BN = Numbers::WARPS_N * WN;  // the block's
  static constexpr int THREADS = Numbers::WARPS_M * Numbers::WARPS_N * 32;
  static constexpr int PAD = 4;  // floats at the end of each row of As: rows begin 4 banks apart
  static_assert(Numbers::TM % 4 == 0 && Numbers::TN % 4 == 0, "a thread's groups are 4 × 4");
  static_assert(Numbers::BK % 8 == 0, "a thread brings elements of A that lie 8 apart along K");
  static_assert(2 * (BM + PAD + BN) * Numbers::BK * sizeof(float) <= 48 * 1024,
                "two pairs of tiles must fit into 48 KB of shared memory: make BK smaller");

  /// How many of them cover C.
  static int64_t blocks(int64_t M, int64_t N) { return ceil_div(M, BM) * ceil_div(N, BN); }
};

/// The epilogue of a thread whose first element of C is C[row0][col0]: a group of its rows in each
/// 4 · LANES_M rows of C, a group of its columns in each 4 · LANES_N columns.
template <class T, bool ALIGNED>
__device__ void store(float* C, int64_t M, int64_t N, int64_t row0, int64_t col0,
                      const float (&sum)[T::TM][T::TN], float alpha, float beta) {
  constexpr int WIDTH = ALIGNED ? 4 : 1;  // floats in one access
#pragma unroll
  for (int i = 0; i < T::TM; ++i) {
#pragma unroll
    for (int j = 0; j < T::TN; j += WIDTH) {
      const int64_t row = row0 + i / 4 * 4 * T::LANES_M + i % 4;
      const int64_t col = col0 + j / 4 * 4 * T::LANES_N + j % 4;
      if (row >= M || col >= N) continue;
      store_scaled<WIDTH>(C + row * N + col, &sum[i][j], alpha, beta);
    }
  }
}

/// From step 4 on: a thread's share of the copies of one pair of tiles. Their sources need no test
/// while the block walks along K: a row or column beyond the edge is replaced by the last one, and
/// what comes of it is not stored.
template <class T, int WIDTH_B>
class Copies {
 public:
  static constexpr int A_ROWS_APART = T::THREADS / 8;  // 8 threads side by side along K
  // Threads side by side along a row of B; each brings B_COLS groups of it where they are too few.
  static constexpr int B_COLS = ceil_div(T::BN / WIDTH_B, T::THREADS);
  static constexpr int B_GROUPS = T::BN / WIDTH_B / B_COLS;
  static constexpr int B_ROWS_APART = T::THREADS / B_GROUPS;
  static constexpr int A_ROWS = T::BM / A_ROWS_APART, OF_A = A_ROWS * (T::BK / 8);
  static constexpr int COUNT = OF_A + B_COLS * (T::BK / B_ROWS_APART);
  static_assert(T::BM % A_ROWS_APART == 0, "whole columns of A");
  static_assert(T::THREADS % B_GROUPS == 0 && T::BK % B_ROWS_APART == 0, "whole rows of B");

  /// For tiles of A from row row0 on, and of B from column col0 on. Rows of B begin ldb floats
  /// apart. As is (2, BK, BM + PAD), Bs is (2, BK, BN).
  __device__ Copies(const float* A, const float* B, int64_t M, int64_t K, int64_t ldb, int64_t row0,
                    int64_t col0, float* As, float* Bs)
      : ldb_(ldb) {
    const int row = threadIdx.x / 8, col = threadIdx.x % B_GROUPS * WIDTH_B;
    a_k_ = threadIdx.x % 8, b_k_ = threadIdx.x / B_GROUPS;
#pragma unroll
    for (int i = 0; i < A_ROWS; ++i)
      a_[i] = A + smaller(row0 + row + i * A_ROWS_APART, M - 1) * K + a_k_;
#pragma unroll
    for (int j = 0; j < B_COLS; ++j)
      b_[j] = B + b_k_ * ldb + smaller(col0 + col + j * B_GROUPS * WIDTH_B, ldb - WIDTH_B);
    to_a_ = As + a_k_ * (T::BM + T::PAD) + row;
    to_b_ = Bs + b_k_ * T::BN + col;
  }

  /// Begins copy number c of COUNT into the given one of the two buffers. Where the tiles are less
  /// than BK deep, zeros fill them up.
  __device__ void begin(int c, int buffer, int depth = T::BK) const {
    if (c < OF_A) {  // transposed on its way, so one float at a time
      const int i = c % A_ROWS, k = c / A_ROWS * 8;
      copy_async<1>(to_a_ + (buffer * T::BK + k) * (T::BM + T::PAD) + i * A_ROWS_APART, a_[i] + k,
                    depth == T::BK || a_k_ + k < depth);
    } else {
      const int j = (c - OF_A) % B_COLS, k = (c - OF_A) / B_COLS * B_ROWS_APART;
      copy_async<WIDTH_B>(to_b_ + (buffer * T::BK + k) * T::BN + j * B_GROUPS * WIDTH_B,
                          b_[j] + k * ldb_, depth == T::BK || b_k_ + k < depth);
    }
  }

  /// On to the next tiles.
  __device__ void advance(int depth = T::BK) {
#pragma unroll
    for (int i = 0; i < A_ROWS; ++i) a_[i] += depth;
#pragma unroll
    for (int j = 0; j < B_COLS; ++j) b_[j] += depth * ldb_;
  }

 private:
  __device__ static int64_t smaller(int64_t x, int64_t y) {
    return x < y ? x : y;
  }

  int64_t ldb_;
  int a_k_, b_k_;                        // the first k that it brings of a tile of A, and of B
  const float *a_[A_ROWS], *b_[B_COLS];  // from where
  float *to_a_, *to_b_;                  // where to, in the first buffer
};

}  // namespace tutorial::tiled_matmul::faster
