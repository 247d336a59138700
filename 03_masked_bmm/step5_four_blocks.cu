// Step 5 = step 4 + half the tile, so that four blocks share a multiprocessor: while one waits for
// its operands or stores, the others multiply.
//
// FLOP            2·K for each of a thread's 64 elements, if one of its two patches keeps any
// global memory   a tile reads 256·K bytes of A and 512·K of B, so half as much again as in step 4,
//                 mostly from the L2 cache. C is written once
// asked for       loads 1536·K·live bytes, less at the edges, and the masks' bytes more,
//                 stores 4·B·M·N bytes
// shared memory   24.1 KB a block
// block           128 threads for 64 × 128 elements of C, four blocks on a multiprocessor; at most
//                 128 registers a thread
// H200            0.370 ms for the causal default, 224 % of cuBLAS + fill
#include <algorithm>

#include "03_masked_bmm.hpp"
#include "common/kernel/async_copy.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/vector4.cuh"

namespace tutorial::masked_bmm {
namespace {

constexpr int BM = BLOCK / 2, BN = BLOCK, BK = 32, TM = PATCH, TN = PATCH;
constexpr int THREADS = (BM / TM) * (BN / TN);
constexpr int HALF = TN / 2, HALVES_APART = 32;  // a thread's columns: 4, and 4 so far to the right

// What a skipped block does instead: a warp fills a row at a time.
template <bool WIDE>
__device__ void fill_tile(const MaskedBmm& p, int64_t row0, int64_t col0, float* C) {
  const float four[4] = {p.fill, p.fill, p.fill, p.fill};
  for (int first = 0; first < BM * BN; first += 4 * THREADS) {
    const int place = first + 4 * threadIdx.x;
    const int64_t row = row0 + place / BN, col = col0 + place % BN;
    if (row < p.M) store4_guarded<WIDE>(C + row * p.N + col, four, p.N - col);
  }
}

// Begins the copies of ROWS × COLS floats, of which `rows` × `cols` exist; zeros come in place of
// the others. to(row, col) is where one goes. STEP floats a copy.
template <int STEP, int ROWS, int COLS, class Place>
__device__ void begin_copies(const float* from, int64_t stride, int64_t rows, int64_t cols,
                             const Place& to) {
  constexpr int THREADS_A_ROW = COLS / STEP, ROWS_AT_ONCE = THREADS / THREADS_A_ROW;
  const int col = threadIdx.x % THREADS_A_ROW * STEP;
  int row = threadIdx.x / THREADS_A_ROW;
  from += row * stride + col;
#pragma unroll 2
  for (; row < ROWS; row += ROWS_AT_ONCE, from += ROWS_AT_ONCE * stride)
    copy_async<STEP>(to(row, col), from, row < rows && col < cols);
}

// One block's tile of one matrix, which uses mask `m` of those that there are. WIDE: every row of
// A, B and C begins at a multiple of 16 bytes.
template <bool WIDE>
__device__ void masked_tile(const MaskedBmm& p, int64_t m, int64_t row0, int64_t col0,
                            const float* A, const float* B, float* C) {
  constexpr int STEP = WIDE ? 4 : 1;  // floats in a copy
  const int64_t M = p.M, N = p.N, K = p.K;
  const int64_t blocks_down = ceil_div(M, BLOCK), blocks_across = ceil_div(N, BLOCK);
  const int64_t block = (m * blocks_down + row0 / BLOCK) * blocks_across + col0 / BLOCK;
  if (p.block_mask[block] == Kept::none) {  // the same answer for all threads: they leave together
    fill_tile<WIDE>(p, row0, col0, C);
    return;
  }

  // A keeps its rows. After 8 of them come 4 floats of padding: the four threads of a warp that lie
  // below each other read rows 8 apart, and so meet different banks.
  alignas(16) __shared__ float As[BM / 8][8 * BK + 4];
  alignas(16) __shared__ float Bs[BK][BN];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int my_row = warp / 2 * 32 + lane / 8 * TM;  // in the tile
  const int my_col = warp % 2 * 64 + lane % 8 * HALF;

  // The two halves lie in two patches.
  const int64_t patches_down = ceil_div(M, PATCH), patches_across = ceil_div(N, PATCH);
  Kept patch[2] = {Kept::none, Kept::none};  // also of a patch outside C
  for (int half = 0; half < 2; ++half) {
    const int64_t down = (row0 + my_row) / PATCH;
    const int64_t across = (col0 + my_col + half * HALVES_APART) / PATCH;
    if (down < patches_down && across < patches_across)
      patch[half] = p.thread_mask[(m * patches_down + down) * patches_across + across];
  }
  const bool works = patch[0] != Kept::none || patch[1] != Kept::none;

  float sum[TM][TN] = {};
  for (int64_t k0 = 0; k0 < K; k0 += BK) {
    begin_copies<STEP, BM, BK>(A + row0 * K + k0, K, M - row0, K - k0,
                               [&](int row, int k) { return &As[row / 8][row % 8 * BK + k]; });
    begin_copies<STEP, BK, BN>(B + k0 * N + col0, N, K - k0, N - col0,
                               [&](int k, int col) { return &Bs[k][col]; });
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();

    if (works) {  // only the products: every thread loads and meets the barriers
      const int depth = static_cast<int>(min(K - k0, int64_t{BK}));  // beyond it are zeros
#pragma unroll 2
      for (int k = 0; k < depth; k += 4) {
        float a[TM][4], b[TN];
        for (int i = 0; i < TM; ++i) load4(a[i], &As[my_row / 8][i * BK + k]);
        for (int d = 0; d < 4; ++d) {
          load4(b, &Bs[k + d][my_col]), load4(b + HALF, &Bs[k + d][my_col + HALVES_APART]);
          for (int i = 0; i < TM; ++i)
            for (int j = 0; j < TN; ++j) sum[i][j] += a[i][d] * b[j];
        }
      }
    }
    __syncthreads();
  }

  const uint8_t* mask = p.mask + m * M * N;
  for (int i = 0; i < TM; ++i) {
    for (int half = 0; half < 2; ++half) {
      const int64_t row = row0 + my_row + i, col = col0 + my_col + half * HALVES_APART;
      if (row >= M || col >= N) continue;
      float four[HALF];
      for (int j = 0; j < HALF; ++j) {
        const bool ask = patch[half] == Kept::some && col + j < N;
        const bool keep = patch[half] == Kept::all || (ask && mask[row * N + col + j] != 0);
        four[j] = keep ? sum[i][half * HALF + j] : p.fill;
      }
      store4_guarded<WIDE>(C + row * N + col, four, N - col);
    }
  }
}

// x counts tiles across, y tiles down, z matrices. y and z end at 65535, so a block strides on.
template <bool WIDE>
__global__ void __launch_bounds__(THREADS, 4)
    half_blocks_product(MaskedBmm p, const float* A, const float* B, float* C) {
  const int64_t col0 = blockIdx.x * int64_t{BN};
  for (int64_t b = blockIdx.z; b < p.batch; b += gridDim.z)
    for (int64_t row0 = blockIdx.y * int64_t{BM}; row0 < p.M; row0 += gridDim.y * int64_t{BM})
      masked_tile<WIDE>(p, p.mask_per_batch ? b : 0, row0, col0, A + b * p.M * p.K,
                        B + b * p.K * p.N, C + b * p.M * p.N);
}

}  // namespace

void four_blocks(const MaskedBmm& p, const float* A, const float* B, float* C) {
  if (p.batch == 0 || p.M == 0 || p.N == 0) return;
  const dim3 grid(ceil_div(p.N, BN), std::min(ceil_div(p.M, BM), grid_limit.y),
                  std::min(p.batch, grid_limit.y));
  if (rows_are_aligned(A, p.K) && rows_are_aligned(B, p.N) && rows_are_aligned(C, p.N))
    half_blocks_product<true><<<grid, THREADS>>>(p, A, B, C);
  else
    half_blocks_product<false><<<grid, THREADS>>>(p, A, B, C);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::masked_bmm
