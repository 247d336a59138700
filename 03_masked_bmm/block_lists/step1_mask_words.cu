// Step 1 = three_level_mask + the mask in words, one load tells a thread all about its patch; the
// blocks come from a list, in which those that only store stand between the others.
//
// FLOP            2·K for each element of the 8×8 patches that keep something, as there
// global memory   A, B and C as there. Of the mask: 8 bytes a thread, where three_level_mask reads
//                 a byte, and up to 64 more when a patch is kept in part
// asked for       loads 1024·K·live bytes, less at the edges, and the words and the list more,
//                 stores 4·B·M·N bytes
// shared memory   8.1 KB a block, as there
// block           16 × 16 threads for 128 × 128 elements of C
// H200            0.811 ms for the causal default, 102 % of cuBLAS + fill
#include <algorithm>

#include "block_lists/block_lists.hpp"
#include "common/kernel/check.hpp"

namespace tutorial::masked_bmm::block_lists {
namespace {

constexpr int BM = BLOCK, BN = BLOCK, BK = 8, TM = PATCH, TN = PATCH;
constexpr int THREADS = (BM / TM) * (BN / TN);
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0,
              "all threads must bring the same number of elements: change BK");

// As in three_level_mask: neighbouring threads write neighbouring elements.
__device__ void fill_tile(const ListedBmm& p, int64_t row0, int64_t col0, float* C) {
  const int thread = threadIdx.y * (BN / TN) + threadIdx.x;
  for (int first = 0; first < BM * BN; first += THREADS) {
    const int64_t row = row0 + (first + thread) / BN, col = col0 + (first + thread) % BN;
    if (row < p.M && col < p.N) C[row * p.N + col] = p.fill;
  }
}

// One block's tile of one matrix, which uses mask `m` of those that there are.
__device__ void masked_tile(const ListedBmm& p, int64_t m, int64_t row0, int64_t col0,
                            const float* A, const float* B, float* C) {
  const int64_t M = p.M, N = p.N, K = p.K;
  // Aligned, so that the compiler reads four neighbours with one instruction. As is transposed; its
  // rows begin 4 banks apart, so that a warp's stores meet no conflict.
  alignas(16) __shared__ float As[BK][BM + 4];
  alignas(16) __shared__ float Bs[BK][BN];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int thread = ty * (BN / TN) + tx;

  const int64_t patches_down = ceil_div(M, TM), patches_across = ceil_div(N, TN);
  const int64_t down = row0 / TM + ty, across = col0 / TN + tx;
  const bool inside = down < patches_down && across < patches_across;
  const uint64_t* const my_word =
      p.mask_words + (inside ? (m * patches_down + down) * patches_across + across : 0);
  const bool works = inside && *my_word != 0;

  float sum[TM][TN] = {};
  for (int64_t k0 = 0; k0 < K; k0 += BK) {
    for (int first = 0; first < BM * BK; first += THREADS) {
      const int row = (first + thread) / BK, k = (first + thread) % BK;
      As[k][row] = row0 + row < M && k0 + k < K ? A[(row0 + row) * K + k0 + k] : 0;
    }
    for (int first = 0; first < BK * BN; first += THREADS) {
      const int k = (first + thread) / BN, col = (first + thread) % BN;
      Bs[k][col] = k0 + k < K && col0 + col < N ? B[(k0 + k) * N + col0 + col] : 0;
    }
    __syncthreads();

    if (works) {  // only the products: every thread loads and meets the barriers
      for (int k = 0; k < BK; ++k) {
        float a[TM], b[TN];
        for (int i = 0; i < TM; ++i) a[i] = As[k][ty * TM + i];
        for (int j = 0; j < TN; ++j) b[j] = Bs[k][tx * TN + j];
        for (int i = 0; i < TM; ++i)
          for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();
  }

  if (!inside) return;
  const uint64_t word = *my_word;  // again: it is cached, and took two registers all the time
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      const int64_t row = row0 + ty * TM + i, col = col0 + tx * TN + j;
      if (row >= M || col >= N) continue;
      const bool keep = word >> (i * TN + j) & 1;
      C[row * N + col] = keep ? sum[i][j] : p.fill;
    }
  }
}

// A block for each entry of the list from `first` on; y counts matrices from `first_matrix` on. No
// loop, whose counters would take registers: what a grid leaves gets a launch of its own.
__global__ void __launch_bounds__(THREADS, 2)
    listed_product(ListedBmm p, int64_t first, int64_t first_matrix, const float* A, const float* B,
                   float* C) {
  const ListedBlock block = p.block_list[first + blockIdx.x];
  const int64_t matrix = p.mask_per_batch ? block.mask : first_matrix + blockIdx.y;
  const int64_t row0 = block.row * int64_t{BM}, col0 = block.col * int64_t{BN};
  float* c = C + matrix * p.M * p.N;
  if (static_cast<Kept>(block.kept) == Kept::none)  // the same answer for all threads of the block
    fill_tile(p, row0, col0, c);
  else
    masked_tile(p, block.mask, row0, col0, A + matrix * p.M * p.K, B + matrix * p.K * p.N, c);
}

}  // namespace

void mask_words(const ListedBmm& p, const float* A, const float* B, float* C) {
  if (p.batch == 0 || p.M == 0 || p.N == 0) return;
  const int64_t in_list = p.masks() * ceil_div(p.M, BM) * ceil_div(p.N, BN);
  // Where each matrix has a mask of its own, the list names the matrix, too.
  const int64_t matrices = p.mask_per_batch ? 1 : p.batch;
  for (int64_t m = 0; m < matrices; m += grid_limit.y) {
    for (int64_t first = 0; first < in_list; first += grid_limit.x) {
      const dim3 grid(std::min(in_list - first, grid_limit.x),
                      std::min(matrices - m, grid_limit.y));
      listed_product<<<grid, dim3(BN / TN, BM / TM)>>>(p, first, m, A, B, C);
      CUDA_CHECK_LAUNCH();
    }
  }
}

}  // namespace tutorial::masked_bmm::block_lists
