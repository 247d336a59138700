// The kernel of steps 4 and 5. What they differ in, where the blocks lie and what is kept of them,
// is the template parameter Blocks (step4_overlapped_tiles.cu and step5_closed_form.cu).
#pragma once

#include <cuda_pipeline.h>

#include <algorithm>

#include "03_masked_bmm.hpp"
#include "common/check.hpp"

namespace tutorial::overlap {

constexpr int BM = 64, BN = BLOCK;  // a tile: half of a 128×128 block
constexpr int TILES = BLOCK / BM;   // of a block
constexpr int BK = 32, PIECES = 2;  // K comes in pieces of 32; shared memory holds two of them
constexpr int THREADS = 128, BLOCKS_PER_SM = 4;
constexpr int TM = PATCH;        // a thread's rows, one below the other
constexpr int HALF = PATCH / 2;  // its columns: 4, and 4 more …
constexpr int HALF_APART = 32;   // … so far to the right
constexpr unsigned ALL_LANES = 0xffffffff;
static_assert(THREADS * TM * 2 * HALF == BM * BN);

// A piece of A keeps A's rows, 32 elements long. After 8 rows come 4 floats of padding: the four
// threads of a warp that lie below each other read rows 8 apart, and so meet different banks.
constexpr int A_GROUP = 8 * BK + 4;
constexpr int A_PIECE = BM / 8 * A_GROUP, B_PIECE = BK * BN;
constexpr int SHARED_BYTES = PIECES * (A_PIECE + B_PIECE) * sizeof(float);

/// One tile: where it begins in C[matrix], and what is kept of it.
struct Place {
  int64_t matrix, row, col;
  Kept kept;
};

/// Which elements a thread owns in a tile. A warp owns 32×64. Lanes l and l + 1 (l even)
/// share the columns, l and l + 2 the rows: so shared memory serves half a warp at a time.
struct Mine {
  int row, col;  // the first

  __device__ Mine() {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    row = warp / 2 * 32 + (lane / 16 * 2 + lane % 2) * TM;
    col = warp % 2 * 64 + lane / 2 % 8 * HALF;
  }
};

// ---- Loading

/// Copies a float (or four, where WIDE) to shared memory without waiting; zeros if it is outside.
template <bool WIDE>
__device__ void copy_async(float* to, const float* from, bool inside, const float* anywhere) {
  constexpr int BYTES = WIDE ? 16 : 4;
  __pipeline_memcpy_async(to, inside ? from : anywhere, BYTES, inside ? 0 : BYTES);
}

/// Starts the copies of one piece: columns k0 … k0+31 of A's rows, rows k0 … of B's columns.
template <bool WIDE, int UNROLL>
__device__ void load_piece(const MaskedBmm& p, const Place& tile, int64_t k0, const float* A,
                           const float* B, float* As, float* Bs) {
  constexpr int STEP = WIDE ? 4 : 1, A_ROW = BK / STEP, B_ROW = BN / STEP;
  constexpr int A_ROWS = THREADS / A_ROW, B_ROWS = THREADS / B_ROW;  // that the block loads at once
  const int thread = threadIdx.x;

  const int a_row = thread / A_ROW, a_k = thread % A_ROW * STEP;
  const int64_t row = tile.row + a_row;
  const int rows_left = k0 + a_k < p.K ? static_cast<int>(min(p.M - row, int64_t{BM})) : 0;
  const float* a = A + (tile.matrix * p.M + row) * p.K + k0 + a_k;
#pragma unroll UNROLL
  for (int r = 0; r < BM; r += A_ROWS, a += A_ROWS * p.K)
    copy_async<WIDE>(As + (a_row + r) / 8 * A_GROUP + (a_row + r) % 8 * BK + a_k, a, r < rows_left,
                     A);

  const int b_k = thread / B_ROW, b_col = thread % B_ROW * STEP;
  const int64_t col = tile.col + b_col;
  const int depth_left = col < p.N ? static_cast<int>(min(p.K - k0 - b_k, int64_t{BK})) : 0;
  const float* b = B + (tile.matrix * p.K + k0 + b_k) * p.N + col;
#pragma unroll UNROLL
  for (int k = 0; k < BK; k += B_ROWS, b += B_ROWS * p.N)
    copy_async<WIDE>(Bs + (b_k + k) * BN + b_col, b, k < depth_left, B);
}

// ---- Arithmetic

/// sum += A·B for the first `depth` columns of a piece, rounded up to WIDTH; beyond K are zeros. A
/// thread reads WIDTH neighbours of each of its rows at once.
template <int WIDTH>
__device__ void multiply_piece(const float* As, const float* Bs, int depth,
                               float (&sum)[TM][2 * HALF]) {
  const Mine mine;
  const float* a_rows = As + mine.row / 8 * A_GROUP;
  const float* b_cols = Bs + mine.col;
#pragma unroll 2
  for (int k0 = 0; k0 < depth; k0 += WIDTH) {
    float a[TM][WIDTH];
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      if constexpr (WIDTH == 4) {
        const float4 four = *reinterpret_cast<const float4*>(a_rows + i * BK + k0);
        a[i][0] = four.x, a[i][1] = four.y, a[i][2] = four.z, a[i][3] = four.w;
      } else {
        const float2 two = *reinterpret_cast<const float2*>(a_rows + i * BK + k0);
        a[i][0] = two.x, a[i][1] = two.y;
      }
    }
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) {
      const float4 left = *reinterpret_cast<const float4*>(b_cols + (k0 + k) * BN);
      const float4 right = *reinterpret_cast<const float4*>(b_cols + (k0 + k) * BN + HALF_APART);
      const float b[2 * HALF] = {left.x,  left.y,  left.z,  left.w,
                                 right.x, right.y, right.z, right.w};
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int step = 0; step < 2 * HALF; ++step) {
          // There and back: the row's last b is the next row's first, and still at hand.
          const int j = i % 2 == 0 ? step : 2 * HALF - 1 - step;
          sum[i][j] += a[i][k] * b[j];
        }
    }
  }
}

// ---- Storing

/// Four neighbours of a row of C, of which those beyond N do not exist. __stcs says that nobody
/// will read them soon: they need not stay in the cache.
template <bool WIDE>
__device__ void store_four(float* to, float4 four, int64_t columns_left) {
  if (WIDE) {
    if (columns_left > 0) __stcs(reinterpret_cast<float4*>(to), four);
    return;
  }
  if (columns_left > 0) __stcs(to, four.x);
  if (columns_left > 1) __stcs(to + 1, four.y);
  if (columns_left > 2) __stcs(to + 2, four.z);
  if (columns_left > 3) __stcs(to + 3, four.w);
}

template <bool WIDE>
__device__ void fill_tile(const MaskedBmm& p, const Place& tile, float* C) {
  const int64_t row = tile.row + threadIdx.x / 32;  // a warp fills a row at a time
  const int64_t col = tile.col + threadIdx.x % 32 * 4;
  float* to = C + (tile.matrix * p.M + row) * p.N + col;
  const float4 four = {p.fill, p.fill, p.fill, p.fill};
#pragma unroll 4
  for (int r = 0; r < BM; r += THREADS / 32)
    if (row + r < p.M) store_four<WIDE>(to + r * p.N, four, p.N - col);
}

/// The thread's results, where `word` (as in step 3a) has a bit; else the fill value.
template <bool WIDE>
__device__ void store_tile(const MaskedBmm& p, const Place& tile, uint64_t word,
                           const float (&sum)[TM][2 * HALF], float* C) {
  const Mine mine;
  const int64_t row = tile.row + mine.row, col = tile.col + mine.col;
  float* to = C + (tile.matrix * p.M + row) * p.N + col;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    if (row + i >= p.M) break;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto value = [&](int j) {
        const bool keep = word >> (i * PATCH + half * HALF + j) & 1;
        return keep ? sum[i][half * HALF + j] : p.fill;
      };
      store_four<WIDE>(to + i * p.N + half * HALF_APART, {value(0), value(1), value(2), value(3)},
                       p.N - col - half * HALF_APART);
    }
  }
}

/// The word of what a thread owns, from those of the tile's 8×16 patches: half of the patch that
/// its first column lies in, and half of the patch that is HALF_APART to the right.
__device__ inline uint64_t word_of_mine(const uint64_t* words) {
  constexpr uint64_t LEFT_HALVES = 0x0f0f0f0f0f0f0f0f;
  const Mine mine;
  const uint64_t* first = words + mine.row / PATCH * (BN / PATCH) + mine.col / PATCH;
  const int shift = mine.col % PATCH;  // 0 or 4: the left or the right half
  return (first[0] >> shift & LEFT_HALVES) | (first[HALF_APART / PATCH] >> shift & LEFT_HALVES)
                                                 << HALF;
}

// ---- The kernel

/// What each block of threads does; `pieces` are its SHARED_BYTES of shared memory. WIDE: copies
/// and stores of 16 bytes. WHOLE_K: all of K is in shared memory at once.
template <bool WIDE, bool WHOLE_K, class Blocks>
__device__ void product(const MaskedBmm& p, const Blocks& blocks, int64_t tiles,
                        const float* __restrict__ A, const float* __restrict__ B,
                        float* __restrict__ C, float4* pieces) {
  float* const As = reinterpret_cast<float*>(pieces);
  float* const Bs = As + PIECES * A_PIECE;
  __shared__ Place tile;  // here, since no register is to spare
  __shared__ uint64_t words[THREADS];

  for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
    __syncthreads();  // everyone is done with the tile before
    if (threadIdx.x == 0) {
      tile = blocks.place(p, number / TILES);
      tile.row += number % TILES * BM;
    }
    __syncthreads();
    if (tile.row >= p.M) continue;  // the second half of a block at the lower edge
    if (tile.kept == Kept::none) {  // likewise: the same answer for all threads of the block
      fill_tile<WIDE>(p, tile, C);
      continue;
    }

    // Where K has ended the group of copies is empty.
    const auto load = [&](int piece) {
      const int64_t k0 = piece * int64_t{BK};
      if (k0 < p.K)
        load_piece<WIDE, WHOLE_K ? 4 : 2>(p, tile, k0, A, B, As + piece % PIECES * A_PIECE,
                                          Bs + piece % PIECES * B_PIECE);
      __pipeline_commit();
    };
    for (int piece = 0; piece < PIECES; ++piece) load(piece);

    // A tile has as many patches as the block has threads: each brings one word.
    const int down = threadIdx.x / (BN / PATCH), across = threadIdx.x % (BN / PATCH);
    words[threadIdx.x] =
        tile.kept == Kept::all
            ? ~uint64_t{0}
            : blocks.word(p, tile.matrix, tile.row / PATCH + down, tile.col / PATCH + across);
    __syncthreads();
    const bool warp_works = __any_sync(ALL_LANES, word_of_mine(words) != 0);

    float sum[TM][2 * HALF] = {};
    for (int piece = 0; piece * int64_t{BK} < p.K; ++piece) {
      // WHOLE_K: at first the second piece may still be on its way.
      if (WHOLE_K && piece == 0)
        __pipeline_wait_prior(PIECES - 1);
      else
        __pipeline_wait_prior(PIECES - 2);
      __syncthreads();  // this piece is here, and nobody reads the one before it any more
      if (!WHOLE_K && piece > 0) load(piece - 1 + PIECES);
      const int depth = static_cast<int>(min(p.K - piece * int64_t{BK}, int64_t{BK}));
      // Four columns of A at once take 16 registers more than two. They are there where no address
      // of a later piece must be kept.
      if (warp_works)
        multiply_piece<WHOLE_K ? 4 : 2>(As + piece % PIECES * A_PIECE,
                                        Bs + piece % PIECES * B_PIECE, depth, sum);
    }
    store_tile<WIDE>(p, tile, word_of_mine(words), sum, C);
  }
}

/// The fast path needs every row of A, B and C to start at a multiple of 16 bytes.
inline bool rows_on_16_bytes(const MaskedBmm& p, const float* A, const float* B, const float* C) {
  const auto address = [](const float* x) { return reinterpret_cast<uintptr_t>(x); };
  return p.K % 4 == 0 && p.N % 4 == 0 && (address(A) | address(B) | address(C)) % 16 == 0;
}

inline int64_t tiles_of(const MaskedBmm& p) {
  return p.batch * ceil_div(p.M, BLOCK) * ceil_div(p.N, BLOCK) * TILES;
}

/// Calls launch<WIDE, WHOLE_K>(): WIDE where rows_on_16_bytes(), WHOLE_K for K up to 64.
template <class Launch>
void choose(const MaskedBmm& p, const float* A, const float* B, const float* C, Launch launch) {
  const bool wide = rows_on_16_bytes(p, A, B, C), whole_k = p.K <= PIECES * BK;
  if (wide && whole_k) return launch.template operator()<true, true>();
  if (wide) return launch.template operator()<true, false>();
  if (whole_k) return launch.template operator()<false, true>();
  launch.template operator()<false, false>();
}

}  // namespace tutorial::overlap
