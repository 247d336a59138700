// Step 4 = step 3 + a mask that is a formula: neither a mask nor a list is read.
//
// A causal mask, a window and no mask at all are bands: (i, j) is kept where low <= j - i <= high.
// Two comparisons tell what a band keeps of a block, a few more what it keeps of a patch. Any other
// mask goes step 3's way.
//
// FLOP            2·K for each element of the 32×64 parts that keep something, as in step 2
// global memory   as in step 3, less the words and the list
// asked for       loads 1536·K·live bytes, less at the edges,
//                 stores 4·B·M·N bytes
// shared memory   50.5 kB a block, as in step 3
// block           128 threads for 64 × 128 elements of C, four blocks on a multiprocessor
// H200            0.264 ms for the causal default, 314 % of cuBLAS + fill
//                 (mask_words_and_list takes 0.037 ms, once for all products with a mask, which
//                 this step does without)
#include <algorithm>

#include "block_lists/tile_phases.cuh"
#include "common/kernel/check.hpp"

namespace tutorial::masked_bmm::block_lists {
namespace {

/// What a band keeps. The blocks of a row come one after the other, so that those that only store
/// stand between those that multiply.
struct BandBlocks {
  Band band;
  unsigned down, across;  // blocks

  BandBlocks(Band the_band, int64_t M, int64_t N)
      : band(the_band), down(ceil_div(M, BLOCK)), across(ceil_div(N, BLOCK)) {}

  /// The tile of this block of threads.
  __device__ TileView tile(const ListedBmm& p, int64_t matrix, const float* A, const float* B,
                           float* C) const {
    const unsigned block = blockIdx.x / TILES_PER_BLOCK, number = blockIdx.x % TILES_PER_BLOCK;
    const unsigned row = block / across, col = block % across;
    // Within the block j - i reaches from `corner` - 127 to `corner` + 127.
    const int64_t corner = (int64_t{col} - row) * BLOCK;
    const int64_t least = corner - (BLOCK - 1), most = corner + (BLOCK - 1);
    const bool none = most < band.low || least > band.high;
    const bool all = least >= band.low && most <= band.high;
    const Kept kept = none ? Kept::none : all ? Kept::all : Kept::some;
    return view_tile(p, matrix, row, col, number, kept, A, B, C);
  }

  /// The word of patch (down, across): in its row i the bits from … to - 1 are kept.
  __device__ uint64_t word_of_patch(int64_t down, int64_t across) const {
    uint64_t word = 0;
    for (int i = 0; i < PATCH; ++i) {
      const int64_t first = (across - down) * PATCH - i;  // j - i at the row's first element
      const auto bit = [](int64_t x) {
        return static_cast<int>(min(max(x, int64_t{0}), int64_t{PATCH}));
      };
      const int from = bit(band.low - first), to = bit(band.high - first + 1);
      word |= uint64_t{(0xffu << from) & (0xffu >> (PATCH - to))} << (i * PATCH);
    }
    return word;
  }
};

// x goes through the tiles, y counts matrices. WIDE and WHOLE_K as in step 3.
template <bool WIDE, bool WHOLE_K>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    band_tiles(ListedBmm p, BandBlocks blocks, int64_t first_matrix, const float* A, const float* B,
               float* C) {
  extern __shared__ float4 shared[];
  __shared__ TileView tile;  // here, since no register is to spare
  __shared__ uint64_t words[THREADS];
  if (threadIdx.x == 0) tile = blocks.tile(p, first_matrix + blockIdx.y, A, B, C);
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
    words[threadIdx.x] = blocks.word_of_patch(tile.down + down, tile.across + across);
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
void launch(const ListedBmm& p, const BandBlocks& blocks, const float* A, const float* B,
            float* C) {
  // A block may have more than 48 KB of shared memory only if the kernel asks for it.
  CUDA_CHECK(cudaFuncSetAttribute(band_tiles<WIDE, WHOLE_K>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
  for (int64_t first = 0; first < p.batch; first += grid_limit.y) {
    const dim3 grid(TILES_PER_BLOCK * blocks.across * blocks.down,
                    std::min(p.batch - first, grid_limit.y));
    band_tiles<WIDE, WHOLE_K><<<grid, THREADS, SHARED_BYTES>>>(p, blocks, first, A, B, C);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace

void closed_form(const ListedBmm& p, const float* A, const float* B, float* C) {
  if (p.batch == 0 || p.M == 0 || p.N == 0) return;
  if (!p.band) return overlapped_tiles(p, A, B, C);
  // No j - i lies beyond these, and within them nothing overflows.
  const Band band = {.low = std::clamp(p.band->low, -p.M, p.N),
                     .high = std::clamp(p.band->high, -p.M, p.N)};
  const BandBlocks blocks(band, p.M, p.N);
  const bool wide = rows_are_wide(p, A, B, C), whole_k = p.K <= PIECES * BK;
  if (wide && whole_k) return launch<true, true>(p, blocks, A, B, C);
  if (wide) return launch<true, false>(p, blocks, A, B, C);
  if (whole_k) return launch<false, true>(p, blocks, A, B, C);
  launch<false, false>(p, blocks, A, B, C);
}

}  // namespace tutorial::masked_bmm::block_lists
