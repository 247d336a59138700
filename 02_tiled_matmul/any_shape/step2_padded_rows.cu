// Step 2 = step 1 + a B whose rows begin anywhere is first copied into rows that are aligned.
//
// FLOP            2·M·N·K
// global memory   step 1's, and before it 8·K·N bytes for the copy
// asked for by pad_rows  loads 4·K·N bytes, stores 16·K·⌈N/4⌉ bytes
// workspace       16·K·⌈N/4⌉ bytes for the copy
// block           256 threads for a row of B
// H200            2.77 ms at 4095×4097×4093, 104 % of cuBLAS
// long diff       step 1's kernels stay in step 1 and are called: new is only the copy of B
#include <algorithm>

#include "any_shape/any_shape.hpp"
#include "any_shape/parts.hpp"
#include "common/kernel/check.hpp"
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

float* aligned_copy(const ScaledProduct& product, const float* B, Workspace& workspace,
                    cudaStream_t stream) {
  const int64_t N = product.N, K = product.K;
  float* padded = workspace.take<float>(floats_of_copy(product));
  if (padded == nullptr) return nullptr;
  pad_rows<<<std::min(K, MAX_BLOCKS), THREADS, 0, stream>>>(B, padded, K, N, aligned_ld(N));
  CUDA_CHECK_LAUNCH();
  return padded;
}

// The rule: a B whose rows are not aligned is copied, unless C is so wide and low that each element
// of B is used too seldom, or the workspace is too small. Then step 1 takes B as it is.
bool copy_pays(const ScaledProduct& product, const float* B) {
  const int64_t M = product.M, N = product.N;
  const bool is_read = M > 0 && N > 0 && depth_of(product) > 0;
  return is_read && !rows_are_aligned(B, N) && N <= TOO_WIDE * M;
}

void padded_rows(const ScaledProduct& product, const float* A, const float* B, float* C,
                 Workspace workspace, cudaStream_t stream) {
  float* padded = copy_pays(product, B) ? aligned_copy(product, B, workspace, stream) : nullptr;
  if (padded == nullptr) return tile_by_size(product, A, B, C, workspace, stream);
  tile_by_size_strided(product, A, padded, C, aligned_ld(product.N), stream);
}

}  // namespace tutorial::tiled_matmul::any_shape
