// Step 1: 16×16×16 products by tensor cores, with the functions and the types of CUDA's guide.
//
// FLOP            2·M·N·K
// global memory   2·K·(M·N/128 + N·M/128) + E·M·N bytes, E of each element of C; 64 FLOP a byte
// asked for       loads 2·K·(M·⌈N/128⌉ + N·⌈M/128⌉) bytes, stores E·M·N bytes
// shared memory   24 KB a block: two blocks fit into the 64 KB of a T4
// block           256 threads for 128 × 128 elements of C
#include <mma.h>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "fp16/half_tile.cuh"
#include "fp16/launch_checks.hpp"

namespace tutorial::tiled_matmul::fp16 {
namespace {

namespace wm = nvcuda::wmma;

constexpr int BM = 128, BN = 128;  // the block's tile of C …
constexpr int WM = 64, WN = 32;    // … and a warp's: 64 sums a thread, so that two blocks fit
constexpr int BK = 32;             // elements of K at a time: 16 KB for both tiles
constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
constexpr int SIDE = 16;  // of the matrices that one call multiplies

using TileA = Plain<BM, BK>;
using TileB = Plain<BK, BN>;
using FragmentA = wm::fragment<wm::matrix_a, SIDE, SIDE, SIDE, __half, wm::row_major>;
using FragmentB = wm::fragment<wm::matrix_b, SIDE, SIDE, SIDE, __half, wm::row_major>;
using FragmentC = wm::fragment<wm::accumulator, SIDE, SIDE, SIDE, float>;

template <bool ALIGNED, class Out>
__global__ void __launch_bounds__(THREADS, 2)
    wmma_kernel(const __half* A, const __half* B, Out* C, int64_t M, int64_t N, int64_t K) {
  alignas(32) __shared__ __half As[TileA::SIZE], Bs[TileB::SIZE];
  alignas(32) __shared__ float Cs[THREADS / 32][SIDE * SIDE];  // a place for each warp
  const int64_t across = ceil_div(N, BN);                      // blocks side by side
  const int64_t row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int m = warp / WARPS_N * WM, n = warp % WARPS_N * WN;  // the warp's tile in the block's

  TileInRegisters<TileA, THREADS, ALIGNED> part_of_a;
  TileInRegisters<TileB, THREADS, ALIGNED> part_of_b;
  FragmentC sum[WM / SIDE][WN / SIDE];
  for (auto& row : sum)
    for (auto& fragment : row) wm::fill_fragment(fragment, 0.0f);
  for (int64_t k0 = 0; k0 < K; k0 += BK) {
    part_of_a.read(A, M, K, row0, k0);
    part_of_b.read(B, K, N, k0, col0);
    part_of_a.store(As);
    part_of_b.store(Bs);
    __syncthreads();
#pragma unroll 1  // more would not fit into 128 registers
    for (int k = 0; k < BK; k += SIDE) {
      // Which lane holds what of a fragment is the hardware's affair. All lanes come to each call.
      FragmentA a[WM / SIDE];
      FragmentB b;
      for (int i = 0; i < WM / SIDE; ++i)
        wm::load_matrix_sync(a[i], &As[TileA::at(m + i * SIDE, k)], TileA::ROW);
      for (int j = 0; j < WN / SIDE; ++j) {
        wm::load_matrix_sync(b, &Bs[TileB::at(k, n + j * SIDE)], TileB::ROW);
        for (int i = 0; i < WM / SIDE; ++i) wm::mma_sync(sum[i][j], a[i], b, sum[i][j]);
      }
    }
    __syncthreads();
  }

  // Through shared memory, because only there it is known which element is where.
  for (int i = 0; i < WM / SIDE; ++i) {
    for (int j = 0; j < WN / SIDE; ++j) {
      wm::store_matrix_sync(Cs[warp], sum[i][j], SIDE, wm::mem_row_major);
      __syncwarp();
      for (int e = lane; e < SIDE * SIDE; e += 32)
        store(C, M, N, row0 + m + i * SIDE + e / SIDE, col0 + n + j * SIDE + e % SIDE, Cs[warp][e]);
      __syncwarp();
    }
  }
}

}  // namespace

// The 16-byte path if the rows of A and of B both allow it, else an element at a time.
void wmma(const HalfProduct& product, const __half* A, const __half* B, HalfOutput C, Workspace,
          cudaStream_t stream) {
  require_product(product, "wmma");
  const int64_t M = product.M, N = product.N, K = product.K;
  if (M == 0 || N == 0) return;
  const bool aligned = rows_are_aligned(A, K) && rows_are_aligned(B, N);
  const int64_t blocks = ceil_div(M, BM) * ceil_div(N, BN);
  std::visit(
      [&]<class Out>(Out* to) {
        const auto kernel = aligned ? wmma_kernel<true, Out> : wmma_kernel<false, Out>;
        kernel<<<blocks, THREADS, 0, stream>>>(A, B, to, M, N, K);
      },
      C);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::tiled_matmul::fp16
