// Step 2 = step 1 + the instruction itself, 16 × 8 × 8, with fragments that ldmatrix reads without
// bank conflicts.
//
// FLOP            2·M·N·K
// global memory   as in step 1
// asked for       loads 2·K·(M·⌈N/128⌉ + N·⌈M/128⌉) bytes, stores E·M·N bytes
// shared memory   16 KB a block, rows swizzled
// block           256 threads for 128 × 128 elements of C
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/mma.cuh"
#include "fp16/half_tile.cuh"
#include "fp16/launch_checks.hpp"

namespace tutorial::tiled_matmul::fp16 {
namespace {

constexpr int BM = 128, BN = 128;  // the block's tile of C …
constexpr int WM = 64, WN = 32;    // … and a warp's: 64 sums a thread, so that two blocks fit
constexpr int BK = 32;             // elements of K at a time: 16 KB for both tiles
constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;

using TileA = Swizzled32<BM>;
using TileB = Swizzled<BK, BN>;

template <bool ALIGNED, class Out>
__global__ void __launch_bounds__(THREADS, 2)
    fragments_kernel(const __half* A, const __half* B, Out* C, int64_t M, int64_t N, int64_t K) {
  alignas(16) __shared__ __half As[TileA::SIZE];
  alignas(16) __shared__ __half Bs[TileB::SIZE];
  const int64_t across = ceil_div(N, BN);  // blocks side by side
  const int64_t row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int m = warp / WARPS_N * WM, n = warp % WARPS_N * WN;  // the warp's tile in the block's

  TileInRegisters<TileA, THREADS, ALIGNED> part_of_a;
  TileInRegisters<TileB, THREADS, ALIGNED> part_of_b;
  float sum[WM / 16][WN / 8][4] = {};
  for (int64_t k0 = 0; k0 < K; k0 += BK) {
    part_of_a.read(A, M, K, row0, k0);
    part_of_b.read(B, K, N, k0, col0);
    part_of_a.store(As);
    part_of_b.store(Bs);
    __syncthreads();
#pragma unroll 1  // more would not fit into 128 registers
    for (int k = 0; k < BK; k += 16) {
      // Each lane says where one row of 8 elements begins: lanes 0-15 the left ones of 16 rows,
      // lanes 16-31 the right ones.
      uint32_t a[WM / 16][4];  // two of (16, 8) each, side by side
#pragma unroll
      for (int i = 0; i < WM / 16; ++i)
        ldmatrix(a[i], &As[TileA::at(m + 16 * i + lane % 16, k + lane / 16 * 8)]);
      // B's rows run along N, and the instruction wants pairs along K: so each 8 × 8 is transposed.
      uint32_t b[WN / 16][4];  // two of (8, 8), one below the other, and two beside these
#pragma unroll
      for (int j = 0; j < WN / 16; ++j)
        ldmatrix_trans(b[j], &Bs[TileB::at(k + lane % 16, n + 16 * j + lane / 16 * 8)]);
#pragma unroll
      for (int half = 0; half < 2; ++half)  // of the 16 elements of K
#pragma unroll
        for (int i = 0; i < WM / 16; ++i)
#pragma unroll
          for (int j = 0; j < WN / 8; ++j)
            mma_m16n8k8<__half>(sum[i][j], a[i][2 * half], a[i][2 * half + 1],
                                b[j / 2][j % 2 * 2 + half]);
    }
    __syncthreads();
  }
  store_sums(C, M, N, row0 + m, col0 + n, sum);
}

}  // namespace

// The 16-byte path if the rows of A and of B both allow it, else an element at a time.
void fragments(const HalfProduct& product, const __half* A, const __half* B, HalfOutput C,
               Workspace, cudaStream_t stream) {
  require_product(product, "fragments");
  const int64_t M = product.M, N = product.N, K = product.K;
  if (M == 0 || N == 0) return;
  const bool aligned = rows_are_aligned(A, K) && rows_are_aligned(B, N);
  const int64_t blocks = ceil_div(M, BM) * ceil_div(N, BN);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = aligned ? fragments_kernel<true, Out> : fragments_kernel<false, Out>;
        kernel<<<blocks, THREADS, 0, stream>>>(A, B, to, M, N, K);
      },
      C);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::fp16
