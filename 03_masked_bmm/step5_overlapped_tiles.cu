// Step 4 = step 3b + copies that nobody waits for, and four small blocks on a multiprocessor.
//
// A tile has 64×128 elements, half a block of the list. All of A and B that it needs (for K up to
// 64) is on its way to shared memory at once, and while one block of threads waits for it or stores
// its tile, the three others on the multiprocessor multiply. The kernel is in overlapped_tiles.cuh.
//
// Cost: 2·K FLOP for each element of the 32×64 parts that keep something; the FLOP of a part that
// keeps nothing are left out for its warp. A tile reads 256·K bytes of A and 512·K of B, so half as
// much again as in step 3b, mostly from the L2 cache. C is written once. 128 threads, 51.5 KB of
// shared memory and at most 128 registers a thread: four blocks fill a multiprocessor.
//
// asked for       loads 1536·K·live bytes, less at the edges, and the words and the list more,
//                 stores 4·B·M·N bytes
#include <algorithm>

#include "03_masked_bmm.hpp"
#include "overlapped_tiles.cuh"

namespace tutorial {
namespace {

/// What is kept, from the words of step 3a.
struct MaskWords {
  __device__ uint64_t word(const MaskedBmm& p, int64_t mask, int64_t down, int64_t across) const {
    const int64_t patches_down = ceil_div(p.M, PATCH), patches_across = ceil_div(p.N, PATCH);
    if (down >= patches_down || across >= patches_across) return 0;
    return p.mask_words[(mask * patches_down + down) * patches_across + across];
  }
};

// As in step 3b: x goes through the list, a block of which is TILES tiles, and y counts matrices.
template <bool WIDE, bool WHOLE_K>
__global__ void __launch_bounds__(overlap::THREADS, overlap::BLOCKS_PER_SM)
    listed_tiles(MaskedBmm p, int64_t first, int64_t first_matrix, const float* A, const float* B,
                 float* C) {
  extern __shared__ float4 shared[];
  __shared__ overlap::Place tile;  // here, since no register is to spare
  if (threadIdx.x == 0) {
    const int64_t number = first + blockIdx.x;
    const BlockPlace block = p.block_list[number / overlap::TILES];
    tile = overlap::place_of(p, p.mask_per_batch ? block.mask : first_matrix + blockIdx.y,
                             block.row, block.col, number % overlap::TILES,
                             static_cast<Kept>(block.kept), A, B, C);
  }
  __syncthreads();
  overlap::product<WIDE, WHOLE_K>(p, tile, MaskWords(), shared);
}

template <bool WIDE, bool WHOLE_K>
void launch(const MaskedBmm& p, const float* A, const float* B, float* C) {
  // A block may have more than 48 KB of shared memory only if the kernel asks for it.
  CUDA_CHECK(cudaFuncSetAttribute(listed_tiles<WIDE, WHOLE_K>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  overlap::SHARED_BYTES));
  const int64_t tiles = p.masks() * ceil_div(p.M, BLOCK) * ceil_div(p.N, BLOCK) * overlap::TILES;
  const int64_t matrices = p.mask_per_batch ? 1 : p.batch;
  for (int64_t m = 0; m < matrices; m += MAX_GRID_Y) {
    for (int64_t first = 0; first < tiles; first += MAX_GRID_X) {
      const dim3 grid(std::min(tiles - first, MAX_GRID_X), std::min(matrices - m, MAX_GRID_Y));
      listed_tiles<WIDE, WHOLE_K>
          <<<grid, overlap::THREADS, overlap::SHARED_BYTES>>>(p, first, m, A, B, C);
      CUDA_CHECK_LAUNCH();
    }
  }
}

}  // namespace

void overlapped_tiles(const MaskedBmm& p, const float* A, const float* B, float* C) {
  if (p.batch == 0 || p.M == 0 || p.N == 0) return;
  overlap::choose(p, A, B, C,
                  [&]<bool WIDE, bool WHOLE_K>() { launch<WIDE, WHOLE_K>(p, A, B, C); });
}

}  // namespace tutorial
