// Step 1 = chapter 02's 128×128 block with 8×8 results a thread, for each matrix of a batch + a
// kernel that fills.
//
// FLOP            2·B·M·N·K, masked or not
// global memory   a block reads 128 rows of A and 128 columns of B, 1024·K bytes, for 32768·K FLOP:
//                 32 FLOP a byte. C is written once; then the fill reads a byte of mask for each
//                 element of C and writes the masked ones again
// asked for by batched_product  loads 4·B·K·(M·⌈N/128⌉ + N·⌈M/128⌉) bytes, stores 4·B·M·N bytes
// asked for by fill_masked      loads B·M·N bytes, stores 4·masked bytes
// shared memory   8.1 KB a block
// block           16 × 16 threads for 128 × 128 elements of C; of the fill 256, an element each
// H200            1.45 ms for the causal default, 57 % of cuBLAS + fill
#include <algorithm>

#include "03_masked_bmm.hpp"
#include "common/kernel/check.hpp"

namespace tutorial::masked_bmm {
namespace {

constexpr int BM = BLOCK, BN = BLOCK, BK = 8, TM = PATCH, TN = PATCH;
constexpr int THREADS = (BM / TM) * (BN / TN);
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0,
              "all threads must bring the same number of elements: change BK");

// One block's tile of one matrix: C[row0 .. row0+128)[col0 .. col0+128) = A·B.
__device__ void product_tile(const MaskedBmm& p, int64_t row0, int64_t col0, const float* A,
                             const float* B, float* C) {
  const int64_t M = p.M, N = p.N, K = p.K;
  // Aligned, so that the compiler reads four neighbours with one instruction. As is transposed; its
  // rows begin 4 banks apart, so that a warp's stores meet no conflict.
  alignas(16) __shared__ float As[BK][BM + 4];
  alignas(16) __shared__ float Bs[BK][BN];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int thread = ty * (BN / TN) + tx;

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

    for (int k = 0; k < BK; ++k) {
      float a[TM], b[TN];
      for (int i = 0; i < TM; ++i) a[i] = As[k][ty * TM + i];
      for (int j = 0; j < TN; ++j) b[j] = Bs[k][tx * TN + j];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      const int64_t row = row0 + ty * TM + i, col = col0 + tx * TN + j;
      if (row >= M || col >= N) continue;
      C[row * N + col] = sum[i][j];
    }
  }
}

// x counts tiles across, y tiles down, z matrices. y and z end at 65535, so a block strides on.
__global__ void __launch_bounds__(THREADS, 2)
    batched_product(MaskedBmm p, const float* A, const float* B, float* C) {
  const int64_t col0 = blockIdx.x * int64_t{BN};
  for (int64_t b = blockIdx.z; b < p.batch; b += gridDim.z)
    for (int64_t row0 = blockIdx.y * int64_t{BM}; row0 < p.M; row0 += gridDim.y * int64_t{BM})
      product_tile(p, row0, col0, A + b * p.M * p.K, B + b * p.K * p.N, C + b * p.M * p.N);
}

// x counts elements of a matrix, y matrices. A thread fills its element in every gridDim.y-th
// matrix.
__global__ void fill_masked(MaskedBmm p, float* C) {
  const int64_t size = p.M * p.N;
  const int64_t element = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (element >= size) return;
  for (int64_t b = blockIdx.y; b < p.batch; b += gridDim.y) {
    const uint8_t keep = p.mask[(p.mask_per_batch ? b * size : 0) + element];
    if (keep == 0) C[b * size + element] = p.fill;
  }
}

}  // namespace

void masked_fill(const MaskedBmm& p, float* C) {
  if (p.batch == 0 || p.M == 0 || p.N == 0) return;
  const dim3 grid(ceil_div(p.M * p.N, THREADS), std::min<int64_t>(p.batch, 1024));
  fill_masked<<<grid, THREADS>>>(p, C);
  CUDA_CHECK_LAUNCH();
}

void bmm_then_fill(const MaskedBmm& p, const float* A, const float* B, float* C) {
  if (p.batch == 0 || p.M == 0 || p.N == 0) return;
  const dim3 grid(ceil_div(p.N, BN), std::min(ceil_div(p.M, BM), grid_limit.y),
                  std::min(p.batch, grid_limit.y));
  const dim3 block(BN / TN, BM / TM);
  batched_product<<<grid, block>>>(p, A, B, C);
  CUDA_CHECK_LAUNCH();
  masked_fill(p, C);
}

}  // namespace tutorial::masked_bmm
