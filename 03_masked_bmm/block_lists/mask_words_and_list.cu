// What steps 1 to 3 read: the mask in bits, a 64-bit word for each 8×8 patch, and a list of the
// blocks.
//
// Bit 8·i + j of a word says whether element (i, j) of the patch is kept; outside C it is 0. So 0
// is a patch to skip, and the word of a patch that is kept in part is its element mask as well. A
// warp looks at 32 elements of a row at a time, and one vote of its threads packs them into 32
// bits.
//
// FLOP            none
// global memory   reads the mask once, M·N bytes, and writes an eighth of that. The list has 16
//                 bytes a block
// asked for by mask_words_kernel  loads masks·M·N bytes,
//                 stores masks·(8·⌈M/8⌉·⌈N/8⌉ + ⌈M/128⌉·⌈N/128⌉) bytes
// asked for by list_blocks        loads 2·masks·⌈M/128⌉·⌈N/128⌉ bytes,
//                 stores 16·masks·⌈M/128⌉·⌈N/128⌉ bytes
// shared memory   none for the words but what the barriers need; 128 bytes for the list
// block           256 threads for 128 × 128 elements of the mask; then one block of 1024 threads,
//                 which reads the states twice and writes the list
// H200            0.037 ms for the causal default, once for all its products
#include <algorithm>

#include "block_lists/block_lists.hpp"
#include "common/kernel/check.hpp"

namespace tutorial::masked_bmm::block_lists {
namespace {

constexpr int THREADS = 256, WARPS = THREADS / 32;
constexpr unsigned ALL_LANES = 0xffffffff;

// One 128×128 block of one mask. A warp takes 8 rows of 32 columns at a time: four patches.
__device__ void words_of_block(const uint8_t* mask, int64_t M, int64_t N, int64_t block_row,
                               int64_t block_col, uint64_t* words, Kept* state) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t patches_down = ceil_div(M, PATCH), patches_across = ceil_div(N, PATCH);

  bool any = false, all = true;  // what no element has contradicted
  for (int strip = warp; strip < BLOCK / PATCH * (BLOCK / 32); strip += WARPS) {
    const int64_t row0 = block_row * BLOCK + strip / (BLOCK / 32) * PATCH;
    const int64_t col0 = block_col * BLOCK + strip % (BLOCK / 32) * 32;
    if (row0 >= M || col0 >= N) continue;  // the same answer for all lanes
    const int64_t col = col0 + lane;
    uint64_t word = 0;  // lane p < 4 collects patch p's
#pragma unroll 4
    for (int i = 0; i < PATCH; ++i) {
      const bool inside = row0 + i < M && col < N;
      const bool keep = inside && mask[(row0 + i) * N + col] != 0;
      const unsigned row_bits = __ballot_sync(ALL_LANES, keep);  // bit l: what lane l found
      any = any || row_bits != 0;
      all = all && row_bits == __ballot_sync(ALL_LANES, inside);
      word |= uint64_t{row_bits >> (lane % 4 * PATCH) & 0xff} << (i * PATCH);
    }
    const int64_t down = row0 / PATCH, across = col0 / PATCH + lane;
    if (lane < 4 && down < patches_down && across < patches_across)
      words[down * patches_across + across] = word;
  }

  any = __syncthreads_or(any) != 0;
  all = __syncthreads_and(all) != 0;
  if (threadIdx.x == 0) *state = kept_of(any, all);
}

__global__ void __launch_bounds__(THREADS)
    mask_words_kernel(MaskedBmm p, int64_t masks, uint64_t* words, Kept* states) {
  const int64_t blocks_down = ceil_div(p.M, BLOCK), blocks_across = ceil_div(p.N, BLOCK);
  const int64_t patches = ceil_div(p.M, PATCH) * ceil_div(p.N, PATCH);
  for (int64_t m = blockIdx.z; m < masks; m += gridDim.z) {
    for (int64_t row = blockIdx.y; row < blocks_down; row += gridDim.y) {
      const int64_t block = (m * blocks_down + row) * blocks_across + blockIdx.x;
      words_of_block(p.mask + m * p.M * p.N, p.M, p.N, row, blockIdx.x, words + m * patches,
                     states + block);
    }
  }
}

// ---- The list

constexpr int LIST_THREADS = 1024, LIST_WARPS = LIST_THREADS / 32;

// How many threads of the block before this one have `mine`, and in `total` how many there are in
// all. Every thread of the block must come.
__device__ int threads_before(bool mine, int& total) {
  __shared__ int of_warp[LIST_WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned votes = __ballot_sync(ALL_LANES, mine);
  if (lane == 0) of_warp[warp] = __popc(votes);
  __syncthreads();
  int before = __popc(votes & ((1u << lane) - 1));
  total = 0;
  for (int w = 0; w < LIST_WARPS; ++w) {
    if (w < warp) before += of_warp[w];
    total += of_warp[w];
  }
  __syncthreads();  // of_warp is written again at the next call
  return before;
}

// One block of threads. Live block number q of L goes to place q·T/L of the T in the list, so that
// the others, which only store, stand between them evenly.
__global__ void __launch_bounds__(LIST_THREADS)
    list_blocks(const Kept* states, int64_t down, int64_t across, int64_t blocks,
                ListedBlock* list) {
  int64_t live = 0;
  for (int64_t first = 0; first < blocks; first += LIST_THREADS) {
    const int64_t block = first + threadIdx.x;
    live += __syncthreads_count(block < blocks && states[block] != Kept::none);
  }
  const int64_t masked = blocks - live;

  int64_t live_before = 0;
  for (int64_t first = 0; first < blocks; first += LIST_THREADS) {
    const int64_t block = first + threadIdx.x;
    const Kept state = block < blocks ? states[block] : Kept::none;
    int live_here;
    const int64_t rank = live_before + threads_before(state != Kept::none, live_here);
    live_before += live_here;
    if (block >= blocks) continue;  // no barrier is left out: all threads loop equally often
    const int64_t place = state != Kept::none ? rank * blocks / live
                                              : ceil_div((block - rank + 1) * blocks, masked) - 1;
    list[place] = {static_cast<int32_t>(block / (down * across)),
                   static_cast<int32_t>(block / across % down),
                   static_cast<int32_t>(block % across), static_cast<int32_t>(state)};
  }
}

}  // namespace

void build_mask_words(const MaskedBmm& p, uint64_t* words, Kept* states, ListedBlock* list) {
  const int64_t down = ceil_div(p.M, BLOCK), across = ceil_div(p.N, BLOCK);
  const int64_t blocks = p.masks() * down * across;
  if (blocks == 0) return;
  const dim3 grid(across, std::min(down, grid_limit.y), std::min(p.masks(), grid_limit.y));
  mask_words_kernel<<<grid, THREADS>>>(p, p.masks(), words, states);
  CUDA_CHECK_LAUNCH();
  list_blocks<<<1, LIST_THREADS>>>(states, down, across, blocks, list);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::masked_bmm::block_lists
