// Step 2 = step 1's two products in one kernel: a block keeps a strip of b rows of A, computes a
// b×b tile of ỹ = A·B, multiplies it by b rows of C into y, and goes on to the next tile. So ỹ is
// never written. With b >= k, a tile of y has whole rows, and nothing is computed twice.
//
// FLOP            2·m·n·k·(⌈k/b⌉ + 1)
// global memory   ⌈m/b⌉·(2·b·k + 2·b·k·⌈n/b⌉) floats, by the article "When to tile two matrix
//                 multiplies" (docs/06_joint.md compares): with b = k fewer than step 1's if k <
//                 3·n
// asked for by joint_kernel    loads 4·(⌈k/b⌉·m·k + ⌈m/b⌉·(⌈k/b⌉ + 1)·k·n) bytes,
//                              stores 4·m·k bytes
// shared memory   2·b·k + 2·b² floats, 65,536 bytes for b = k = 64, 98,304 for k >= 128: where a
//                 block may not have so much, b is 32
// block           256 threads for a tile of b×b; b is 16, 32 or 64
// H200            0.651 ms for 4096×64 by 64×4096 by 4096×64
#include "common/kernel/check.hpp"
#include "joint/counted_tiles.cuh"
#include "joint/joint.hpp"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::joint {
namespace {

/// y = (A·B)·C, a (b, b) tile of y a block.
template <int b, class Counter>
__global__ void __launch_bounds__(THREADS)
    joint_kernel(const float* __restrict__ A, const float* __restrict__ B,
                 const float* __restrict__ C, float* __restrict__ y, int64_t m, int64_t n,
                 int64_t k, Counter count) {
  const int strip = static_cast<int>(k < MAX_STRIP ? k : MAX_STRIP);
  extern __shared__ float shared[];
  float* const A_strip = shared;              // (b, strip)
  float* const B_tile = A_strip + b * strip;  // (strip, b)
  float* const C_tile = B_tile + strip * b;   // (b, b)
  float* const Y_tile = C_tile + b * b;       // (b, b), of ỹ = A·B

  const int64_t tiles = ceil_div(k, b);
  const int64_t row0 = blockIdx.x / tiles * b, col0 = blockIdx.x % tiles * b;
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  float y_sums[b / SIDE][b / SIDE] = {};
  for (int64_t n0 = 0; n0 < n; n0 += b) {
    float sums[b / SIDE][b / SIDE] = {};
    for (int64_t k0 = 0; k0 < k; k0 += strip) {
      // The strip stays, unless it is wider than its place: then it comes in pieces, every time.
      if (n0 == 0 || k > strip) load_tile(A_strip, b, strip, A, row0, k0, m, k, count);
      load_tile(B_tile, strip, b, B, k0, n0, k, n, count);
      __syncthreads();
      add_product<b>(sums, A_strip, B_tile, strip, count);
      __syncthreads();
    }
    for (int i = 0; i < b / SIDE; ++i)
      for (int j = 0; j < b / SIDE; ++j) Y_tile[(ty + SIDE * i) * b + tx + SIDE * j] = sums[i][j];
    load_tile(C_tile, b, b, C, n0, col0, n, k, count);
    __syncthreads();
    add_product<b>(y_sums, Y_tile, C_tile, b, count);
    __syncthreads();
  }
  store_tile<b>(y_sums, y, row0, col0, m, k, count);
  count.finish();
}

template <int b, class Counter>
void launch_joint(const float* A, const float* B, const float* C, float* y, int64_t m, int64_t n,
                  int64_t k, Counter count) {
  const int64_t bytes = joint_bytes(k, b);
  const unsigned blocks = grid_blocks(ceil_div(m, b) * ceil_div(k, b));
  const auto kernel = joint_kernel<b, Counter>;
  allow_shared_memory(kernel, bytes, "k", k);
  if (m == 0 || k == 0) return;
  kernel<<<blocks, THREADS, bytes>>>(A, B, C, y, m, n, k, count);
  CUDA_CHECK_LAUNCH();
}

}  // namespace

void joint_tiling(const float* A, const float* B, const float* C, float* y, float*, int64_t m,
                  int64_t n, int64_t k) {
  with_tile(tile_for(k), [&]<int b>() { launch_joint<b>(A, B, C, y, m, n, k, NoCount{}); });
}

Tally count_joint_tiling(const float* A, const float* B, const float* C, float* y, int64_t m,
                         int64_t n, int64_t k, int b) {
  return counted([&](Count count) {
    with_tile(b, [&]<int tile>() { launch_joint<tile>(A, B, C, y, m, n, k, count); });
  });
}

}  // namespace tutorial::flash_attention::joint
