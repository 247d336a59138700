// Step 2 = step 1's product + a mask on three levels: of the block, of the thread, of the element.
//
// FLOP            2·K for each element of the 8×8 patches that keep something
// global memory   a block that keeps something reads 1024·K bytes of A and B, one that keeps
//                 nothing reads none. Of the masks: a byte a block, a byte a thread, and 64 for a
//                 thread whose patch is kept in part. C is written once, fill and all
// asked for       loads 1024·K·live bytes, less at the edges, and the masks' bytes more,
//                 stores 4·B·M·N bytes; `live` is the number of blocks that keep something
// shared memory   8.1 KB a block, as in step 1
// block           16 × 16 threads for 128 × 128 elements of C
// H200            0.808 ms for the causal default, 103 % of cuBLAS + fill
#include <algorithm>

#include "03_masked_bmm.hpp"
#include "common/kernel/check.hpp"

namespace tutorial::masked_bmm {
namespace {

constexpr int BM = BLOCK, BN = BLOCK, BK = 8, TM = PATCH, TN = PATCH;
constexpr int THREADS = (BM / TM) * (BN / TN);
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0,
              "all threads must bring the same number of elements: change BK");

// What a skipped block does instead. Neighbouring threads write neighbouring elements.
__device__ void fill_tile(const MaskedBmm& p, int64_t row0, int64_t col0, float* C) {
  const int thread = threadIdx.y * (BN / TN) + threadIdx.x;
  for (int first = 0; first < BM * BN; first += THREADS) {
    const int64_t row = row0 + (first + thread) / BN, col = col0 + (first + thread) % BN;
    if (row < p.M && col < p.N) C[row * p.N + col] = p.fill;
  }
}

// One block's tile of one matrix, which uses mask `m` of those that there are.
__device__ void masked_tile(const MaskedBmm& p, int64_t m, int64_t row0, int64_t col0,
                            const float* A, const float* B, float* C) {
  const int64_t M = p.M, N = p.N, K = p.K;
  const int64_t blocks_down = ceil_div(M, BM), blocks_across = ceil_div(N, BN);
  const int64_t block = (m * blocks_down + row0 / BM) * blocks_across + col0 / BN;
  if (p.block_mask[block] == Kept::none) {  // the same answer for all threads: they leave together
    fill_tile(p, row0, col0, C);
    return;
  }

  // Aligned, so that the compiler reads four neighbours with one instruction. As is transposed; its
  // rows begin 4 banks apart, so that a warp's stores meet no conflict.
  alignas(16) __shared__ float As[BK][BM + 4];
  alignas(16) __shared__ float Bs[BK][BN];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int thread = ty * (BN / TN) + tx;

  const int64_t patches_down = ceil_div(M, TM), patches_across = ceil_div(N, TN);
  const int64_t down = row0 / TM + ty, across = col0 / TN + tx;
  Kept patch = Kept::none;  // also of a patch outside C
  if (down < patches_down && across < patches_across)
    patch = p.thread_mask[(m * patches_down + down) * patches_across + across];

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

    if (patch != Kept::none) {  // only the products: every thread loads and meets the barriers
      for (int k = 0; k < BK; ++k) {
        float a[TM], b[TN];
        for (int i = 0; i < TM; ++i) a[i] = As[k][ty * TM + i];
        for (int j = 0; j < TN; ++j) b[j] = Bs[k][tx * TN + j];
        for (int i = 0; i < TM; ++i)
          for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();
  }

  const uint8_t* mask = p.mask + m * M * N;
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      const int64_t row = row0 + ty * TM + i, col = col0 + tx * TN + j;
      if (row >= M || col >= N) continue;
      const bool keep = patch == Kept::all || (patch == Kept::some && mask[row * N + col] != 0);
      C[row * N + col] = keep ? sum[i][j] : p.fill;
    }
  }
}

// x counts tiles across, y tiles down, z matrices. y and z end at 65535, so a block strides on.
__global__ void __launch_bounds__(THREADS, 2)
    masked_product(MaskedBmm p, const float* A, const float* B, float* C) {
  const int64_t col0 = blockIdx.x * int64_t{BN};
  for (int64_t b = blockIdx.z; b < p.batch; b += gridDim.z)
    for (int64_t row0 = blockIdx.y * int64_t{BM}; row0 < p.M; row0 += gridDim.y * int64_t{BM})
      masked_tile(p, p.mask_per_batch ? b : 0, row0, col0, A + b * p.M * p.K, B + b * p.K * p.N,
                  C + b * p.M * p.N);
}

}  // namespace

void three_level_mask(const MaskedBmm& p, const float* A, const float* B, float* C) {
  if (p.batch == 0 || p.M == 0 || p.N == 0) return;
  const dim3 grid(ceil_div(p.N, BN), std::min(ceil_div(p.M, BM), grid_limit.y),
                  std::min(p.batch, grid_limit.y));
  const dim3 block(BN / TN, BM / TM);
  masked_product<<<grid, block>>>(p, A, B, C);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::masked_bmm
