#include "common/kernel/bulk.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

/// A thread has a column of each tile. turns[i]: how many blocks have added their part of tile i.
__global__ void __launch_bounds__(COLUMNS)
    column_sums_kernel(const float* A, const int64_t* begin, float* y, int64_t n, unsigned* turns,
                       unsigned* next_block) {
  __shared__ __align__(16) float part[COLUMNS];
  __shared__ unsigned number;
  if (threadIdx.x == 0) number = atomicAdd(next_block, 1u);
  for (int64_t first = 0; first < n; first += COLUMNS) {
    __syncthreads();
    const unsigned block = number;  // they are numbered as they begin
    const int64_t column = first + threadIdx.x, row0 = begin[block], end = begin[block + 1];
    float sum = 0;
    if (column < n)
      for (int64_t row = row0; row < end; ++row) sum += A[row * n + column];
    part[threadIdx.x] = sum;
    float* const to = y + first;
    const int count = static_cast<int>(n - first < COLUMNS ? n - first : COLUMNS);
    unsigned* const turn = turns + first / COLUMNS;
    // ---- your code, about 14 lines: `to` gets `count` numbers of part, when it is block's turn
    fence_async_proxy();
    __syncthreads();
    if (threadIdx.x == 0) {
      while (atomicAdd(turn, 0u) != block) {
      }
      __threadfence();
      if (block == 0)
        bulk_store(to, part, count);
      else
        bulk_add(to, part, count);
      tma_commit();
      tma_wait<0>();
      __threadfence();
      atomicAdd(turn, 1u);
    }
    // ----
  }
}

}  // namespace

void column_sums(const float* A, const int64_t* begin, int blocks, float* y, int64_t n,
                 unsigned* workspace) {
  if (n == 0) return;
  if (blocks == 0) {
    CUDA_CHECK(cudaMemsetAsync(y, 0, n * sizeof(float), nullptr));
    return;
  }
  const int64_t tiles = ceil_div(n, COLUMNS);
  CUDA_CHECK(cudaMemsetAsync(workspace, 0, (tiles + 1) * sizeof(unsigned), nullptr));
  column_sums_kernel<<<static_cast<unsigned>(blocks), COLUMNS>>>(A, begin, y, n, workspace,
                                                                 workspace + tiles);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
