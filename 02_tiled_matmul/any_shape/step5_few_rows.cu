// Step 5 = step 4 + where C has one to four rows, or up to 16 and B is small, a kernel of its own
// that reads B once, from global memory straight into registers.
//
// FLOP            2·M·N·K, and (S − 1)·M·N for S parts
// global memory   4·(M·K + K·N + M·N) bytes: M / 2 FLOP a byte; with parts 8·S·M·N bytes more
// asked for by few_rows_kernel  loads 4·K·N + 4·M·K·⌈N/32⌉ bytes, stores 4·M·LDC·S bytes
//                 (LDC: N, or with parts 4·⌈N/4⌉)
// workspace       16·S·M·⌈N/4⌉ bytes for the parts
// shared memory   32 KB a block; a product reads 1 float, but all threads of a warp the same one
// block           512 threads for all rows of 32 columns of C and a part of K
// H200            0.066 ms at 1×8192×8192, 102 % of cuBLAS
// long diff       another kernel; step 4's stays there and is called
#include <algorithm>

#include "any_shape/any_shape.hpp"
#include "any_shape/parts.hpp"
#include "common/kernel/async_copy.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"
#include "faster/epilogue.cuh"

namespace tutorial::tiled_matmul::any_shape {
namespace {

using faster::store_scaled;

constexpr int THREADS = 512, WARPS = THREADS / 32;
constexpr int BLOCKS_PER_SM = 2;  // of 512 threads: 64 registers
constexpr int WIDTH = 32;         // columns of C a block: one for each lane of a warp

/// C (M <= ROWS, N), or (parts, M, ldc) with the sums over depth_of_part elements of K each: then
/// alpha is 1 and beta 0. A warp takes every 16th row of B; each lane has its own column.
template <int ROWS>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    few_rows_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                    int64_t ldc, int64_t depth_of_part, float alpha, float beta) {
  constexpr int DEPTH = 8192 / ROWS;  // of the piece of A in shared memory: 32 KB
  constexpr int AHEAD = ROWS < 4    ? 32
                        : ROWS < 16 ? 16
                                    : 8;  // loads of B on their way, as registers allow
  constexpr int TURN = AHEAD * WARPS;     // rows of B that a block takes at once
  static_assert(DEPTH % TURN == 0, "a piece of A lasts for whole turns");
  alignas(16) __shared__ float As[DEPTH][ROWS];  // at the end the warps' sums take its place
  const int64_t across = ceil_div(N, WIDTH);
  const int64_t part = blockIdx.x / across;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t col = blockIdx.x % across * WIDTH + lane;
  const int64_t end = (part + 1) * depth_of_part < K ? (part + 1) * depth_of_part : K;

  float sum[ROWS] = {};
  for (int64_t k0 = part * depth_of_part; k0 < end; k0 += DEPTH) {
    const int depth = static_cast<int>(end - k0 < DEPTH ? end - k0 : DEPTH);
    const int whole = (depth + TURN - 1) / TURN * TURN;  // zeros fill up the last turn
    if (k0 > part * depth_of_part) __syncthreads();      // nobody reads the piece before this one
    for (int m = 0; m < ROWS; ++m) {
      for (int k = threadIdx.x; k < whole; k += THREADS) {
        const bool inside = m < M && k < depth;
        copy_async<1>(&As[k][m], inside ? A + m * K + k0 + k : A, inside);
      }
    }
    __pipeline_commit();
    const float* from = B + (k0 + warp) * N + col;
    for (int k = warp; k < whole; k += TURN, from += TURN * N) {
      float b[AHEAD];
#pragma unroll
      for (int i = 0; i < AHEAD; ++i)
        b[i] = k + i * WARPS < depth && col < N ? __ldcs(from + i * WARPS * N) : 0;
      if (k == warp) {  // while B's first elements are on their way, A's piece arrives
        __pipeline_wait_prior(0);
        __syncthreads();
      }
#pragma unroll
      for (int i = 0; i < AHEAD; ++i) {
#pragma unroll
        for (int m = 0; m < ROWS; ++m) sum[m] += As[k + i * WARPS][m] * b[i];
      }
    }
  }
  // A column's sums, one from each warp, are added in the warps' order.
  float* sums = &As[0][0];  // (WARPS, ROWS, WIDTH)
  __syncthreads();
  for (int m = 0; m < ROWS; ++m) sums[(warp * ROWS + m) * WIDTH + lane] = sum[m];
  __syncthreads();
  if (warp >= M || col >= ldc) return;
  float total = 0;
  for (int w = 0; w < WARPS; ++w) total += sums[(w * ROWS + warp) * WIDTH + lane];
  store_scaled<1>(C + (part * M + warp) * ldc + col, &total, alpha, beta);
}

template <int ROWS>
void launch(const ScaledProduct& product, const float* A, const float* B, float* C, int64_t count,
            cudaStream_t stream) {
  const int64_t M = product.M, N = product.N, K = depth_of(product);
  const int64_t blocks = ceil_div(N, WIDTH) * count, depth = depth_of_parts(K, count, 1);
  const int64_t ldc = count == 1 ? N : aligned_ld(N);
  few_rows_kernel<ROWS>
      <<<blocks, THREADS, 0, stream>>>(A, B, C, M, N, K, ldc, depth, product.alpha, product.beta);
  CUDA_CHECK_LAUNCH();
}

}  // namespace

// A tile of 16 rows is better with more rows and a large B: it brings each element of A to
// registers once for eight columns. But it has stages to fill, and needs B's rows aligned or
// copied.
bool are_few_rows(const ScaledProduct& product, const float* B) {
  constexpr int64_t SMALL = 2'000'000;  // elements of B, measured on an H200
  const int64_t M = product.M, N = product.N;
  return M <= ALWAYS_FEW_ROWS || (M <= 8 && !rows_are_aligned(B, N)) ||
         (M <= MOST_FEW_ROWS && N * depth_of(product) <= SMALL);
}

// Each block has its own columns, and B is read once. Only where that gives too few blocks, several
// share K, as in step 3: as many as give each multiprocessor one.
int64_t parts_of_few_rows(int64_t N, int64_t K, int multiprocessors) {
  constexpr int64_t LEAST_DEPTH = 512;  // of a part: a turn of a block for one or two rows
  const int64_t strips = std::max(ceil_div(N, WIDTH), int64_t{1});
  const int64_t most = std::min(multiprocessors / strips, K / LEAST_DEPTH);
  return most > 1 ? ceil_div(K, depth_of_parts(K, most, 1)) : 1;
}

void few_rows(const ScaledProduct& product, const float* A, const float* B, float* C,
              Workspace workspace, cudaStream_t stream) {
  const int64_t M = product.M, N = product.N, K = depth_of(product);
  if (!are_few_rows(product, B)) return thin_tiles(product, A, B, C, workspace, stream);
  if (M == 0 || N == 0) return;
  const auto launch_rows = M == 1   ? launch<1>
                           : M == 2 ? launch<2>
                           : M <= 4 ? launch<4>
                           : M <= 8 ? launch<8>
                                    : launch<16>;
  const int64_t count = parts_of_few_rows(N, K, multiprocessors());
  float* parts = count > 1 ? workspace.take<float>(floats_of_parts(product, count)) : nullptr;
  if (parts == nullptr) return launch_rows(product, A, B, C, 1, stream);
  ScaledProduct sums = product;
  sums.alpha = 1, sums.beta = 0;  // those of C come when the parts are added
  launch_rows(sums, A, B, parts, count, stream);
  add_parts(product, parts, C, count, stream);
}

}  // namespace tutorial::tiled_matmul::any_shape
