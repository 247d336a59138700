// What a block of threads does in steps 4 and 5. What they differ in, where the tiles lie and what
// is kept of them, is in step5_overlapped_tiles.cu and step6_closed_form.cu.
#pragma once

#include <cuda_pipeline.h>

#include <algorithm>

#include "03_masked_bmm.hpp"
#include "common/kernel/check.hpp"

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

/// One tile, and where its operands begin. One thread works this out for all.
struct Place {
  const float *A, *B;  // its first row of A, its first column of B
  float* C;            // its first element
  int rows, cols;      // how many of C it has, at C's edges less than BM and BN
  Kept kept;
  int64_t mask, down, across;  // the mask, and the patch of it, where the tile begins
};

/// Tile number `half` of the block in block row `block_row` and block column `block_col`.
__device__ inline Place place_of(const MaskedBmm& p, int64_t matrix, int64_t block_row,
                                 int64_t block_col, int half, Kept kept, const float* A,
                                 const float* B, float* C) {
  const int64_t row = block_row * BLOCK + half * BM, col = block_col * BLOCK;
  return {A + (matrix * p.M + row) * p.K,
          B + matrix * p.K * p.N + col,
          C + (matrix * p.M + row) * p.N + col,
          static_cast<int>(min(p.M - row, int64_t{BM})),
          static_cast<int>(min(p.N - col, int64_t{BN})),
          kept,
          p.mask_per_batch ? matrix : 0,
          row / PATCH,
          col / PATCH};
}

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

/// Where row `row` of a piece of A begins.
__host__ __device__ constexpr int a_offset(int row) {
  return row / 8 * A_GROUP + row % 8 * BK;
}

/// Starts the copies of one piece: columns k0 … k0+31 of A's rows, rows k0 … of B's columns.
/// GUARDED: parts of it may lie outside; these become 0.
template <bool WIDE, bool GUARDED, int UNROLL>
__device__ void load_piece(const MaskedBmm& p, const Place& tile, int64_t k0, float* As,
                           float* Bs) {
  constexpr int STEP = WIDE ? 4 : 1, BYTES = STEP * sizeof(float);
  const int rows = tile.rows, cols = tile.cols;  // not read again after each copy
  const int depth = static_cast<int>(min(p.K - k0, int64_t{BK}));
  const auto copy = [](float* to, const float* from, bool inside) {
    __pipeline_memcpy_async(to, from, BYTES, GUARDED && !inside ? BYTES : 0);
  };

  constexpr int A_ROW = BK / STEP, A_ROWS = THREADS / A_ROW;  // the block copies A_ROWS at once
  const int row = threadIdx.x / A_ROW, a_k = threadIdx.x % A_ROW * STEP;
  const float* a = tile.A + row * p.K + k0 + a_k;
  float* const a_to = As + a_offset(row) + a_k;
#pragma unroll UNROLL
  for (int r = 0; r < BM; r += A_ROWS, a += A_ROWS * p.K)
    copy(a_to + a_offset(r), a, row + r < rows && a_k < depth);

  constexpr int B_ROW = BN / STEP, B_ROWS = THREADS / B_ROW;
  const int b_k = threadIdx.x / B_ROW, col = threadIdx.x % B_ROW * STEP;
  const float* b = tile.B + (k0 + b_k) * p.N + col;
  float* const b_to = Bs + b_k * BN + col;
#pragma unroll UNROLL
  for (int k = 0; k < BK; k += B_ROWS, b += B_ROWS * p.N)
    copy(b_to + k * BN, b, b_k + k < depth && col < cols);
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
      // There and back, in rows and columns: from one product to the next, and from one k to the
      // next, most of what is read is still at hand.
#pragma unroll
      for (int down = 0; down < TM; ++down)
#pragma unroll
        for (int across = 0; across < 2 * HALF; ++across) {
          const int i = k % 2 == 0 ? down : TM - 1 - down;
          const int j = (down + k) % 2 == 0 ? across : 2 * HALF - 1 - across;
          sum[i][j] += a[i][k] * b[j];
        }
    }
  }
}

// ---- Storing

/// Four neighbours of a row of C, of which `exist` exist. __stcs says that nobody will read them
/// soon: they need not stay in the cache.
template <bool WIDE>
__device__ void store_four(float* to, float4 four, int exist) {
  if (WIDE) {
    if (exist > 0) __stcs(reinterpret_cast<float4*>(to), four);
    return;
  }
  if (exist > 0) __stcs(to, four.x);
  if (exist > 1) __stcs(to + 1, four.y);
  if (exist > 2) __stcs(to + 2, four.z);
  if (exist > 3) __stcs(to + 3, four.w);
}

template <bool WIDE>
__device__ void fill_tile(const MaskedBmm& p, const Place& tile) {
  const int row = threadIdx.x / 32, col = threadIdx.x % 32 * 4;  // a warp fills a row at a time
  float* to = tile.C + row * p.N + col;
  const float4 four = {p.fill, p.fill, p.fill, p.fill};
  const int rows = tile.rows - row, cols = tile.cols - col;
#pragma unroll 8
  for (int r = 0; r < BM; r += THREADS / 32, to += THREADS / 32 * p.N)
    if (r < rows) store_four<WIDE>(to, four, cols);
}

/// The thread's results, where `word` (as in step 3a) has a bit; else the fill value.
template <bool WIDE>
__device__ void store_tile(const MaskedBmm& p, const Place& tile, uint64_t word,
                           const float (&sum)[TM][2 * HALF]) {
  const Mine mine;
  float* to = tile.C + mine.row * p.N + mine.col;
  const int rows = tile.rows - mine.row, cols = tile.cols - mine.col;
#pragma unroll
  for (int i = 0; i < TM; ++i, to += p.N) {
    if (i >= rows) break;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto value = [&](int j) {
        const bool keep = word >> (i * PATCH + half * HALF + j) & 1;
        return keep ? sum[i][half * HALF + j] : p.fill;
      };
      store_four<WIDE>(to + half * HALF_APART, {value(0), value(1), value(2), value(3)},
                       cols - half * HALF_APART);
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

/// What a block of threads does with a tile; `shared` are its SHARED_BYTES of shared memory, and
/// mask.word() says what is kept of a patch. WIDE: copies and stores of 16 bytes. WHOLE_K: all of K
/// is in shared memory at once.
template <bool WIDE, bool WHOLE_K, class Mask>
__device__ void product(const MaskedBmm& p, const Place& tile, const Mask& mask, float4* shared) {
  if (tile.rows <= 0) return;     // the second half of a block at the lower edge
  if (tile.kept == Kept::none) {  // likewise: the same answer for all threads of the block
    fill_tile<WIDE>(p, tile);
    return;
  }
  float* const As = reinterpret_cast<float*>(shared);
  float* const Bs = As + PIECES * A_PIECE;
  __shared__ uint64_t words[THREADS];

  // Most pieces lie inside A and B: their copies need not ask. Where K has ended the group of
  // copies is empty.
  const bool inside = tile.rows == BM && tile.cols == BN;
  constexpr int UNROLL = WHOLE_K ? 8 : 2;
  const auto load = [&](int piece) {
    const int64_t k0 = piece * int64_t{BK};
    float *as = As + piece % PIECES * A_PIECE, *bs = Bs + piece % PIECES * B_PIECE;
    if (inside && k0 + BK <= p.K)
      load_piece<WIDE, false, UNROLL>(p, tile, k0, as, bs);
    else if (k0 < p.K)
      load_piece<WIDE, true, 2>(p, tile, k0, as, bs);
    __pipeline_commit();
  };
#pragma unroll(WHOLE_K ? PIECES : 1)
  for (int piece = 0; piece < PIECES; ++piece) load(piece);

  const bool all = tile.kept == Kept::all;  // most tiles: no word is asked for
  bool warp_works = true;
  if (!all) {
    // A tile has as many patches as the block has threads: each brings one word.
    const int down = threadIdx.x / (BN / PATCH), across = threadIdx.x % (BN / PATCH);
    words[threadIdx.x] = mask.word(p, tile.mask, tile.down + down, tile.across + across);
    __syncthreads();
    warp_works = __any_sync(ALL_LANES, word_of_mine(words) != 0);
  }

  float sum[TM][2 * HALF] = {};
  const int pieces = static_cast<int>(ceil_div(p.K, BK));
  for (int piece = 0; piece < pieces; ++piece) {
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
      multiply_piece<WHOLE_K ? 4 : 2>(As + piece % PIECES * A_PIECE, Bs + piece % PIECES * B_PIECE,
                                      depth, sum);
  }
  store_tile<WIDE>(p, tile, all ? ~uint64_t{0} : word_of_mine(words), sum);
}

/// The fast path needs every row of A, B and C to start at a multiple of 16 bytes.
inline bool rows_on_16_bytes(const MaskedBmm& p, const float* A, const float* B, const float* C) {
  const auto address = [](const float* x) { return reinterpret_cast<uintptr_t>(x); };
  return p.K % 4 == 0 && p.N % 4 == 0 && (address(A) | address(B) | address(C)) % 16 == 0;
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
