// Step 5 = step 4 + operands are rounded by two integer instructions. cvt.rna.tf32 becomes four,
// since infinity and NaN stay what they are.
//
// FLOP            2·M·N·K, three times as many on tensor cores
// global memory   4·K·(M·⌈N/128⌉ + N·⌈M/128⌉) + 4·M·N bytes, 32 FLOP a byte
// asked for       loads 1024·K·⌈M/128⌉·⌈N/128⌉ bytes, stores 4·M·N bytes (a tile at the edge is
//                 brought whole)
// shared memory   70.0 KB a block
// block           256 threads for 128 × 128 elements of C
// H200            2.20 ms at 4096³, 123 % of cuBLAS's SGEMM
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
  static constexpr int BK = 32;           // with 64 a K of 64 would not be as exact as in fp32
  static constexpr int STAGES = 2;        // one that comes, one in use
};
using T = Tiles<Numbers>;

/// x as the sum of two: what TF32 holds of it, and the rest. Half of the last bit that stays is
/// added, and the 13 bits behind it are cut: what to_tf32() does to a number, but not to a NaN, for
/// which the rest is NaN.
__device__ void split(float x, uint32_t& high, uint32_t& low) {
  high = (__float_as_uint(x) + 0x1000) & 0xffffe000;
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

/// sum += part
__device__ void add(float (&sum)[T::DOWN][T::ACROSS][4],
                    const float (&part)[T::DOWN][T::ACROSS][4]) {
#pragma unroll
  for (int i = 0; i < T::DOWN; ++i)
#pragma unroll
    for (int j = 0; j < T::ACROSS; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) sum[i][j][e] += part[i][j][e];
}

template <int WIDTH>
__global__ void __launch_bounds__(T::THREADS)
    integer_rounding_kernel(const float* A, const float* B, float* C, int64_t M, int64_t N,
                            int64_t K) {
  extern __shared__ float4 shared[];  // more than 48 KB must be asked for at the launch
  auto& As = *reinterpret_cast<float(*)[T::STAGES][T::BM][T::ROW_A]>(shared);
  auto& Bs = *reinterpret_cast<float(*)[T::STAGES][T::BK][T::ROW_B]>(&As + 1);
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
    float part[T::DOWN][T::ACROSS][4] = {};  // of these 32 elements of K
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
      multiply(part, a_low, b);  // the small products first, lest the large ones swallow their bits
      multiply(part, a, b_low);
      multiply(part, a, b);  // a_low·b_low is below what fp32 keeps
    }
    add(sum, part);
  }
  store_sums(C, M, N, row0 + m, col0 + n, sum);
}

}  // namespace

// The 16-byte path if the rows of A and of B both allow it, else one float at a time.
void integer_rounding(const Tf32Product& product, const float* A, const float* B, float* C,
                      cudaStream_t stream) {
  require_tf32("integer_rounding", T::BYTES);
  const int64_t M = product.M, N = product.N, K = product.K;
  const bool aligned = rows_are_aligned(A, K) && rows_are_aligned(B, N);
  const auto kernel = aligned ? integer_rounding_kernel<4> : integer_rounding_kernel<1>;
  allow_shared_memory(kernel, T::BYTES);
  if (M == 0 || N == 0) return;
  kernel<<<T::blocks(M, N), T::THREADS, T::BYTES, stream>>>(A, B, C, M, N, K);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::tf32
