// Step 2 = step 1 + each operand is the sum of two TF32 numbers, so that three products of these
// make one of float32 (Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores
// while surpassing the FP32 theoretical peak performance", 2022).
//
// FLOP            2·M·N·K, three times as many on tensor cores
// global memory   4·K·(M·⌈N/128⌉ + N·⌈M/128⌉) + 4·M·N bytes, 32 FLOP a byte
// asked for       loads 1024·K·⌈M/128⌉·⌈N/128⌉ bytes, stores 4·M·N bytes (a tile at the edge is
//                 brought whole)
// shared memory   37.0 KB a block
// block           256 threads for 128 × 128 elements of C
// H200            2.19 ms at 4096³, 123 % of cuBLAS's SGEMM
#include "common/kernel/check.hpp"
#include "common/kernel/mma.cuh"
#include "tf32/launch_checks.hpp"
#include "tf32/tf32.hpp"
#include "tf32/tiles.cuh"

namespace tutorial::tiled_matmul::tf32 {
namespace {

struct Numbers {
  static constexpr int BM = 128, BN = 128;
  static constexpr int WM = 64, WN = 32;  // 64 sums a thread, and 24 numbers for 16 products
  static constexpr int BK = 16;           // 32 would need more than 48 KB
  static constexpr int STAGES = 2;        // one that comes, one in use
};
using T = Tiles<Numbers>;

/// x as the sum of two: what TF32 holds of it, and the rest. Of the rest's 12 bits an mma takes 11.
/// To round it would be no better, because the last bit is just half of the one before.
__device__ void split(float x, uint32_t& high, uint32_t& low) {
  high = to_tf32(x);
  low = __float_as_uint(x - __uint_as_float(high));
}

/// The warp's sums += its fragments of A times its fragments of B.
__device__ void multiply(float (&sum)[T::DOWN][T::ACROSS][4], const uint32_t (&a)[T::DOWN][4],
                         const uint32_t (&b)[T::ACROSS][2]) {
#pragma unroll
  for (int i = 0; i < T::DOWN; ++i)
#pragma unroll
    for (int j = 0; j < T::ACROSS; ++j) mma_m16n8k8_tf32(sum[i][j], a[i], b[j][0], b[j][1]);
}

template <int WIDTH>
__global__ void __launch_bounds__(T::THREADS)
    three_products_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N,
                          int64_t K) {
  alignas(16) __shared__ float As[T::STAGES][T::BM][T::ROW_A], Bs[T::STAGES][T::BK][T::ROW_B];
  const int64_t across = ceil_div(N, T::BN);  // blocks side by side
  const int64_t row0 = blockIdx.x / across * T::BM, col0 = blockIdx.x % across * T::BN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int g = lane / 4, t = lane % 4;  // what the lane holds of each fragment: mma.cuh
  const int m = warp / T::WARPS_N * T::WM, n = warp % T::WARPS_N * T::WN;  // the warp's tile

  TileCopies<T, WIDTH> copies(A, B, M, N, K, row0, col0, &As[0][0][0], &Bs[0][0][0]);
  const int64_t tiles = ceil_div(K, T::BK);
  if (tiles > 0) copies.begin(0);
  float sum[T::DOWN][T::ACROSS][4] = {};
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int stage = tile % 2;
    wait_for_copies();
    if (tile + 1 < tiles) copies.begin(1 - stage);
#pragma unroll
    for (int k = 0; k < T::BK; k += 8) {
      uint32_t a[T::DOWN][4], a_low[T::DOWN][4], b[T::ACROSS][2], b_low[T::ACROSS][2];
#pragma unroll
      for (int i = 0; i < T::DOWN; ++i)
#pragma unroll
        for (int r = 0; r < 4; ++r)
          split(As[stage][m + 16 * i + g + r % 2 * 8][k + t + r / 2 * 4], a[i][r], a_low[i][r]);
#pragma unroll
      for (int j = 0; j < T::ACROSS; ++j)
#pragma unroll
        for (int r = 0; r < 2; ++r)
          split(Bs[stage][k + t + r * 4][n + 8 * j + g], b[j][r], b_low[j][r]);
      multiply(sum, a_low, b);  // the small products first, lest the large ones swallow their bits
      multiply(sum, a, b_low);
      multiply(sum, a, b);  // a_low·b_low is below what fp32 keeps
    }
  }
  store_sums(C, M, N, row0 + m, col0 + n, sum);
}

}  // namespace

// The 16-byte path if the rows of A and of B both allow it, else one float at a time.
void three_products(const Tf32Product& product, const float* A, const float* B, float* C,
                    cudaStream_t stream) {
  require_tf32("three_products");
  const int64_t M = product.M, N = product.N, K = product.K;
  if (M == 0 || N == 0) return;
  const bool aligned = rows_are_aligned(A, K) && rows_are_aligned(B, N);
  const auto kernel = aligned ? three_products_kernel<4> : three_products_kernel<1>;
  kernel<<<T::blocks(M, N), T::THREADS, 0, stream>>>(A, B, C, M, N, K);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::tf32
