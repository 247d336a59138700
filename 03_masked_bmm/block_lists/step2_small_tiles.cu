// Step 2 = step 1 + small tiles, so that four blocks of threads share a multiprocessor: while one
// waits for its operands or stores, the others multiply.
//
// A tile is half a block of the list. Its operands come to shared memory by 16-byte copies that
// pass no register (tile_phases.cuh), and lie there so that no read meets a bank conflict.
//
// FLOP            2·K for each element of the 32×64 parts that keep something: a part that keeps
//                 nothing is left out by its warp
// global memory   a tile reads 256·K bytes of A and 512·K of B, so half as much again as in step
//                 1, mostly from the L2 cache. C is written once
// asked for       loads 1536·K·live bytes, less at the edges, and the words and the list more,
//                 stores 4·B·M·N bytes
// shared memory   25.8 KB a block: a piece of A, one of B, the words
// block           128 threads for 64 × 128 elements of C, four blocks on a multiprocessor; at most
//                 128 registers a thread
// H200            0.267 ms for the causal default, 309 % of cuBLAS + fill
#include <algorithm>

#include "block_lists/tile_phases.cuh"
#include "common/kernel/check.hpp"

namespace tutorial::masked_bmm::block_lists {
namespace {

// x goes through the list, a block of which is two tiles, and y counts matrices.
// WIDE: copies and stores of 16 bytes.
template <bool WIDE>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    small_tiles_kernel(ListedBmm p, int64_t first, int64_t first_matrix, const float* A,
                       const float* B, float* C) {
  alignas(16) __shared__ float As[A_PIECE];  // (BM, BK), padded
  alignas(16) __shared__ float Bs[B_PIECE];  // (BK, BN)
  __shared__ TileView tile;                  // here, since no register is to spare
  __shared__ uint64_t words[THREADS];        // (BM/8, BN/8)
  if (threadIdx.x == 0) tile = listed_tile(p, first, first_matrix, A, B, C);
  __syncthreads();
  if (tile.rows <= 0) return;     // the second half of a block at the lower edge
  if (tile.kept == Kept::none) {  // likewise: the same answer for all threads of the block
    fill_tile<WIDE>(p, tile);
    return;
  }

  const bool all = tile.kept == Kept::all;  // most tiles: no word is asked for
  bool warp_works = true;
  if (!all) {
    // A tile has as many patches as the block has threads: each brings one word.
    const int down = threadIdx.x / (BN / PATCH), across = threadIdx.x % (BN / PATCH);
    words[threadIdx.x] = word_of_patch(p, tile.mask, tile.down + down, tile.across + across);
    __syncthreads();
    warp_works = __any_sync(ALL_LANES, word_of_thread(words) != 0);
  }

  const bool inside = tile.rows == BM && tile.cols == BN;
  float sum[TM][TN] = {};
  for (int64_t k0 = 0; k0 < p.K; k0 += BK) {
    if (inside && k0 + BK <= p.K)  // most pieces lie inside A and B: their copies need not ask
      load_piece<WIDE, false, MANY_COPIES>(p, tile, k0, As, Bs);
    else
      load_piece<WIDE, true, FEW_COPIES>(p, tile, k0, As, Bs);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();  // this piece is here
    const int depth = static_cast<int>(min(p.K - k0, int64_t{BK}));
    if (warp_works) multiply_piece<4>(As, Bs, depth, sum);
    __syncthreads();  // nobody reads it any more
  }
  store_tile<WIDE>(p, tile, all ? ~uint64_t{0} : word_of_thread(words), sum);
}

template <bool WIDE>
void launch(const ListedBmm& p, const float* A, const float* B, float* C) {
  const int64_t tiles = p.masks() * ceil_div(p.M, BLOCK) * ceil_div(p.N, BLOCK) * TILES_PER_BLOCK;
  const int64_t matrices = p.mask_per_batch ? 1 : p.batch;
  for (int64_t m = 0; m < matrices; m += grid_limit.y) {
    for (int64_t first = 0; first < tiles; first += grid_limit.x) {
      const dim3 grid(std::min(tiles - first, grid_limit.x), std::min(matrices - m, grid_limit.y));
      small_tiles_kernel<WIDE><<<grid, THREADS>>>(p, first, m, A, B, C);
      CUDA_CHECK_LAUNCH();
    }
  }
}

}  // namespace

void small_tiles(const ListedBmm& p, const float* A, const float* B, float* C) {
  if (p.batch == 0 || p.M == 0 || p.N == 0) return;
  if (rows_are_wide(p, A, B, C))
    launch<true>(p, A, B, C);
  else
    launch<false>(p, A, B, C);
}

}  // namespace tutorial::masked_bmm::block_lists
