// Step 3 = step 2 + a swizzle in place of the padding: no bank conflicts, and no byte too many.
//
// FLOP            2·M·N·K
// global memory   as in step 1
// asked for       loads 2·K·(M·⌈N/128⌉ + N·⌈M/128⌉) bytes, stores E·M·N bytes
// shared memory   32 KB a block
// block           256 threads for 128 × 128 elements of C
// H200            0.551 ms at 4096³, 33 % of cuBLAS
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/mma.cuh"
#include "tensor_cores/bf16_tile.cuh"
#include "tensor_cores/launch_checks.hpp"

namespace tutorial::tiled_matmul::tensor_cores {
namespace {

constexpr int BM = 128, BN = 128;  // the block's tile of C …
constexpr int WM = 64, WN = 32;    // … and a warp's: 64 sums a thread, so that two blocks fit
constexpr int BK = 64;             // elements of K at a time: 32 KB for both tiles
constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;

using TileA = Swizzled<BM, BK>;
using TileB = Swizzled<BK, BN>;

template <int WIDTH, class Out>
__global__ void __launch_bounds__(THREADS, 2)
    swizzled_kernel(const bf16* A, const bf16* B, Out* C, int64_t M, int64_t N, int64_t K) {
  alignas(16) __shared__ bf16 As[TileA::SIZE];
  alignas(16) __shared__ bf16 Bs[TileB::SIZE];
  const int64_t across = ceil_div(N, BN);  // blocks side by side
  const int64_t row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int m = warp / WARPS_N * WM, n = warp % WARPS_N * WN;  // the warp's tile in the block's

  float sum[WM / 16][WN / 8][4] = {};
  for (int64_t k0 = 0; k0 < K; k0 += BK) {
    load_tile<TileA, THREADS, WIDTH>(As, A, M, K, row0, k0);
    load_tile<TileB, THREADS, WIDTH>(Bs, B, K, N, k0, col0);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
      // Each lane says where one row of 8 elements begins: lanes 0-15 the left ones of 16 rows,
      // lanes 16-31 the right ones.
      uint32_t a[WM / 16][4];  // (16, 16) each
#pragma unroll
      for (int i = 0; i < WM / 16; ++i)
        ldmatrix(a[i], &As[TileA::at(m + 16 * i + lane % 16, k + lane / 16 * 8)]);
      // B's rows run along N, and the instruction wants pairs along K: so each 8 × 8 is transposed.
      uint32_t b[WN / 16][4];  // (16, 8) twice
#pragma unroll
      for (int j = 0; j < WN / 16; ++j)
        ldmatrix_trans(b[j], &Bs[TileB::at(k + lane % 16, n + 16 * j + lane / 16 * 8)]);
#pragma unroll
      for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 8; ++j)
          mma_m16n8k16<bf16>(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();
  }
  store_sums(C, M, N, row0 + m, col0 + n, sum);
}

}  // namespace

// The 16-byte path if the rows of A and of B both allow it, else an element at a time.
void swizzled(const Bf16Product& product, const bf16* A, const bf16* B, Output C, Workspace,
              cudaStream_t stream) {
  require_device("swizzled");
  require_plain(product, "swizzled");
  const int64_t M = product.M, N = product.N, K = product.K;
  if (M == 0 || N == 0) return;
  const bool aligned = rows_are_aligned(A, K) && rows_are_aligned(B, N);
  const int64_t blocks = ceil_div(M, BM) * ceil_div(N, BN);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = aligned ? swizzled_kernel<CHUNK, Out> : swizzled_kernel<1, Out>;
        kernel<<<blocks, THREADS, 0, stream>>>(A, B, to, M, N, K);
      },
      C);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::tensor_cores
