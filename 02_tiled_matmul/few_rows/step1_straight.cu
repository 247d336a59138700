// Step 1: a thread has eight columns of C and reads B 16 bytes at a time, straight into registers.
//
// FLOP            2·M·N·K
// global memory   2·(M·K + K·N) + E·M·N bytes for up to ROWS rows
// asked for       loads 2·K·N·⌈M/ROWS⌉ + M·K·N / 4 bytes, stores E·M·N bytes
// shared memory   8 KB a row of C a block
// block           256 threads for ROWS × 64 elements of C: ROWS is 1 where M is, else 4
// H200            0.0368 ms at 1×4096×4096, 39 % of cuBLAS
//
//        64 columns: 8 threads, 16 bytes each
//      ┌───────────────┐
//   B  │▒▒ thread 0 … 7│ row 0, 32, 64 …      each of 32 groups of 8 threads has every 32nd row,
//      │   8 …    15   │ row 1, 33, 65 …      and in the end their sums are added up
//      └───────────────┘
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "few_rows/few_rows.hpp"
#include "few_rows/sums.cuh"
#include "tensor_cores/launch_checks.hpp"

namespace tutorial::tiled_matmul::few_rows {
namespace {

constexpr int BN = COLS_OF_THREADS, EACH = 8;  // columns of C: a block's and a thread's
constexpr int ACROSS = BN / EACH, DOWN = 32, THREADS = ACROSS * DOWN;

template <int ROWS, class Out>
__global__ void __launch_bounds__(THREADS)
    straight_kernel(const bf16* A, const bf16* B, Out* C, int64_t M, int64_t N, int64_t K) {
  alignas(16) __shared__ float sums[DOWN][ROWS * BN];
  const int64_t across = ceil_div(N, BN);
  const int64_t row0 = blockIdx.x / across * ROWS, col0 = blockIdx.x % across * BN;
  const int right = threadIdx.x % ACROSS * EACH, down = threadIdx.x / ACROSS;

  float sum[ROWS][EACH] = {};
  if (col0 + right < N) {
#pragma unroll 4  // so that several loads are on their way
    for (int64_t k = down; k < K; k += DOWN) {
      float b[EACH];
      load8(b, B + k * N + col0 + right);
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
        const float a = row0 + i < M ? static_cast<float>(A[(row0 + i) * K + k]) : 0;
#pragma unroll
        for (int j = 0; j < EACH; ++j) sum[i][j] += a * b[j];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < EACH; j += 4) store4(&sums[down][i * BN + right + j], &sum[i][j]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < ROWS * BN; i += THREADS) {
    const int64_t row = row0 + i / BN, col = col0 + i % BN;
    float total = 0;
    for (int group = 0; group < DOWN; ++group) total += sums[group][i];
    if (row < M && col < N) C[row * N + col] = static_cast<Out>(total);
  }
}

}  // namespace

void straight(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
              Workspace workspace, cudaStream_t stream) {
  tensor_cores::require_device("straight");
  if (!hopper::tma_takes(product, A, B, C))
    return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  const int64_t M = product.M, N = product.N, K = product.K;
  const auto launch = [&]<int ROWS>() {
    const int64_t tiles = ceil_div(M, ROWS) * ceil_div(N, BN);
    std::visit(
        [&]<class Out>(Out* to) {
          straight_kernel<ROWS><<<tiles, THREADS, 0, stream>>>(A, B, to, M, N, K);
          CUDA_CHECK_LAUNCH();
        },
        C);
  };
  rows_of_threads(M) == 1 ? launch.template operator()<1>() : launch.template operator()<4>();
}

}  // namespace tutorial::tiled_matmul::few_rows
