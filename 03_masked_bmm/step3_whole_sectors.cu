// Step 3 = step 2 + stores that fill whole sectors: a thread owns 4 neighbouring columns and 4
// more, stores 16 bytes at a time, and 8 lanes of a warp lie side by side.
//
// The warp's shape changes with that, from 16×128 elements to 32×64. Fewer warps lie on both sides
// of a diagonal: of a block's eight two own nothing there that is kept, and leave out the products.
//
// FLOP            2·K for each of a thread's 64 elements, if one of its two patches keeps any
// global memory   A, B and the masks as in step 2, but a thread reads two patches' bytes. C is
//                 written once, in whole sectors
// asked for       loads 1024·K·live bytes, less at the edges, and the masks' bytes more,
//                 stores 4·B·M·N bytes
// shared memory   8.1 KB a block, as in step 1
// block           256 threads for 128 × 128 elements of C, in warps of 32 × 64
// H200            0.454 ms for the causal default, 182 % of cuBLAS + fill
#include <algorithm>

#include "03_masked_bmm.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/vector4.cuh"

namespace tutorial::masked_bmm {
namespace {

constexpr int BM = BLOCK, BN = BLOCK, BK = 8, TM = PATCH, TN = PATCH;
constexpr int THREADS = (BM / TM) * (BN / TN);
constexpr int HALF = TN / 2, HALVES_APART = 32;  // a thread's columns: 4, and 4 so far to the right
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0,
              "all threads must bring the same number of elements: change BK");

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

// One block's tile of one matrix, which uses mask `m` of those that there are. WIDE: every row of C
// begins at a multiple of 16 bytes.
template <bool WIDE>
__device__ void masked_tile(const MaskedBmm& p, int64_t m, int64_t row0, int64_t col0,
                            const float* A, const float* B, float* C) {
  const int64_t M = p.M, N = p.N, K = p.K;
  const int64_t blocks_down = ceil_div(M, BM), blocks_across = ceil_div(N, BN);
  const int64_t block = (m * blocks_down + row0 / BM) * blocks_across + col0 / BN;
  if (p.block_mask[block] == Kept::none) {  // the same answer for all threads: they leave together
    fill_tile<WIDE>(p, row0, col0, C);
    return;
  }

  // Aligned, so that four neighbours can be read with one instruction. As is transposed; its rows
  // begin 4 banks apart, so that a warp's stores meet no conflict.
  alignas(16) __shared__ float As[BK][BM + 4];
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
    for (int first = 0; first < BM * BK; first += THREADS) {
      const int row = (first + thread) / BK, k = (first + thread) % BK;
      As[k][row] = row0 + row < M && k0 + k < K ? A[(row0 + row) * K + k0 + k] : 0;
    }
    for (int first = 0; first < BK * BN; first += THREADS) {
      const int k = (first + thread) / BN, col = (first + thread) % BN;
      Bs[k][col] = k0 + k < K && col0 + col < N ? B[(k0 + k) * N + col0 + col] : 0;
    }
    __syncthreads();

    if (works) {  // only the products: every thread loads and meets the barriers
      for (int k = 0; k < BK; ++k) {
        float a[TM], b[TN];
        load4(a, &As[k][my_row]), load4(a + 4, &As[k][my_row + 4]);
        load4(b, &Bs[k][my_col]), load4(b + HALF, &Bs[k][my_col + HALVES_APART]);
        for (int i = 0; i < TM; ++i)
          for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
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
__global__ void __launch_bounds__(THREADS, 2)
    sectors_product(MaskedBmm p, const float* A, const float* B, float* C) {
  const int64_t col0 = blockIdx.x * int64_t{BN};
  for (int64_t b = blockIdx.z; b < p.batch; b += gridDim.z)
    for (int64_t row0 = blockIdx.y * int64_t{BM}; row0 < p.M; row0 += gridDim.y * int64_t{BM})
      masked_tile<WIDE>(p, p.mask_per_batch ? b : 0, row0, col0, A + b * p.M * p.K,
                        B + b * p.K * p.N, C + b * p.M * p.N);
}

}  // namespace

void whole_sectors(const MaskedBmm& p, const float* A, const float* B, float* C) {
  if (p.batch == 0 || p.M == 0 || p.N == 0) return;
  const dim3 grid(ceil_div(p.N, BN), std::min(ceil_div(p.M, BM), grid_limit.y),
                  std::min(p.batch, grid_limit.y));
  if (rows_are_aligned(C, p.N))
    sectors_product<true><<<grid, THREADS>>>(p, A, B, C);
  else
    sectors_product<false><<<grid, THREADS>>>(p, A, B, C);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::masked_bmm
