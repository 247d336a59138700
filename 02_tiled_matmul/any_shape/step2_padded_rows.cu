// Step 2 = step 1 + a B whose rows begin anywhere is first copied into rows that are aligned.
//
// FLOP            2·M·N·K
// global memory   step 1's, and before it 8·K·N bytes for the copy
// asked for by pad_rows  loads 4·K·N bytes, stores 16·K·⌈N/4⌉ bytes
// memory          16·K·⌈N/4⌉ bytes for the copy
// block           256 threads for a row of B
// H200            2.75 ms at 4095×4097×4093, 105 % of cuBLAS
#include <algorithm>

#include "any_shape/any_shape.hpp"
#include "any_shape/stream_memory.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"

namespace tutorial::tiled_matmul::any_shape {
namespace {

constexpr int THREADS = 256;
constexpr int64_t MAX_BLOCKS = 4096;  // more than a GPU runs at once
constexpr int64_t TOO_WIDE = 32;      // C has more columns than this many times its rows

/// padded (K, ldb) is a row of B (K, N), then zeros.
__global__ void pad_rows(const float* B, float* padded, int64_t K, int64_t N, int64_t ldb) {
  for (int64_t k = blockIdx.x; k < K; k += gridDim.x)
    for (int64_t n = threadIdx.x; n < ldb; n += THREADS)
      padded[k * ldb + n] = n < N ? B[k * N + n] : 0;
}

}  // namespace

float* aligned_copy(const float* B, int64_t K, int64_t N) {
  const int64_t ldb = ceil_div(N, 4) * 4;
  float* padded = allocate(K * ldb);
  if (padded == nullptr) return nullptr;
  pad_rows<<<std::min(K, MAX_BLOCKS), THREADS>>>(B, padded, K, N, ldb);
  CUDA_CHECK_LAUNCH();
  return padded;
}

// The rule: a B whose rows are not aligned is copied, unless C is so wide and low that each element
// of B is used too seldom, or there is no memory for the copy. Then step 1 takes B as it is.
void padded_rows(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                 float alpha, float beta) {
  const bool is_read = M > 0 && N > 0 && K > 0 && alpha != 0;
  const bool pays = is_read && !rows_are_aligned(B, N) && N <= TOO_WIDE * M;
  float* padded = pays ? aligned_copy(B, K, N) : nullptr;
  if (padded == nullptr) return tile_by_size(A, B, C, M, N, K, alpha, beta);
  tile_by_size_strided(A, padded, C, M, N, K, ceil_div(N, 4) * 4, alpha, beta);
  release(padded);
}

}  // namespace tutorial::tiled_matmul::any_shape
