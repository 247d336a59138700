// Step 5 = step 4 + a mask that is a formula: neither a mask nor a list is read.
//
// A causal mask, a window and no mask at all are bands: (i, j) is kept where low <= j - i <= high.
// Two comparisons tell what a band keeps of a block, a few more what it keeps of a patch.
//
// Cost: that of step 4, less the words and the list. Any other mask goes step 4's way.
//
// asked for       loads 1536·K·live bytes, less at the edges,
//                 stores 4·B·M·N bytes
#include <algorithm>

#include "03_masked_bmm.hpp"
#include "overlapped_tiles.cuh"

namespace tutorial {
namespace {

/// What a band keeps. The blocks of a row come one after the other, so that those that only store
/// stand between those that multiply.
struct BandBlocks {
  Band band;
  unsigned down, across;  // blocks

  BandBlocks(Band band, int64_t M, int64_t N)
      : band(band), down(ceil_div(M, BLOCK)), across(ceil_div(N, BLOCK)) {}

  __device__ overlap::Place place(const MaskedBmm& p, int64_t matrix, const float* A,
                                  const float* B, float* C) const {
    const unsigned block = blockIdx.x / overlap::TILES, half = blockIdx.x % overlap::TILES;
    const unsigned row = block / across, col = block % across;
    // Within the block j - i reaches from `corner` - 127 to `corner` + 127.
    const int64_t corner = (int64_t{col} - row) * BLOCK;
    const int64_t least = corner - (BLOCK - 1), most = corner + (BLOCK - 1);
    const bool none = most < band.low || least > band.high;
    const bool all = least >= band.low && most <= band.high;
    return overlap::place_of(p, matrix, row, col, half,
                             none  ? Kept::none
                             : all ? Kept::all
                                   : Kept::some,
                             A, B, C);
  }

  /// In row i of a patch the bits from … to - 1 are kept.
  __device__ uint64_t word(const MaskedBmm&, int64_t, int64_t down, int64_t across) const {
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

// x counts tiles, y matrices.
template <bool WIDE, bool WHOLE_K>
__global__ void __launch_bounds__(overlap::THREADS, overlap::BLOCKS_PER_SM)
    band_tiles(MaskedBmm p, BandBlocks blocks, int64_t first_matrix, const float* A, const float* B,
               float* C) {
  extern __shared__ float4 shared[];
  __shared__ overlap::Place tile;  // here, since no register is to spare
  if (threadIdx.x == 0) tile = blocks.place(p, first_matrix + blockIdx.y, A, B, C);
  __syncthreads();
  overlap::product<WIDE, WHOLE_K>(p, tile, blocks, shared);
}

template <bool WIDE, bool WHOLE_K>
void launch(const MaskedBmm& p, const BandBlocks& blocks, const float* A, const float* B,
            float* C) {
  // A block may have more than 48 KB of shared memory only if the kernel asks for it.
  CUDA_CHECK(cudaFuncSetAttribute(band_tiles<WIDE, WHOLE_K>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  overlap::SHARED_BYTES));
  for (int64_t first = 0; first < p.batch; first += MAX_GRID_Y) {
    const dim3 grid(overlap::TILES * blocks.across * blocks.down,
                    std::min(p.batch - first, MAX_GRID_Y));
    band_tiles<WIDE, WHOLE_K>
        <<<grid, overlap::THREADS, overlap::SHARED_BYTES>>>(p, blocks, first, A, B, C);
    CUDA_CHECK_LAUNCH();
  }
}

}  // namespace

void closed_form(const MaskedBmm& p, const float* A, const float* B, float* C) {
  if (p.batch == 0 || p.M == 0 || p.N == 0) return;
  if (!p.band) return overlapped_tiles(p, A, B, C);
  // No j - i lies beyond these, and within them nothing overflows.
  const Band band = {std::clamp(p.band->low, -p.M, p.N), std::clamp(p.band->high, -p.M, p.N)};
  const BandBlocks blocks(band, p.M, p.N);
  overlap::choose(p, A, B, C,
                  [&]<bool WIDE, bool WHOLE_K>() { launch<WIDE, WHOLE_K>(p, blocks, A, B, C); });
}

}  // namespace tutorial
