// Step 3 = step 2 + copies that run ahead of the products: two pieces of K are in shared memory, or
// on their way to it.
//
// For K up to 64 that is all of A and B that the tile needs, and all copies begin at once. Where K
// is longer, a piece's copies begin as soon as all threads are done with the piece before.
//
// FLOP            2·K for each element of the 32×64 parts that keep something, as in step 2
// global memory   as in step 2: a tile reads 256·K bytes of A and 512·K of B, mostly from the L2
//                 cache. C is written once
// asked for       loads 1536·K·live bytes, less at the edges, and the words and the list more,
//                 stores 4·B·M·N bytes
// shared memory   50.5 kB a block: two pieces of A and of B, the words
// block           128 threads for 64 × 128 elements of C, four blocks on a multiprocessor
// H200            0.260 ms for the causal default, 318 % of cuBLAS + fill
#include <algorithm>

#include "block_lists/tile_phases.cuh"
#include "common/kernel/check.hpp"

namespace tutorial::masked_bmm::block_lists {
namespace {

// As in step 2: x goes through the list, a block of which is two tiles, and y counts matrices.
// WIDE: copies and stores of 16 bytes. WHOLE_K: all of K is in shared memory at once.
template <bool WIDE, bool WHOLE_K>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    listed_tiles(ListedBmm p, int64_t first, int64_t first_matrix, const float* A, const float* B,
                 float* C) {
  extern __shared__ float4 shared[];
  __shared__ TileView tile;  // here, since no register is to spare
  __shared__ uint64_t words[THREADS];
  if (threadIdx.x == 0) tile = listed_tile(p, first, first_matrix, A, B, C);
  __syncthreads();
  if (tile.rows <= 0) return;     // the second half of a block at the lower edge
  if (tile.kept == Kept::none) {  // likewise: the same answer for all threads of the block
    fill_tile<WIDE>(p, tile);
    return;
  }

  float* const As = reinterpret_cast<float*>(shared);  // (PIECES, BM, BK), padded
  float* const Bs = As + PIECES * A_PIECE;             // (PIECES, BK, BN)
  // Most pieces lie inside A and B: their copies need not ask. Where K has ended the group of
  // copies is empty.
  const bool inside = tile.rows == BM && tile.cols == BN;
  const auto begin_piece = [&](int piece) {
    const int64_t k0 = piece * int64_t{BK};
    float *as = As + piece % PIECES * A_PIECE, *bs = Bs + piece % PIECES * B_PIECE;
    if (inside && k0 + BK <= p.K)
      load_piece<WIDE, false, WHOLE_K ? MANY_COPIES : FEW_COPIES>(p, tile, k0, as, bs);
    else if (k0 < p.K)
      load_piece<WIDE, true, FEW_COPIES>(p, tile, k0, as, bs);
    __pipeline_commit();
  };
#pragma unroll(WHOLE_K ? PIECES : 1)
  for (int piece = 0; piece < PIECES; ++piece) begin_piece(piece);

  const bool all = tile.kept == Kept::all;  // most tiles: no word is asked for
  bool warp_works = true;
  if (!all) {
    // A tile has as many patches as the block has threads: each brings one word.
    const int down = threadIdx.x / (BN / PATCH), across = threadIdx.x % (BN / PATCH);
    words[threadIdx.x] = word_of_patch(p, tile.mask, tile.down + down, tile.across + across);
    __syncthreads();
    warp_works = __any_sync(ALL_LANES, word_of_thread(words) != 0);
  }

  float sum[TM][TN] = {};
  const int pieces = static_cast<int>(ceil_div(p.K, BK));
  for (int piece = 0; piece < pieces; ++piece) {
    // WHOLE_K: at first the second piece may still be on its way.
    if (WHOLE_K && piece == 0)
      __pipeline_wait_prior(PIECES - 1);
    else
      __pipeline_wait_prior(PIECES - 2);
    __syncthreads();  // this piece is here, and nobody reads the one before it any more
    if (!WHOLE_K && piece > 0) begin_piece(piece - 1 + PIECES);
    const int depth = static_cast<int>(min(p.K - piece * int64_t{BK}, int64_t{BK}));
    // Four columns of A at once take 16 registers more than two. They are there where no address
    // of a later piece must be kept.
    if (warp_works)
      multiply_piece<WHOLE_K ? 4 : 2>(As + piece % PIECES * A_PIECE, Bs + piece % PIECES * B_PIECE,
                                      depth, sum);
  }
  store_tile<WIDE>(p, tile, all ? ~uint64_t{0} : word_of_thread(words), sum);
}

template <bool WIDE, bool WHOLE_K>
void launch(const ListedBmm& p, const float* A, const float* B, float* C) {
  // A block may have more than 48 KB of shared memory only if the kernel asks for it.
  CUDA_CHECK(cudaFuncSetAttribute(listed_tiles<WIDE, WHOLE_K>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
  const int64_t tiles = p.masks() * ceil_div(p.M, BLOCK) * ceil_div(p.N, BLOCK) * TILES_PER_BLOCK;
  const int64_t matrices = p.mask_per_batch ? 1 : p.batch;
  for (int64_t m = 0; m < matrices; m += grid_limit.y) {
    for (int64_t first = 0; first < tiles; first += grid_limit.x) {
      const dim3 grid(std::min(tiles - first, grid_limit.x), std::min(matrices - m, grid_limit.y));
      listed_tiles<WIDE, WHOLE_K><<<grid, THREADS, SHARED_BYTES>>>(p, first, m, A, B, C);
      CUDA_CHECK_LAUNCH();
    }
  }
}

}  // namespace

void overlapped_tiles(const ListedBmm& p, const float* A, const float* B, float* C) {
  if (p.batch == 0 || p.M == 0 || p.N == 0) return;
  const bool wide = rows_are_wide(p, A, B, C), whole_k = p.K <= PIECES * BK;
  if (wide && whole_k) return launch<true, true>(p, A, B, C);
  if (wide) return launch<true, false>(p, A, B, C);
  if (whole_k) return launch<false, true>(p, A, B, C);
  launch<false, false>(p, A, B, C);
}

}  // namespace tutorial::masked_bmm::block_lists
