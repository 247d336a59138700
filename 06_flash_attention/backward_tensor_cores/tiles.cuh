// Words of this part: how a block's rows and tiles lie in shared memory, the order of copies, the
// mask of keys × queries, and how sums are stored.
#pragma once

#include "backward/backward_parts.cuh"
#include "backward_tensor_cores/launch.hpp"
#include "common/kernel/shared_memory.hpp"
#include "tensor_cores/launch.hpp"
#include "tensor_cores/products.cuh"

namespace tutorial::flash_attention::backward_tensor_cores {

using backward::log2_of_sum, backward::QueryTiles;
using tensor_cores::BlockOf, tensor_cores::CHUNK, tensor_cores::copy_rows, tensor_cores::Rows16;
using tensor_cores::multiply_keys, tensor_cores::multiply_values, tensor_cores::hide_masked;

/// How rows lie in shared memory: first a block's ROWS rows x and x', 16 a warp, then STAGES tiles
/// of COLS rows y and y'. A row has its chunks in an order of its own, as in part tensor_cores'
/// step 12. ALIGNED: rows in global memory are multiples of 16 bytes.
template <int HEAD_SIZE, int ROWS_, int COLS_, int STAGES_, bool ALIGNED_ = true>
struct Tiles {
  static constexpr int D = HEAD_SIZE, ROWS = ROWS_, COLS = COLS_, STAGES = STAGES_;
  static constexpr bool ALIGNED = ALIGNED_;
  static constexpr int THREADS = ROWS / 16 * WARP;
  static constexpr int OWN = ROWS * D, OTHER = COLS * D;  // numbers of x, of y
  static constexpr int BYTES = 2 * (OWN + STAGES * OTHER) * static_cast<int>(sizeof(bf16)) +
                               2 * STAGES * COLS * static_cast<int>(sizeof(float));
  static constexpr int COUNT = D % 64 == 0 ? 1 : 2;  // rows of one order
  static_assert(D % 32 == 0, "with fewer numbers rows of one order are four");
  static __device__ int place(int row, int chunk) {
    return row * D + (chunk ^ row / COUNT % (8 / COUNT)) * CHUNK;
  }
};

/// Those of step 1.
template <int HEAD_SIZE, int STAGES>
struct Swizzled : Tiles<HEAD_SIZE, OWN_ROWS, OTHER_ROWS, STAGES> {};

/// A block's shared memory.
template <class Tile>
struct Memory {
  bf16 *x, *x2;    // (ROWS, D)
  bf16* tiles;     // (STAGES, 2, COLS, D): y and y'
  float* of_rows;  // (STAGES, 2, COLS): what weights are divided by, in log2, and D

  explicit __device__ Memory(bf16* memory)
      : x(memory),
        x2(x + Tile::OWN),
        tiles(x2 + Tile::OWN),
        of_rows(reinterpret_cast<float*>(tiles + 2 * Tile::STAGES * Tile::OTHER)) {}
  __device__ bf16* y(int n) const { return tiles + n % Tile::STAGES * 2 * Tile::OTHER; }
  __device__ bf16* y2(int n) const { return y(n) + Tile::OTHER; }
  __device__ float* sums(int n) const { return of_rows + n % Tile::STAGES * 2 * Tile::COLS; }
};

/// Calls compute(n) for tiles 0 … count − 1, each of which begin_copy(n) has brought. With two
/// stages the next tile comes meanwhile.
template <class Tile, class Begin, class Compute>
__device__ void for_each_tile(int count, const Begin& begin_copy, const Compute& compute) {
  const auto begin = [&](int n) {
    if (n < count) begin_copy(n);
    __pipeline_commit();
  };
  begin(0);
  for (int n = 0; n < count; ++n) {
    __pipeline_wait_prior(0);
    __syncthreads();  // tile n has come, and nobody reads the other stage any more
    if (Tile::STAGES == 2) begin(n + 1);
    compute(n);
    if (Tile::STAGES == 1) {
      __syncthreads();
      begin(n + 1);
    }
  }
}

/// Sᵀ (16 keys, 8·N queries): −∞ where the query may not see the key. The keys begin at j0, the
/// queries at i0.
template <int N>
__device__ void hide_unseen(float (&S)[N][4], const Attention& shape, int64_t i0, int64_t j0) {
  const int key = threadIdx.x % WARP / 4, query = threadIdx.x % 4 * 2;
  const int64_t edge = i0 + shape.Tk - shape.Tq - j0;  // key 0 … edge + query is seen
  if (edge >= 16) return;
  const int seen = static_cast<int>(edge < -8 * N ? -8 * N : edge);
#pragma unroll
  for (int n = 0; n < N; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (key + e / 2 * 8 > seen + 8 * n + query + e % 2) S[n][e] = -INFINITY;
}

/// Stores a warp's 16 rows, times `factor`; `rows_there` are in the tensor. ALIGNED: its pairs of
/// numbers are.
template <bool ALIGNED = true, int D>
__device__ void store_sums(bf16* to, const Rows16<D>& rows, float factor, int64_t rows_there,
                           int HS) {
  const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (g + 8 * h >= rows_there) continue;
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
      if (n * 8 >= HS) break;
      const int column = n * 8 + 2 * t;
      bf16* const pair = &to[(g + 8 * h) * HS + column];
      const float low = factor * rows.O[n][2 * h], high = factor * rows.O[n][2 * h + 1];
      if constexpr (ALIGNED) {
        *reinterpret_cast<uint32_t*>(pair) = pack<bf16>(low, high);
      } else {
        if (column < HS) pair[0] = __float2bfloat16(low);
        if (column + 1 < HS) pair[1] = __float2bfloat16(high);
      }
    }
  }
}

/// What a kernel is given.
struct Operands : Tensors {
  const float* D;
};

/// Begins to copy COUNT rows of HS numbers. Rows that are not there, and columns from HS on, become
/// zeros. Rows that are not ALIGNED go number by number, through registers: neighbouring lanes have
/// neighbouring numbers.
template <class Tile, int COUNT>
__device__ void begin_rows(bf16* tile, const bf16* from, int64_t rows_there, int HS) {
  if constexpr (Tile::ALIGNED) {
    copy_rows<Tile, COUNT, Tile::THREADS>(tile, from, rows_there, HS);
  } else {
    const int there = static_cast<int>(rows_there < COUNT ? rows_there : COUNT);
#pragma unroll 8
    for (int x = threadIdx.x; x < COUNT * Tile::D; x += Tile::THREADS) {
      const int row = x / Tile::D, column = x % Tile::D;
      tile[Tile::place(row, column / CHUNK) + column % CHUNK] =
          row < there && column < HS ? from[row * HS + column] : __float2bfloat16(0.0f);
    }
  }
}

/// Begins to copy tile n of a block of keys, q and dout; and loads what belongs to their rows.
template <class Tile>
__device__ void copy_queries(const Memory<Tile>& memory, const Attention& shape, const Operands& at,
                             const QueryTiles<Tile>& queries, int n) {
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, i0 = queries.i0(n), row = queries.head(n) * Tq + i0;
  begin_rows<Tile, Tile::COLS>(memory.y(n), at.q + row * HS, Tq - i0, HS);
  begin_rows<Tile, Tile::COLS>(memory.y2(n), at.dout + row * HS, Tq - i0, HS);
  const int i = threadIdx.x;
  if (i >= Tile::COLS) return;
  memory.sums(n)[i] = i0 + i < Tq ? log2_of_sum(at.lse[row + i]) : INFINITY;
  memory.sums(n)[Tile::COLS + i] = i0 + i < Tq ? at.D[row + i] : 0.0f;
}

/// Adds tile n's part to a warp's 16 rows of dv and dk, or to one of them. The warp's keys begin at
/// j0, the tile's queries at i0. P holds Sᵀ until exp2_approx() makes Pᵀ of it, and dS holds dPᵀ
/// until it is dSᵀ.
template <class Tile, bool DK = true, bool DV = true>
__device__ void add_tile(Rows16<Tile::D> (&dk)[1], Rows16<Tile::D> (&dv)[1],
                         const Memory<Tile>& memory, const Attention& shape, float scale,
                         int64_t i0, int64_t j0, int n) {
  const int warp_row = threadIdx.x / WARP * 16, t = threadIdx.x % 4;
  const float *const log2_sums = memory.sums(n), *const row_dots = log2_sums + Tile::COLS;
  float P[1][Tile::COLS / 8][4] = {}, dS[1][Tile::COLS / 8][4] = {};
  multiply_keys<Tile>(P, memory.x + warp_row * Tile::D, memory.y(n));
  if (shape.causal) hide_unseen(P[0], shape, i0, j0);
#pragma unroll
  for (int i = 0; i < Tile::COLS / 8; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      P[0][i][e] = exp2_approx(fmaf(P[0][i][e], scale, -log2_sums[8 * i + 2 * t + e % 2]));
  if (DV) multiply_values<Tile>(dv, P, memory.y2(n));
  if (!DK) return;
  multiply_keys<Tile>(dS, memory.x2 + warp_row * Tile::D, memory.y2(n));
#pragma unroll
  for (int i = 0; i < Tile::COLS / 8; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      dS[0][i][e] = P[0][i][e] * (dS[0][i][e] - row_dots[8 * i + 2 * t + e % 2]);
  multiply_values<Tile>(dk, dS, memory.y(n));
}

/// What belongs to a lane's two rows, of 16 queries from i0 on, where queries are a block's own.
struct QueryPair {
  float log2_sum[2], D[2];  // what their weights are divided by, in log2
  __device__ QueryPair(const Attention& shape, const Operands& at, int64_t head, int64_t i0) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int64_t i = i0 + threadIdx.x % WARP / 4 + 8 * h, row = head * shape.Tq + i;
      log2_sum[h] = i < shape.Tq ? log2_of_sum(at.lse[row]) : INFINITY;
      D[h] = i < shape.Tq ? at.D[row] : 0.0f;
    }
  }
};

/// Adds tile n's part to a warp's 16 rows of dq. The warp's queries begin at i0, and all of them
/// see the first `whole` tiles to their end.
template <class Tile>
__device__ void add_keys(Rows16<Tile::D> (&dq)[1], const Memory<Tile>& memory,
                         const Attention& shape, float scale, const QueryPair& of, int64_t i0,
                         int whole, int n) {
  const int warp_row = threadIdx.x / WARP * 16;
  float P[1][Tile::COLS / 8][4] = {}, dS[1][Tile::COLS / 8][4] = {};
  multiply_keys<Tile>(P, memory.x + warp_row * Tile::D, memory.y(n));
  multiply_keys<Tile>(dS, memory.x2 + warp_row * Tile::D, memory.y2(n));
  if (n >= whole) hide_masked(P[0], shape, i0, int64_t{n} * Tile::COLS);
#pragma unroll
  for (int i = 0; i < Tile::COLS / 8; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      dS[0][i][e] =
          exp2_approx(fmaf(P[0][i][e], scale, -of.log2_sum[e / 2])) * (dS[0][i][e] - of.D[e / 2]);
  multiply_values<Tile>(dq, dS, memory.y(n));
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
