// Step 5 = step 4 + the next tiles are copied into shared memory while these are multiplied.
//
// FLOP            2·M·N·K
// global memory   as in steps 2 to 4: M·N·K / 16 + 4·M·N bytes, 32 FLOP a byte
// asked for       loads 4·K·(M·⌈N/128⌉ + N·⌈M/128⌉) bytes, stores 4·M·N bytes (beta = 0)
// shared memory   16.3 KB a block: two pairs of tiles
// block           16 × 16 threads for 128 × 128 elements of C
#include <cuda_pipeline.h>

#include <algorithm>

#include "02_tiled_matmul.hpp"
#include "aligned.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial {
namespace {

constexpr int BM = 128, BN = 128, BK = 8;  // a block's tiles: BM×BN of C, BM×BK of A, BK×BN of B
constexpr int TM = 8, TN = 8;              // a thread's elements of C
constexpr int THREADS = (BM / TM) * (BN / TN);
constexpr int PAD = 4;  // floats at the end of each row of As: rows begin 4 banks apart
static_assert(BM % TM == 0 && BN % TN == 0, "whole patches must fill the block's tile of C");
static_assert(TM % 4 == 0 && TN % 4 == 0, "a thread reads four neighbours at a time: use 4, 8, …");
static_assert(BM * BK % THREADS == 0 && BK * BN % (4 * THREADS) == 0,
              "all threads must bring the same number of elements: change BM or BN");
static_assert(2 * (BM + PAD + BN) * BK * sizeof(float) <= 48 * 1024,
              "two pairs of tiles must fit into 48 KB of shared memory: make BM or BN smaller");

/// Four neighbours in one instruction. The address in memory must be a multiple of 16 bytes.
__device__ void read4(float* to, const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

/// Begins to copy COUNT floats into shared memory; they have come after a wait. What lies outside
/// of the matrix is not read: zeros come in its place.
template <int COUNT>
__device__ void copy_async(float* to, const float* from, bool inside) {
  constexpr size_t BYTES = COUNT * sizeof(float);
  __pipeline_memcpy_async(to, from, BYTES, inside ? 0 : BYTES);
}

// WIDTH_B and WIDTH_C: floats in one access to B and to C, 4 where rows are aligned and else 1.
template <int WIDTH_B, int WIDTH_C>
__global__ void __launch_bounds__(THREADS)
    pipelined_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                     float alpha, float beta, int64_t first_row) {
  alignas(16) __shared__ float As[2][BK][BM + PAD];  // two of each: one that comes, one in use
  alignas(16) __shared__ float Bs[2][BK][BN];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int thread = ty * (BN / TN) + tx;
  const int64_t row0 = int64_t{blockIdx.y} * BM + first_row;
  const int64_t col0 = int64_t{blockIdx.x} * BN;

  const auto begin_copies = [&](int buffer, int64_t k0) {
    // A tile is transposed on its way, so its elements go one by one.
    for (int first = 0; first < BM * BK; first += THREADS) {
      const int row = (first + thread) / BK, k = (first + thread) % BK;
      copy_async<1>(&As[buffer][k][row], A + (row0 + row) * K + k0 + k,
                    row0 + row < M && k0 + k < K);
    }
    for (int first = 0; first < BK * BN; first += WIDTH_B * THREADS) {
      const int k = (first + WIDTH_B * thread) / BN, col = (first + WIDTH_B * thread) % BN;
      copy_async<WIDTH_B>(&Bs[buffer][k][col], B + (k0 + k) * N + col0 + col,
                          k0 + k < K && col0 + col < N);
    }
  };

  float sum[TM][TN] = {};
  begin_copies(0, 0);
  for (int64_t k0 = 0; k0 < K; k0 += BK) {
    const int buffer = k0 / BK % 2;
    __pipeline_commit();
    __pipeline_wait_prior(0);  // this thread's copies have come …
    __syncthreads();           // … and all threads', and nobody reads the other buffer any more
    if (k0 + BK < K) begin_copies(1 - buffer, k0 + BK);

    for (int k = 0; k < BK; ++k) {
      float a[TM], b[TN];
      for (int i = 0; i < TM; i += 4) read4(&a[i], &As[buffer][k][ty * TM + i]);
      for (int j = 0; j < TN; j += 4) read4(&b[j], &Bs[buffer][k][j * (BN / TN) + tx * 4]);
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
    }
  }

  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; j += WIDTH_C) {
      const int64_t row = row0 + ty * TM + i;
      const int64_t col = col0 + j / 4 * 4 * (BN / TN) + tx * 4 + j % 4;
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

}  // namespace

// B and C each take the 16-byte path if they can; A's elements go one by one whatever its address.
void pipelined(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
               float alpha, float beta) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // as in SGEMM: what A and B hold does not matter
  constexpr decltype(&pipelined_kernel<4, 4>) kernels[2][2] = {
      {pipelined_kernel<1, 1>, pipelined_kernel<1, 4>},
      {pipelined_kernel<4, 1>, pipelined_kernel<4, 4>}};
  const auto kernel = kernels[rows_are_aligned(B, N)][rows_are_aligned(C, N)];
  const dim3 block(BN / TN, BM / TM);
  for (int64_t first_row = 0; first_row < M; first_row += MAX_GRID_Y * BM) {
    const dim3 grid(ceil_div(N, BN), std::min(ceil_div(M - first_row, BM), MAX_GRID_Y));
    kernel<<<grid, block>>>(A, B, C, M, N, K, alpha, beta, first_row);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace tutorial
