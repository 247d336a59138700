// Step 6 = step 5 + 16×8 elements a thread, and an order in which nothing waits for anything else.
//
// FLOP            2·M·N·K
// global memory   with the large tile each element serves 128 rows or 256 columns: 3·M·N·K / 64
//                 bytes, plus 4·M·N for C; 43 FLOP a byte
// asked for by warp_tile_large  loads 1536·K·⌈M/128⌉·⌈N/256⌉ bytes, stores 4·M·N bytes
// asked for by warp_tile_small  loads 768·K·⌈M/64⌉·⌈N/128⌉ bytes, stores 4·M·N bytes
//                 (beta = 0; a tile at the edge is brought whole)
// shared memory   large: 24.3 KB a block, a product reads 3/16 float on average; small: 24.5 KB
//                 a block and 1/4 float
// block           large: 256 threads for 128 × 256 elements of C; small: 128 for 64 × 128
#include <cuda_pipeline.h>

#include <type_traits>

#include "02_tiled_matmul.hpp"
#include "aligned.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial {
namespace {

/// How a block works: WARPS_M × WARPS_N warps, one above the other and side by side; a thread has
/// TM_ × 8 elements of C; BK_ elements of K at a time.
template <int WARPS_M, int WARPS_N_, int TM_, int BK_>
struct Tile2D {
  static constexpr int WARPS_N = WARPS_N_, TM = TM_, TN = 8, BK = BK_;
  static constexpr int WM = 4 * TM, WN = 8 * TN;  // a warp's tile of C: 4 × 8 threads
  static constexpr int BM = WARPS_M * WM, BN = WARPS_N * WN;
  static constexpr int THREADS = WARPS_M * WARPS_N * 32;
  static constexpr int PAD = 4;  // floats at the end of each row of As: rows begin 4 banks apart
  static_assert(BK % 8 == 0, "a thread brings elements of A that lie 8 apart along K");
  static_assert(2 * (BM + PAD + BN) * BK * sizeof(float) <= 48 * 1024,
                "two pairs of tiles must fit into 48 KB of shared memory: make BK smaller");
};
using Large = Tile2D<2, 4, 16, 8>;  // 128 × 256
using Small = Tile2D<2, 2, 8, 16>;  // 64 × 128

/// Four neighbours in one instruction. The address in memory must be a multiple of 16 bytes.
__device__ void read4(float* to, const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

__device__ int64_t smaller(int64_t x, int64_t y) {
  return x < y ? x : y;
}

/// A thread's share of the copies of one pair of tiles. Their sources need no test while the block
/// walks along K: a row or column beyond the edge is replaced by the last one, and what comes of
/// it is not stored.
template <class T, int WIDTH_B>
class Copies {
 public:
  static constexpr int A_ROWS_APART = T::THREADS / 8;  // 8 threads side by side along K
  static constexpr int B_GROUPS = T::BN / WIDTH_B;     // threads side by side along a row of B
  static constexpr int B_ROWS_APART = T::THREADS / B_GROUPS;
  static constexpr int A_ROWS = T::BM / A_ROWS_APART, OF_A = A_ROWS * (T::BK / 8);
  static constexpr int COUNT = OF_A + T::BK / B_ROWS_APART;
  static_assert(T::THREADS % B_GROUPS == 0 && T::BK % B_ROWS_APART == 0, "whole rows of B");

  __device__ Copies(const float* A, const float* B, int64_t M, int64_t K, int64_t ldb, int64_t row0,
                    int64_t col0, float* As, float* Bs)
      : ldb_(ldb) {
    const int row = threadIdx.x / 8, col = threadIdx.x % B_GROUPS * WIDTH_B;
    a_k_ = threadIdx.x % 8, b_k_ = threadIdx.x / B_GROUPS;
#pragma unroll
    for (int i = 0; i < A_ROWS; ++i)
      a_[i] = A + smaller(row0 + row + i * A_ROWS_APART, M - 1) * K + a_k_;
    b_ = B + b_k_ * ldb + smaller(col0 + col, ldb - WIDTH_B);
    to_a_ = As + a_k_ * (T::BM + T::PAD) + row;
    to_b_ = Bs + b_k_ * T::BN + col;
  }

  /// Begins copy number c of COUNT into the given one of the two buffers.
  __device__ void begin(int c, int buffer) const {
    begin(c, buffer, [](int) { return true; });
  }

  /// The same for tiles that are only `depth` elements deep: zeros fill them up.
  __device__ void begin_part(int c, int buffer, int depth) const {
    begin(c, buffer, [&](int k) { return k < depth; });
  }

  __device__ void advance(int depth) {
#pragma unroll
    for (int i = 0; i < A_ROWS; ++i) a_[i] += depth;
    b_ += depth * ldb_;
  }

 private:
  template <class Inside>
  __device__ void begin(int c, int buffer, Inside inside) const {
    if (c < OF_A) {  // transposed on its way, so one float at a time
      const int i = c % A_ROWS, k = c / A_ROWS * 8;
      __pipeline_memcpy_async(to_a_ + (buffer * T::BK + k) * (T::BM + T::PAD) + i * A_ROWS_APART,
                              a_[i] + k, 4, inside(a_k_ + k) ? 0 : 4);
    } else {
      const int k = (c - OF_A) * B_ROWS_APART;
      __pipeline_memcpy_async(to_b_ + (buffer * T::BK + k) * T::BN, b_ + k * ldb_, 4 * WIDTH_B,
                              inside(b_k_ + k) ? 0 : 4 * WIDTH_B);
    }
  }

  int64_t ldb_;
  int a_k_, b_k_;
  const float *a_[A_ROWS], *b_;
  float *to_a_, *to_b_;
};

// WIDTH_B and WIDTH_C: floats in one access to B and to C, 4 where rows are aligned and else 1.
template <class T, int WIDTH_B, int WIDTH_C>
__device__ void warp_tile_block(const float* A, const float* B, float* C, int64_t M, int64_t N,
                                int64_t K, int64_t ldb, float alpha, float beta) {
  constexpr int TM = T::TM, TN = T::TN, BK = T::BK;
  alignas(16) __shared__ float As[2][BK][T::BM + T::PAD];
  alignas(16) __shared__ float Bs[2][BK][T::BN];
  constexpr int PER_K = WIDTH_B == 4 ? 3 : 6;  // copies that a thread begins with each k
  const int64_t across = ceil_div(N, T::BN);
  const int64_t row0 = blockIdx.x / across * T::BM, col0 = blockIdx.x % across * T::BN;

  // A warp's 4 × 8 threads. Lanes l and l + 1 (l even) have the same columns; l and l + 2, in the
  // same half of the warp, the same rows. So neighbours ask shared memory for the same 16 bytes.
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int lane_m = lane / 16 * 2 + lane % 2, lane_n = lane / 2 % 8;
  const int m = warp / T::WARPS_N * T::WM + lane_m * 4;  // the first of its rows: 4 of each 16
  const int n = warp % T::WARPS_N * T::WN + lane_n * 4;  // … and columns: 4 of each 32

  float a[2][TM], b[2][TN], sum[TM][TN] = {};
  const auto read_fragments = [&](int which, int buffer, int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4) read4(&a[which][i], &As[buffer][k][m + i * 4]);
#pragma unroll
    for (int j = 0; j < TN; j += 4) read4(&b[which][j], &Bs[buffer][k][n + j * 8]);
  };

  // The tiles at the start hold what is left of K when whole tiles are taken from its end: so all
  // others are whole, and the loop below has no test for it.
  using CopiesOfTile = Copies<T, WIDTH_B>;
  CopiesOfTile copies(A, B, M, K, ldb, row0, col0, &As[0][0][0], &Bs[0][0][0]);
  const int64_t tiles = ceil_div(K, BK);
  if (tiles > 0) {
    const int depth = static_cast<int>(K - (tiles - 1) * BK);
#pragma unroll
    for (int c = 0; c < CopiesOfTile::COUNT; ++c) copies.begin_part(c, 0, depth);
    copies.advance(depth);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    read_fragments(0, 0, 0);
  }
  // The products of one pair of tiles, whose first elements were read already. While there are more
  // to come, they are copied into the other buffer; the last pair has its own code, without tests.
  const auto multiply = [&](int buffer, auto more_tiles) {
    constexpr bool MORE = decltype(more_tiles)::value;
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      // Before the last products the next tiles must have come: their first elements are read now.
      if (k == BK - 1 && MORE) {
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        copies.advance(BK);
      }
      if (k < BK - 1) read_fragments((k + 1) % 2, buffer, k + 1);
      if (k == BK - 1 && MORE) read_fragments(0, 1 - buffer, 0);
#pragma unroll  // a few copies with each k: all at once, they would keep the arithmetic waiting
      for (int c = k * PER_K; MORE && c < CopiesOfTile::COUNT && c < (k + 1) * PER_K; ++c)
        copies.begin(c, 1 - buffer);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        // To and fro: from one product to the next, a or b stays. A product reads three registers,
        // and the register file gives two a cycle; the one that stays need not be read again.
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          const int turn = i % 2 == 0 ? j : TN - 1 - j;
          sum[i][turn] += a[k % 2][i] * b[k % 2][turn];
        }
      }
    }
  };
  int buffer = 0;
  for (int64_t tile = 1; tile < tiles; ++tile) {
    multiply(buffer, std::true_type());
    buffer = 1 - buffer;
  }
  if (tiles > 0) multiply(buffer, std::false_type());

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += WIDTH_C) {
      const int64_t row = row0 + m + i / 4 * 16 + i % 4, col = col0 + n + j / 4 * 32 + j % 4;
      if (row >= M || col >= N) continue;
      float* c = C + row * N + col;
      float old[4] = {}, result[4];
      // With beta = 0 C is not read: it may hold anything, even NaN.
      if (beta != 0 && WIDTH_C == 4) read4(old, c);
      if (beta != 0 && WIDTH_C == 1) old[0] = *c;
      for (int l = 0; l < WIDTH_C; ++l) result[l] = alpha * sum[i][j + l] + beta * old[l];
      if (WIDTH_C == 4) {
        *reinterpret_cast<float4*>(c) = make_float4(result[0], result[1], result[2], result[3]);
      } else {
        *c = result[0];
      }
    }
  }
}

// The second launch bound is the number of blocks that share a multiprocessor's 65536 registers:
// one of 256 threads has the 255 a thread that CUDA allows at most, three of 128 threads have 168.
template <int WIDTH_B, int WIDTH_C>
__global__ void __launch_bounds__(Large::THREADS, 1)
    warp_tile_large(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                    int64_t ldb, float alpha, float beta) {
  warp_tile_block<Large, WIDTH_B, WIDTH_C>(A, B, C, M, N, K, ldb, alpha, beta);
}

template <int WIDTH_B, int WIDTH_C>
__global__ void __launch_bounds__(Small::THREADS, 3)
    warp_tile_small(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                    int64_t ldb, float alpha, float beta) {
  warp_tile_block<Small, WIDTH_B, WIDTH_C>(A, B, C, M, N, K, ldb, alpha, beta);
}

template <class T>
int64_t blocks_of(int64_t M, int64_t N) {
  return ceil_div(M, T::BM) * ceil_div(N, T::BN);
}

/// The elements of C that the busiest multiprocessor has to compute: they decide when all is done.
template <class T>
double most_work(int64_t M, int64_t N, int multiprocessors) {
  return static_cast<double>(ceil_div(blocks_of<T>(M, N), multiprocessors) * T::BM * T::BN);
}

}  // namespace

// The rule for the tile: the one whose busiest multiprocessor has less to do, but the small one
// must win by 5 %, since it reads shared memory more. It wins where the large one leaves
// multiprocessors idle, from the start or at the end, or reaches far over C's edge. And for the
// accesses: B and C each take the 16-byte path if they can.
void warp_tile_strided(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                       int64_t ldb, float alpha, float beta) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // as in SGEMM: what A and B hold does not matter
  using Kernel = decltype(&warp_tile_large<4, 4>);
  constexpr Kernel large[2][2] = {{warp_tile_large<1, 1>, warp_tile_large<1, 4>},
                                  {warp_tile_large<4, 1>, warp_tile_large<4, 4>}};
  constexpr Kernel small[2][2] = {{warp_tile_small<1, 1>, warp_tile_small<1, 4>},
                                  {warp_tile_small<4, 1>, warp_tile_small<4, 4>}};
  int device, multiprocessors;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const bool b = rows_are_aligned(B, ldb), c = rows_are_aligned(C, N);
  // The blocks stand in one row: it may be as long as it likes, unlike a grid's y.
  if (1.05 * most_work<Small>(M, N, multiprocessors) < most_work<Large>(M, N, multiprocessors)) {
    const auto kernel = small[b][c];
    kernel<<<blocks_of<Small>(M, N), Small::THREADS>>>(A, B, C, M, N, K, ldb, alpha, beta);
  } else {
    const auto kernel = large[b][c];
    kernel<<<blocks_of<Large>(M, N), Large::THREADS>>>(A, B, C, M, N, K, ldb, alpha, beta);
  }
  CUDA_CHECK_LAUNCH();
}

void warp_tile(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
               float alpha, float beta) {
  warp_tile_strided(A, B, C, M, N, K, N, alpha, beta);
}

}  // namespace tutorial
