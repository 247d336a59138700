// The product in all steps: tiles of 128 queries × 256 points, from a packed A and B. What becomes
// of a tile's sums stands in the steps; here is how a block comes by them: chapter 2's 16×8 sums a
// thread, pieces of D in two buffers, the operands read a k ahead.
//
// The tiles of all strips of queries, one strip after the other, are cut into equal shares, one a
// block: so every multiprocessor has as much to do, whatever M and N are. A share may begin and end
// within a strip.
#pragma once

#include "common/kernel/async_copy.cuh"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"
#include "nearest/key.cuh"

namespace tutorial::masked_bmm::nearest {

inline constexpr int BM = STRIP, BN = TILE, BK = DEPTH;
inline constexpr int TM = 16, TN = 8;  // a thread's sums, in groups of 4 × 4
inline constexpr int THREADS = BM / TM * BN / TN;
inline constexpr int LANES_M = 4, LANES_N = 8, WARPS_N = 4;  // a warp's threads; warps side by side

/// A piece of A and one of B in shared memory, k by k; two of them: one that comes, one in use.
struct Pieces {
  alignas(16) float a[2][BK][BM];
  alignas(16) float b[2][BK][BN];
};

/// The row, and the column, in the tile of a thread's sum [i][j].
__device__ inline int row_of(int i) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  return warp / WARPS_N * (LANES_M * TM) + (lane / 16 * 2 + lane % 2) * 4 + i / 4 * (LANES_M * 4) +
         i % 4;
}
__device__ inline int col_of(int j) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  return warp % WARPS_N * (LANES_N * TN) + lane / 2 % 8 * 4 + j / 4 * (LANES_N * 4) + j % 4;
}

/// A block's share of the tiles: the one at hand, and the pieces that come.
class Walk {
 public:
  __device__ explicit Walk(const Packed& packed)
      : strips_(packed.strips),
        depth_(packed.pieces),
        tiles_(static_cast<int>(packed.tiles)),
        next_(packed.first_tile(blockIdx.x)),
        end_(packed.first_tile(blockIdx.x + 1)) {
    strip_ = come_strip_ = next_ / tiles_;
    tile_ = come_tile_ = static_cast<int>(next_ % tiles_);
    const int quad = threadIdx.x * 4;
    a_start_ = packed.A + quad;
    a_ = a_start_ + come_strip_ * depth_ * (BK * BM);
    b_start_ = packed.B + quad;
    b_ = b_start_ + come_tile_ * depth_ * (BK * BN);
  }

  // The tile at hand: where it lies, and whether it is the share's first or last one of its strip.
  __device__ bool is_over() const { return next_ == end_; }
  __device__ int64_t first_row() const { return strip_ * BM; }
  __device__ int first_col() const { return tile_ * BN; }
  __device__ bool begins_strip(const Packed& p) const {
    return tile_ == 0 || next_ == p.first_tile(blockIdx.x);
  }
  __device__ bool ends_strip() const { return tile_ == tiles_ - 1 || next_ == end_ - 1; }
  __device__ void step() {
    ++next_;
    if (++tile_ == tiles_) tile_ = 0, ++strip_;
  }

 protected:
  static constexpr int OF_A = BK * BM / 4 / THREADS, COPIES = OF_A + BK * BN / 4 / THREADS;

  /// Begins copy c of COPIES of the piece that comes, to a and b: 16 bytes.
  __device__ void begin_copy(int c, float* a, float* b) const {
    const int quad = threadIdx.x * 4;
    if (c < OF_A)
      copy_async<4>(a + c * THREADS * 4 + quad, a_ + c * THREADS * 4);
    else
      copy_async<4>(b + (c - OF_A) * THREADS * 4 + quad, b_ + (c - OF_A) * THREADS * 4);
  }

  /// On to the next piece: B's lie one behind the other. A's do, too, but begin again with a tile.
  __device__ void advance() {
    a_ += BK * BM, b_ += BK * BN;
    if (++come_piece_ < depth_) return;
    come_piece_ = 0;
    if (++come_tile_ < tiles_) {
      a_ -= depth_ * (BK * BM);
    } else {
      come_tile_ = 0, b_ = b_start_;
      if (++come_strip_ == strips_) come_strip_ = 0, a_ = a_start_;
    }
  }

  int64_t strips_, depth_;  // pieces of a tile

 private:
  int tiles_;           // of a strip
  int64_t next_, end_;  // tiles, counted through all strips
  int64_t strip_;
  int tile_;
  int64_t come_strip_, come_piece_ = 0;  // what is being copied
  int come_tile_;
  const float *a_, *b_, *a_start_, *b_start_;
};

/// The share, and how its tiles are multiplied.
class Share : public Walk {
 public:
  __device__ Share(Pieces& pieces, const Packed& packed) : Walk(packed), pieces_(pieces) {
    for (int c = 0; c < COPIES; ++c) copy(c, 0);
    wait();
    advance();
    read_operands(0, 0, 0);
  }

  /// The products of a tile.
  __device__ void multiply(float (&sum)[TM][TN]) {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) sum[i][j] = 0;
    for (int64_t piece = 0; piece < depth_; ++piece) {
#pragma unroll
      for (int k = 0; k < BK; ++k) {
        // Before the last products the next piece must have come: its first elements are read now.
        // (The last piece of all is followed by one that nobody needs: so no test stands here.)
        if (k == BK - 1) {
          wait();
          advance();
          read_operands(0, 1 - buffer_, 0);
        } else {
          read_operands((k + 1) % 2, buffer_, k + 1);
        }
        if (k < COPIES) copy(k, 1 - buffer_);
        add_products(sum, a_now_[k % 2], b_now_[k % 2]);
      }
      buffer_ = 1 - buffer_;
    }
  }

 private:
  static_assert(COPIES < BK, "a copy with each k");

  __device__ void copy(int c, int buffer) const {
    begin_copy(c, &pieces_.a[buffer][0][0], &pieces_.b[buffer][0][0]);
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
  int buffer_ = 0;
  float a_now_[2][TM], b_now_[2][TN];
};

/// The smallest of a thread's sums of a row. fminf passes over NaN.
__device__ inline float smallest(const float (&sum)[TN]) {
  float least = sum[0];
#pragma unroll
  for (int j = 1; j < TN; ++j) least = fminf(least, sum[j]);
  return least;
}
/// The first j of it: of equal ones the first has the smallest number.
__device__ inline int first_place(const float (&sum)[TN], float least) {
  int place = 0;
#pragma unroll
  for (int j = TN - 1; j >= 0; --j)
    if (sum[j] == least) place = j;
  return place;
}

/// sum[place] is done.
__device__ inline void take_out(float (&sum)[TN], int place) {
#pragma unroll
  for (int j = 0; j < TN; ++j)
    if (j == place) sum[j] = NAN;
}

/// Bit i: is one of sum[i] below its row's limit, or EQUAL_TOO? NaN is no limit. All rows are
/// tested before any branch, so that no test waits for another one.
template <bool EQUAL_TOO>
__device__ unsigned rows_to_look_at(const float (&sum)[TM][TN], const float* limits) {
  unsigned rows = 0;
#pragma unroll
  for (int i = 0; i < TM; i += 4) {
    float limit[4];
    load4(limit, limits + row_of(i));
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const float least = smallest(sum[i + r]);
      const bool is_out = EQUAL_TOO ? least > limit[r] : least >= limit[r];
      rows |= (is_out ? 0u : 1u) << (i + r);
    }
  }
  return rows;
}

/// Sums of columns from `cols` on become NaN: what lies beyond the last point never wins.
__device__ inline void drop_beyond(float (&sum)[TM][TN], int cols) {
#pragma unroll
  for (int j = 0; j < TN; ++j)
#pragma unroll
    for (int i = 0; i < TM; ++i)
      if (col_of(j) >= cols) sum[i][j] = NAN;
}

}  // namespace tutorial::masked_bmm::nearest
