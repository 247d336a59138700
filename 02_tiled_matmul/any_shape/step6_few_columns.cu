// Step 6 = step 5 + where C has one to eight columns, the transposed case: a warp takes rows of A,
// its lanes neighbours along K, and at the end the lanes add up what they have.
//
// FLOP            2·M·N·K
// global memory   4·(M·K + K·N + M·N) bytes: up to 4 FLOP a byte
// asked for by few_columns_kernel  loads 4·M·K + 4·K·N·⌈M/R⌉ bytes, stores 4·M·N bytes (R: rows of
// a
//                 warp, or of a block whose warps share them)
// shared memory   2 KB a block, for the sums of warps that share a row
// block           512 threads: 16 warps, each with its own rows, or all with the same ones
// long diff       another kernel; step 5's stays there and is called
#include "any_shape/any_shape.hpp"
#include "any_shape/parts.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "faster/epilogue.cuh"

namespace tutorial::tiled_matmul::any_shape {
namespace {

using faster::store_scaled;

constexpr int THREADS = 512, WARPS = THREADS / 32;
template <int SUMS>
constexpr int AHEAD_OF = SUMS > 16 ? 4 : 8;  // steps along K whose loads are on their way

/// C (M, N <= COLS). A warp has ROWS rows; SHARED: all warps of a block have the same ones, and
/// each takes every 16th piece of 32 elements of K.
template <int COLS, int ROWS, bool SHARED>
__global__ void __launch_bounds__(THREADS)
    few_columns_kernel(const float* __restrict__ A, const float* __restrict__ B, float* C,
                       int64_t M, int64_t N, int64_t K, float alpha, float beta) {
  static_assert(ROWS * COLS <= 32, "a lane for each sum");
  __shared__ float sums[WARPS][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t row0 = (SHARED ? blockIdx.x : blockIdx.x * int64_t{WARPS} + warp) * ROWS;
  constexpr int AHEAD = AHEAD_OF<ROWS * COLS>;
  constexpr int TURN = SHARED ? THREADS : 32;  // elements of K from a lane's to its next

  float sum[ROWS][COLS] = {};
  for (int64_t k0 = SHARED ? threadIdx.x : lane; k0 < K; k0 += AHEAD * TURN) {
    float a[AHEAD][ROWS], b[AHEAD][COLS];
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) {
      const int64_t k = k0 + i * TURN;
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
        a[i][r] = k < K && row0 + r < M ? __ldcs(A + (row0 + r) * K + k) : 0;
#pragma unroll
      for (int c = 0; c < COLS; ++c) b[i][c] = k < K && c < N ? B[k * N + c] : 0;
    }
#pragma unroll
    for (int i = 0; i < AHEAD; ++i)
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int c = 0; c < COLS; ++c) sum[r][c] += a[i][r] * b[i][c];
  }

  // Lane r · COLS + c keeps the sum of row r and column c.
  float mine = 0;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int c = 0; c < COLS; ++c) {
      const float total = warp_sum(sum[r][c]);
      if (lane == r * COLS + c) mine = total;
    }
  }
  if (SHARED) {  // the warps' sums are added in the warps' order
    sums[warp][lane] = mine;
    __syncthreads();
    if (warp > 0) return;
    mine = 0;
    for (int w = 0; w < WARPS; ++w) mine += sums[w][lane];
  }
  const int64_t row = row0 + lane / COLS, col = lane % COLS;
  if (lane < ROWS * COLS && row < M && col < N)
    store_scaled<1>(C + row * N + col, &mine, alpha, beta);
}

template <int COLS, int ROWS, bool SHARED>
void launch(const ScaledProduct& product, const float* A, const float* B, float* C,
            cudaStream_t stream) {
  const int64_t blocks = ceil_div(product.M, SHARED ? ROWS : WARPS * ROWS);
  few_columns_kernel<COLS, ROWS, SHARED><<<blocks, THREADS, 0, stream>>>(
      A, B, C, product.M, product.N, depth_of(product), product.alpha, product.beta);
  CUDA_CHECK_LAUNCH();
}

}  // namespace

// The rule: up to eight columns. One or few rows whose K is so long that one block would take
// longest are step 5's, which cuts K.
bool are_few_columns(int64_t M, int64_t N, int64_t K) {
  constexpr int64_t LONG = 16384;
  return N <= MOST_FEW_COLUMNS && (M > ALWAYS_FEW_ROWS || K <= LONG);
}

// Four rows a warp read B a quarter as often, where all multiprocessors still have enough warps.
// All warps of a block share a row where there are too few rows.
RowsOfWarp rows_of_warp(int64_t M, int64_t K, int multiprocessors) {
  if (M >= int64_t{32} * multiprocessors) return {.rows = 4, .shared = false};
  return {.rows = 1, .shared = M < int64_t{4} * multiprocessors && K > 32 * AHEAD_OF<1>};
}

void few_columns(const ScaledProduct& product, const float* A, const float* B, float* C,
                 Workspace workspace, cudaStream_t stream) {
  const int64_t M = product.M, N = product.N, K = depth_of(product);
  if (!are_few_columns(M, N, K)) return few_rows(product, A, B, C, workspace, stream);
  if (M == 0 || N == 0) return;
  const auto [rows, shared] = rows_of_warp(M, K, multiprocessors());
  const auto launch_columns = [&]<int COLS>() {
    if (shared) return launch<COLS, 1, true>(product, A, B, C, stream);
    if (rows == 1) return launch<COLS, 1, false>(product, A, B, C, stream);
    launch<COLS, 4, false>(product, A, B, C, stream);
  };
  if (N == 1) return launch_columns.template operator()<1>();
  if (N == 2) return launch_columns.template operator()<2>();
  if (N <= 4) return launch_columns.template operator()<4>();
  launch_columns.template operator()<8>();
}

}  // namespace tutorial::tiled_matmul::any_shape
