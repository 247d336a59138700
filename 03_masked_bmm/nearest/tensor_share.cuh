// The product of step 9: the same tiles as in strip.cuh, from fragments of fp16 (fragments.cu).
#pragma once

#include "common/kernel/mma.cuh"
#include "nearest/strip.cuh"

namespace tutorial::masked_bmm::nearest {

inline constexpr int STAGES = 4;            // pieces in shared memory that come or are read
inline constexpr int DOWN = 4, ACROSS = 8;  // a warp's fragments of C: 64 × 64
inline constexpr int ROWS = 2 * DOWN;       // a lane's rows …
inline constexpr int COLS = 2 * ACROSS;     // … and columns
using Sums = float[DOWN][ACROSS][4];

/// A lane's fragment of A, or two of B side by side: 16 bytes.
struct alignas(16) Fragment {
  uint32_t of[4];
};
/// 16 columns of a strip and of a tile.
struct FragmentPiece {
  Fragment a[BM / 16][32];
  Fragment b[BN / 16][32];
};

/// Which of a lane's sums is in its row r and column c, and where these lie in the tile (mma.cuh).
__device__ inline float& sum_of(Sums& sum, int r, int c) {
  return sum[r / 2][c / 2][r % 2 * 2 + c % 2];
}
__device__ inline int tensor_row_of(int r) {
  return threadIdx.x / 32 / WARPS_N * (16 * DOWN) + r * 8 + threadIdx.x % 32 / 4;
}
__device__ inline int tensor_col_of(int c) {
  return threadIdx.x / 32 % WARPS_N * (8 * ACROSS) + c / 2 * 8 + threadIdx.x % 4 * 2 + c % 2;
}

/// A lane's fragments of a piece.
struct Fragments {
  Fragment a[DOWN], b[ACROSS / 2];
};

class TensorShare : public Walk {
 public:
  __device__ TensorShare(FragmentPiece* pieces, const Packed& packed)
      : Walk(packed), pieces_(pieces) {
    for (int stage = 0; stage < STAGES; ++stage) copy(stage);
    wait_for_next();
    read(now_, 0);
  }
  __device__ ~TensorShare() { __pipeline_wait_prior(0); }

  /// The products of a tile. The fragments are read a piece ahead of their use.
  __device__ void multiply(Sums& sum) {
#pragma unroll
    for (int i = 0; i < DOWN * ACROSS * 4; ++i) (&sum[0][0][0])[i] = 0;
#pragma unroll 2
    for (int64_t piece = 0; piece < depth_; ++piece) {
      const int stage = stage_;
      stage_ = (stage_ + 1) % STAGES;
      wait_for_next();
      Fragments next;
      read(next, stage_);
      copy(stage);
#pragma unroll
      for (int i = 0; i < DOWN; ++i)
#pragma unroll
        for (int j = 0; j < ACROSS; ++j)
          mma_m16n8k16<__half>(sum[i][j], now_.a[i].of, now_.b[j / 2].of[j % 2 * 2],
                               now_.b[j / 2].of[j % 2 * 2 + 1]);
      now_ = next;
    }
  }

 private:
  /// Begins to copy the piece that comes.
  __device__ void copy(int stage) {
#pragma unroll
    for (int c = 0; c < COPIES; ++c)
      begin_copy(c, reinterpret_cast<float*>(pieces_[stage].a),
                 reinterpret_cast<float*>(pieces_[stage].b));
    __pipeline_commit();
    advance();
  }

  __device__ void wait_for_next() const {
    __pipeline_wait_prior(STAGES - 2);  // this thread's copies of the next piece have come …
    __syncthreads();                    // … and all threads'; nobody reads the last one any more
  }

  __device__ void read(Fragments& to, int stage) const {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const FragmentPiece& from = pieces_[stage];
#pragma unroll
    for (int i = 0; i < DOWN; ++i) to.a[i] = from.a[warp / WARPS_N * DOWN + i][lane];
#pragma unroll
    for (int j = 0; j < ACROSS / 2; ++j) to.b[j] = from.b[warp % WARPS_N * (ACROSS / 2) + j][lane];
  }

  FragmentPiece* pieces_;  // STAGES
  int stage_ = 0;          // of the fragments that were read
  Fragments now_;
};
static_assert(sizeof(FragmentPiece) == sizeof(Pieces) / 2, "as many bytes as 8 columns of float32");

}  // namespace tutorial::masked_bmm::nearest
