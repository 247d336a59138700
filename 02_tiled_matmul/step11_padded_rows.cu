// Step 11 = step 10 + a B whose rows begin anywhere is first copied into rows that are aligned.
//
// FLOP            2·M·N·K
// global memory   step 10's, and before it 8·K·N bytes for the copy
// asked for by pad_rows  loads 4·K·N bytes, stores 16·K·⌈N/4⌉ bytes
// memory          16·K·⌈N/4⌉ bytes for the copy
// block           256 threads for a row of B
// H200            2.76 ms at 4095×4097×4093, 105 % of cuBLAS
#include <algorithm>

#include "02_tiled_matmul.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"

namespace tutorial::tiled_matmul {
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

/// Memory for the work that comes next in the stream; nullptr if there is not enough. The device's
/// pool keeps for the next call what is given back. By default it would return it to the system
/// when the host waits the next time, and getting it anew takes as long as the copy.
float* allocate(int64_t floats) {
  int device;
  cudaMemPool_t pool;
  uint64_t all = UINT64_MAX;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
  CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
  float* memory = nullptr;
  if (cudaMallocAsync(&memory, floats * sizeof(float), nullptr) == cudaSuccess) return memory;
  static_cast<void>(cudaGetLastError());  // not an error of the caller's
  return nullptr;
}

}  // namespace

// The rule: a B whose rows are not aligned is copied, unless C is so wide and low that each element
// of B is used too seldom, or there is no memory for the copy. Then step 10 takes B as it is.
void padded_rows(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K,
                 float alpha, float beta) {
  const int64_t ldb = ceil_div(N, 4) * 4;
  const bool is_read = M > 0 && N > 0 && K > 0 && alpha != 0;
  const bool pays = is_read && !rows_are_aligned(B, N) && N <= TOO_WIDE * M;
  float* padded = pays ? allocate(K * ldb) : nullptr;
  if (padded == nullptr) return tile_by_size(A, B, C, M, N, K, alpha, beta);
  pad_rows<<<std::min(K, MAX_BLOCKS), THREADS>>>(B, padded, K, N, ldb);
  CUDA_CHECK_LAUNCH();
  tile_by_size_strided(A, padded, C, M, N, K, ldb, alpha, beta);
  CUDA_CHECK(cudaFreeAsync(padded, nullptr));
}

}  // namespace tutorial::tiled_matmul
