// Step 1 = chapter 2's tiled product, twice: first ỹ = A·B, which goes to global memory, then
// y = ỹ·C, which reads it again.
//
// FLOP            4·m·n·k
// global memory   4·m·n·k/b + m·n + m·k floats, by the article "When to tile two matrix multiplies"
//                 (docs/06_joint.md compares)
// asked for by product_kernel  loads 4·(m·k·⌈n/b⌉ + m·n·⌈k/b⌉ + 2·k·n·⌈m/b⌉) bytes,
//                              stores 4·(m·n + m·k) bytes, in its two launches
// shared memory   2·b² floats, 32,768 bytes for b = 64
// block           256 threads for a tile of b×b; b is 16, 32 or 64
// H200            0.543 ms for 4096×64 by 64×4096 by 4096×64
#include "common/kernel/check.hpp"
#include "joint/counted_tiles.cuh"
#include "joint/joint.hpp"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::joint {
namespace {

/// C = A·B, (M, K) by (K, N), a (b, b) tile of C a block, b columns of A and rows of B at a time.
template <int b, class Counter>
__global__ void __launch_bounds__(THREADS)
    product_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                   int64_t M, int64_t N, int64_t K, Counter count) {
  __shared__ float A_tile[b * b], B_tile[b * b];  // (b, b) each
  const int64_t tiles = ceil_div(N, b);
  const int64_t row0 = blockIdx.x / tiles * b, col0 = blockIdx.x % tiles * b;
  float sums[b / SIDE][b / SIDE] = {};
  for (int64_t k0 = 0; k0 < K; k0 += b) {
    load_tile(A_tile, b, b, A, row0, k0, M, K, count);
    load_tile(B_tile, b, b, B, k0, col0, K, N, count);
    __syncthreads();
    add_product<b>(sums, A_tile, B_tile, b, count);
    __syncthreads();
  }
  store_tile<b>(sums, C, row0, col0, M, N, count);
  count.finish();
}

template <int b, class Counter>
void launch_products(const float* A, const float* B, const float* C, float* y, float* y_tilde,
                     int64_t m, int64_t n, int64_t k, Counter count) {
  if (m == 0 || k == 0) return;
  if (n > 0) {
    const unsigned blocks = grid_blocks(ceil_div(m, b) * ceil_div(n, b));
    product_kernel<b, Counter><<<blocks, THREADS>>>(A, B, y_tilde, m, n, k, count);
    CUDA_CHECK_LAUNCH();
  }
  const unsigned blocks = grid_blocks(ceil_div(m, b) * ceil_div(k, b));
  product_kernel<b, Counter><<<blocks, THREADS>>>(y_tilde, C, y, m, k, n, count);
  CUDA_CHECK_LAUNCH();
}

}  // namespace

void two_products(const float* A, const float* B, const float* C, float* y, float* y_tilde,
                  int64_t m, int64_t n, int64_t k) {
  with_tile(tile_for(k),
            [&]<int b>() { launch_products<b>(A, B, C, y, y_tilde, m, n, k, NoCount{}); });
}

Tally count_two_products(const float* A, const float* B, const float* C, float* y, float* y_tilde,
                         int64_t m, int64_t n, int64_t k, int b) {
  return counted([&](Count count) {
    with_tile(b, [&]<int tile>() { launch_products<tile>(A, B, C, y, y_tilde, m, n, k, count); });
  });
}

}  // namespace tutorial::flash_attention::joint
