#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int TILE = 16;

/// The product of row `row` of A and column `col` of B; of no use to threads beyond the edge of C.
/// The block shares tiles of A and B, so all of its threads must come here, or none.
__device__ float product(const float* A, const float* B, int64_t row, int64_t col, int64_t M,
                         int64_t N, int64_t K) {
  __shared__ float As[TILE][TILE], Bs[TILE][TILE];
  const int tx = threadIdx.x, ty = threadIdx.y;
  float sum = 0;
  for (int64_t k0 = 0; k0 < K; k0 += TILE) {
    As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0;
    Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0;
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  return sum;
}

/// Block (x, y) has the tile of C that begins at row y·TILE and column x·TILE, a thread for each
/// element.
__global__ void masked_product_kernel(const float* A, const float* B, const uint8_t* mask,
                                      float fill, float* C, int64_t M, int64_t N, int64_t K) {
  const int64_t row = int64_t{blockIdx.y} * TILE + threadIdx.y;
  const int64_t col = int64_t{blockIdx.x} * TILE + threadIdx.x;
  // ---- your code, about 8 lines: ask the mask; the product if any thread of the block wants it; C
  const bool inside = row < M && col < N;
  const bool keep = inside && mask[row * N + col] != 0;
  float value = fill;
  if (__syncthreads_or(keep)) {  // the same answer for all threads of the block
    const float sum = product(A, B, row, col, M, N, K);
    if (keep) value = sum;
  }
  if (inside) C[row * N + col] = value;
  // ----
}

}  // namespace

void masked_product(const float* A, const float* B, const uint8_t* mask, float fill, float* C,
                    int64_t M, int64_t N, int64_t K) {
  if (M == 0 || N == 0) return;
  const dim3 grid(ceil_div(N, TILE), ceil_div(M, TILE));
  masked_product_kernel<<<grid, dim3(TILE, TILE)>>>(A, B, mask, fill, C, M, N, K);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
