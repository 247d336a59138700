// Step 2 = step 1 + several blocks share a K: each takes a part of it, and a second kernel adds the
// parts in their order.
//
// FLOP            2·M·N·K, and (S − 1)·M·N for S parts
// global memory   2·(M·K + K·N) + 8·S·M·N + E·M·N bytes for up to ROWS rows
// asked for by split_k_kernel  loads 2·K·N·⌈M/ROWS⌉ + M·K·N / 4 bytes, stores 4·S·M·N bytes
// asked for by add_parts_kernel  loads 4·S·M·N bytes, stores E·M·N bytes
// workspace       4·S·M·N bytes for the parts
// shared memory   as in step 1
// block           256 threads for ROWS × 64 elements of C and a part of K
// H200            0.0188 ms at 1×4096×4096, 76 % of cuBLAS; step 1 has 39 %
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "few_rows/few_rows.hpp"
#include "few_rows/parts.hpp"
#include "few_rows/sums.cuh"
#include "tensor_cores/launch_checks.hpp"

namespace tutorial::tiled_matmul::few_rows {
namespace {

constexpr int BN = COLS_OF_THREADS, EACH = 8;  // columns of C: a block's and a thread's
constexpr int ACROSS = BN / EACH, DOWN = 32, THREADS = ACROSS * DOWN;
constexpr int ADDING = 128;  // threads of a block that adds parts

/// C is (S, M, N): the parts, or in one part C itself.
template <int ROWS, class Out>
__global__ void __launch_bounds__(THREADS)
    split_k_kernel(const bf16* A, const bf16* B, Out* C, int64_t M, int64_t N, int64_t K,
                   int64_t depth_of_part) {
  alignas(16) __shared__ float sums[DOWN][ROWS * BN];
  const int64_t across = ceil_div(N, BN), tiles = ceil_div(M, ROWS) * across;
  const int64_t part = blockIdx.x / tiles, tile = blockIdx.x % tiles;
  const int64_t row0 = tile / across * ROWS, col0 = tile % across * BN;
  const int64_t k0 = part * depth_of_part, k_end = min(K, k0 + depth_of_part);
  const int right = threadIdx.x % ACROSS * EACH, down = threadIdx.x / ACROSS;

  float sum[ROWS][EACH] = {};
  if (col0 + right < N) {
#pragma unroll 4  // so that several loads are on their way
    for (int64_t k = k0 + down; k < k_end; k += DOWN) {
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
    if (row < M && col < N) C[(part * M + row) * N + col] = static_cast<Out>(total);
  }
}

/// A thread adds four neighbours.
template <class Out>
__global__ void add_parts_kernel(const float* parts, Out* C, int64_t size, int64_t count) {
  const int64_t i = (int64_t{blockIdx.x} * ADDING + threadIdx.x) * 4;
  if (i >= size) return;
  float4 sum = {};
#pragma unroll 4
  for (int64_t p = 0; p < count; ++p) {
    const float4 part = load4(parts + p * size + i);
    sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
  }
  store_four(C + i, sum);
}

}  // namespace

void add_parts(const Bf16Product& product, const float* parts, Output C, int64_t count,
               cudaStream_t stream) {
  const int64_t size = product.M * product.N;
  std::visit(
      [&]<class Out>(Out* to) {
        add_parts_kernel<<<ceil_div(size, 4 * ADDING), ADDING, 0, stream>>>(parts, to, size, count);
        CUDA_CHECK_LAUNCH();
      },
      C);
}

void split_k(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
             Workspace workspace, cudaStream_t stream) {
  tensor_cores::require_device("split_k");
  if (!hopper::tma_takes(product, A, B, C))
    return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  const int64_t M = product.M, N = product.N, K = product.K;
  int64_t count = parts_of_threads(product, multiprocessors());
  float* const parts = take_parts(product, count, workspace);
  const int64_t depth = depth_of_parts(K, count, DOWN);
  const auto launch = [&]<int ROWS>() {
    const int64_t tiles = ceil_div(M, ROWS) * ceil_div(N, BN);
    std::visit(
        [&]<class Out>(Out* to) {
          split_k_kernel<ROWS><<<tiles * count, THREADS, 0, stream>>>(A, B, to, M, N, K, depth);
          CUDA_CHECK_LAUNCH();
        },
        count > 1 ? Output(parts) : C);
  };
  rows_of_threads(M) == 1 ? launch.template operator()<1>() : launch.template operator()<4>();
  if (count > 1) add_parts(product, parts, C, count, stream);
}

}  // namespace tutorial::tiled_matmul::few_rows
