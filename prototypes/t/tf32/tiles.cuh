// Words of this part: how tiles of A and B come into shared memory, and how C leaves.
#pragma once

#include "common/kernel/async_copy.cuh"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"

namespace tutorial::tiled_matmul::tf32 {

/// What follows from the numbers that a step chooses, each with its reason:
///   BM, BN   elements of C a block
///   WM, WN   … a warp
///   BK       elements of K at a time
///   STAGES   pairs of tiles in shared memory: one in use, the others on their way
template <class Numbers>
struct Tiles : Numbers {
  static constexpr int WARPS_M = Numbers::BM / Numbers::WM, WARPS_N = Numbers::BN / Numbers::WN;
  static constexpr int THREADS = WARPS_M * WARPS_N * 32;
  static constexpr int DOWN = Numbers::WM / 16,
                       ACROSS = Numbers::WN / 8;  // a warp's fragments of C
  // Rows of shared memory. Eight neighbouring rows of A begin 4 banks apart (somewhere), four of B
  // 8 banks: so the 32 lanes that read a fragment meet 32 banks.
  static constexpr int ROW_A = Numbers::BK + 4, ROW_B = Numbers::BN + 8;
  static constexpr int SIZE_A = Numbers::BM * ROW_A, SIZE_B = Numbers::BK * ROW_B;  // floats
  static constexpr int BYTES =
      Numbers::STAGES * (SIZE_A + SIZE_B) * static_cast<int>(sizeof(float));
  static_assert(Numbers::BK % 8 == 0 && (ROW_A / 4) % 2 == 1, "BK is a multiple of 8");
  static_assert(ROW_B % 32 == 8, "BN is a multiple of 32");

  /// How many blocks cover C.
  static int64_t blocks(int64_t M, int64_t N) {
    return ceil_div(M, Numbers::BM) * ceil_div(N, Numbers::BN);
  }
};

/// A thread's share of the copies of a pair of tiles, WIDTH floats at a time: 4 where the rows of A
/// and of B are aligned, else 1. The first tiles hold what is left of K when whole tiles are taken
/// from its end, so zeros fill up no other. A row or column beyond the edge is replaced by the last
/// one: what comes of it is not stored.
template <class T, int WIDTH>
class TileCopies {
 public:
  // Threads side by side along a row, and the rows from one of a thread's copies to its next.
  static constexpr int A_THREADS = T::BK / WIDTH, A_ROWS_APART = T::THREADS / A_THREADS;
  static constexpr int B_THREADS = T::BN / WIDTH < T::THREADS ? T::BN / WIDTH : T::THREADS;
  static constexpr int B_ROWS_APART = T::THREADS / B_THREADS;
  static constexpr int A_ROWS = T::BM / A_ROWS_APART, B_ROWS = T::BK / B_ROWS_APART;
  static constexpr int B_COLS = T::BN / WIDTH / B_THREADS;  // groups of a row that a thread brings
  static_assert(T::THREADS % A_THREADS == 0 && T::BM % A_ROWS_APART == 0, "whole rows of A");
  static_assert(T::THREADS % B_THREADS == 0 && T::BK % B_ROWS_APART == 0, "whole rows of B");

  /// For tiles of A from row row0 on, and of B from column col0 on; to As (STAGES, BM, ROW_A) and
  /// Bs (STAGES, BK, ROW_B).
  __device__ TileCopies(const float* A, const float* B, int64_t M, int64_t N, int64_t K,
                        int64_t row0, int64_t col0, float* As, float* Bs)
      : N_(N), depth_(static_cast<int>(K - (ceil_div(K, T::BK) - 1) * T::BK)) {
    const int row = threadIdx.x / A_THREADS, col = threadIdx.x % B_THREADS * WIDTH;
    a_k_ = threadIdx.x % A_THREADS * WIDTH, b_k_ = threadIdx.x / B_THREADS;
#pragma unroll
    for (int i = 0; i < A_ROWS; ++i)
      a_[i] = A + smaller(row0 + row + i * A_ROWS_APART, M - 1) * K + a_k_;
#pragma unroll
    for (int j = 0; j < B_COLS; ++j)
      b_[j] = B + b_k_ * N + smaller(col0 + col + j * B_THREADS * WIDTH, N - WIDTH);
    to_a_ = As + row * T::ROW_A + a_k_;
    to_b_ = Bs + b_k_ * T::ROW_B + col;
  }

  /// Begins the copies of the next pair of tiles.
  __device__ void begin(int stage) {
#pragma unroll
    for (int i = 0; i < A_ROWS; ++i) {
      float* to = to_a_ + stage * T::SIZE_A + i * A_ROWS_APART * T::ROW_A;
      copy_async<WIDTH>(to, a_[i], a_k_ < depth_);
      a_[i] += depth_;
    }
#pragma unroll
    for (int j = 0; j < B_COLS; ++j) {
#pragma unroll
      for (int k = 0; k < T::BK; k += B_ROWS_APART) {
        float* to = to_b_ + stage * T::SIZE_B + k * T::ROW_B + j * B_THREADS * WIDTH;
        copy_async<WIDTH>(to, b_[j] + k * N_, b_k_ + k < depth_);
      }
      b_[j] += depth_ * N_;
    }
    depth_ = T::BK;
  }

 private:
  __device__ static int64_t smaller(int64_t x, int64_t y) {
    return x < y ? x : y;
  }

  int64_t N_;
  int depth_;                            // of the next tiles
  int a_k_, b_k_;                        // the first k that it brings of a tile of A, and of B
  const float *a_[A_ROWS], *b_[B_COLS];  // from where
  float *to_a_, *to_b_;                  // where to, in the first stage
};

/// The sums of a warp's tile of C, which begins at C[row0][col0]: sum[i][j] is the lane's share of
/// the 16 × 8 elements 16·i further down and 8·j further right.
template <int DOWN, int ACROSS>
__device__ void store_sums(float* C, int64_t M, int64_t N, int64_t row0, int64_t col0,
                           const float (&sum)[DOWN][ACROSS][4]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < DOWN; ++i) {
#pragma unroll
    for (int j = 0; j < ACROSS; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int64_t row = row0 + 16 * i + lane / 4 + e / 2 * 8;
        const int64_t col = col0 + 8 * j + lane % 4 * 2 + e % 2;
        if (row < M && col < N) C[row * N + col] = sum[i][j][e];
      }
    }
  }
}

}  // namespace tutorial::tiled_matmul::tf32
