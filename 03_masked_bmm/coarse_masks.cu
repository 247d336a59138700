// What the steps from 2 on read: two coarse masks, an entry a block and an entry a thread, made
// from the element mask. They serve every matrix of the batch and every later product with this
// mask.
//
// FLOP            none
// global memory   reads the mask once, M·N bytes, and writes a byte for each 8×8 patch and each
//                 128×128 block: 1.6 % more
// asked for       loads masks·M·N bytes,
//                 stores masks·(⌈M/8⌉·⌈N/8⌉ + ⌈M/128⌉·⌈N/128⌉) bytes
// shared memory   none but what the barriers' and / or need
// block           16 × 16 threads for 128 × 128 elements of the mask
// H200            0.009 ms for the causal default, once for all its products
#include <algorithm>

#include "03_masked_bmm.hpp"
#include "common/kernel/check.hpp"

namespace tutorial::masked_bmm {
namespace {

constexpr int SIDE = BLOCK / PATCH;  // a block has 16×16 threads, each with one patch
constexpr int THREADS = SIDE * SIDE;

// One 128×128 block of one mask. Every thread of the block must come, also one whose patch lies
// outside.
__device__ void coarse_masks_of_block(const uint8_t* mask, int64_t M, int64_t N, int64_t block_row,
                                      int64_t block_col, Kept* block_mask, Kept* thread_mask) {
  const int64_t row0 = block_row * BLOCK + threadIdx.y * PATCH;
  const int64_t col0 = block_col * BLOCK + threadIdx.x * PATCH;

  bool any = false, all = true;  // what no element has contradicted
  for (int64_t row = row0; row < min(row0 + PATCH, M); ++row) {
    for (int64_t col = col0; col < min(col0 + PATCH, N); ++col) {
      const bool keep = mask[row * N + col] != 0;
      any = any || keep;
      all = all && keep;
    }
  }
  if (row0 < M && col0 < N)
    thread_mask[row0 / PATCH * ceil_div(N, PATCH) + col0 / PATCH] = kept_of(any, all);

  // These barriers hand each thread the or / the and of what all threads of the block bring.
  any = __syncthreads_or(any) != 0;
  all = __syncthreads_and(all) != 0;
  if (threadIdx.x == 0 && threadIdx.y == 0)
    block_mask[block_row * ceil_div(N, BLOCK) + block_col] = kept_of(any, all);
}

__global__ void __launch_bounds__(THREADS)
    coarse_masks(MaskedBmm p, int64_t masks, Kept* block_mask, Kept* thread_mask) {
  const int64_t blocks_down = ceil_div(p.M, BLOCK), blocks_across = ceil_div(p.N, BLOCK);
  const int64_t patches = ceil_div(p.M, PATCH) * ceil_div(p.N, PATCH);
  for (int64_t b = blockIdx.z; b < masks; b += gridDim.z)
    for (int64_t block_row = blockIdx.y; block_row < blocks_down; block_row += gridDim.y)
      coarse_masks_of_block(p.mask + b * p.M * p.N, p.M, p.N, block_row, blockIdx.x,
                            block_mask + b * blocks_down * blocks_across,
                            thread_mask + b * patches);
}

}  // namespace

void build_coarse_masks(const MaskedBmm& p, Kept* block_mask, Kept* thread_mask) {
  if (p.masks() == 0 || p.M == 0 || p.N == 0) return;
  const dim3 grid(ceil_div(p.N, BLOCK), std::min(ceil_div(p.M, BLOCK), grid_limit.y),
                  std::min(p.masks(), grid_limit.y));
  const dim3 block(SIDE, SIDE);
  coarse_masks<<<grid, block>>>(p, p.masks(), block_mask, thread_mask);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::masked_bmm
