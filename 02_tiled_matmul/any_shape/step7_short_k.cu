// Step 7 = step 6 + where K is short, a tile whose whole K comes at once: there is nothing to
// overlap, so a small kernel that waits once begins and ends sooner.
//
// FLOP            2·M·N·K
// global memory   4·(M·K + K·N + M·N) bytes: at K = 16 at most 8 FLOP a byte, and C is most of them
// asked for by short_k_kernel  loads 4·K·(M·⌈N/64⌉ + N·⌈M/64⌉) bytes, stores 4·M·N bytes
// shared memory   48 KB a block; a product reads 1/2 float
// block           256 threads for 64 × 64 elements of C
#include "any_shape/any_shape.hpp"
#include "any_shape/parts.hpp"
#include "common/kernel/async_copy.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "faster/epilogue.cuh"

namespace tutorial::tiled_matmul::any_shape {
namespace {

using faster::store_scaled;

constexpr int BM = 64, BN = 64, TM = 4, TN = 4;
constexpr int ACROSS = BN / TN, THREADS = BM / TM * ACROSS;

/// C (M, N). WIDTH: neighbours in C that a thread has, 4 where rows are aligned; with 1 its columns
/// are 16 apart, so that the lanes' are neighbours.
template <int WIDTH>
__global__ void __launch_bounds__(THREADS)
    short_k_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N, int K,
                   float alpha, float beta) {
  __shared__ float As[BM * MOST_SHORT_K];  // (BM, K)
  alignas(16) __shared__ float Bs[MOST_SHORT_K][BN];
  const int64_t across = ceil_div(N, BN);
  const int64_t row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
  // All K of 64 rows of A lie one after another, so nobody asks where a row begins.
  const int64_t of_a = (M - row0 < BM ? M - row0 : BM) * K;
  for (int i = threadIdx.x; i < BM * K; i += THREADS)
    copy_async<1>(&As[i], i < of_a ? A + row0 * K + i : A, i < of_a);
  const int col = threadIdx.x % BN;
  for (int k = threadIdx.x / BN; k < K; k += THREADS / BN) {
    const bool inside = col0 + col < N;
    copy_async<1>(&Bs[k][col], inside ? B + k * N + col0 + col : B, inside);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();

  const int m = threadIdx.x / ACROSS * TM, x = threadIdx.x % ACROSS;
  const auto n = [&](int j) { return WIDTH == 4 ? x * TN + j : x + j * ACROSS; };
  float sum[TM][TN] = {};
#pragma unroll 4
  for (int k = 0; k < K; ++k) {
    float b[TN];
    for (int j = 0; j < TN; ++j) b[j] = Bs[k][n(j)];
    for (int i = 0; i < TM; ++i)
      for (int j = 0; j < TN; ++j) sum[i][j] += As[(m + i) * K + k] * b[j];
  }
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; j += WIDTH) {
      const int64_t row = row0 + m + i, column = col0 + n(j);
      if (row < M && column < N) store_scaled<WIDTH>(C + row * N + column, &sum[i][j], alpha, beta);
    }
  }
}

}  // namespace

// Not where so much is to be multiplied that larger tiles are faster; measured on an H200.
bool is_short_k(int64_t M, int64_t N, int64_t K) {
  constexpr int64_t MOST = 32768;  // elements of K, in all tiles
  return M > ALWAYS_FEW_ROWS && K <= MOST_SHORT_K && ceil_div(M, BM) * ceil_div(N, BN) * K <= MOST;
}

void short_k(const ScaledProduct& product, const float* A, const float* B, float* C,
             Workspace workspace, cudaStream_t stream) {
  const int64_t M = product.M, N = product.N, K = depth_of(product);
  if (are_few_columns(M, N, K) || !is_short_k(M, N, K))
    return few_columns(product, A, B, C, workspace, stream);
  const auto kernel = rows_are_aligned(C, N) ? short_k_kernel<4> : short_k_kernel<1>;
  kernel<<<ceil_div(M, BM) * ceil_div(N, BN), THREADS, 0, stream>>>(
      A, B, C, M, N, static_cast<int>(K), product.alpha, product.beta);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::any_shape
