// Step 3 = step 2 + operands that are there in time: reads of shared memory begin a round before
// their products, and take half as many turns, because the lanes of a warp are arranged for them.
//
// FLOP            as step 2
// global memory   as step 1
// asked for       loads 4·B·NH·HS·(Tq + 2·Tk·⌈Tq/128⌉) bytes, about half of Tk's part if causal,
//                 stores 4·B·NH·Tq·(HS + 1) bytes
// shared memory   as step 1
// block           128 threads, 256 if HS > 64, for 128 queries of a head
// H200            0.374 ms for B 8, NH 12, T 1024, HS 64 causal, 151 % of chapter 05's part strips
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "faster/faster.hpp"
#include "faster/pieces.cuh"
#include "faster/thread_rows.cuh"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::faster {
namespace {

/// Which thread has what: a warp has rows side by side, as in step 2. A read of 16 bytes by a warp
/// takes two turns if in each half of the warp lanes l and l ^ 1, or l and l ^ 2, want the same;
/// else four. So tx begins at bit 1 of the lane, and ty takes the rest. Of each 4·TX columns of S a
/// thread has 4 side by side, to store them as one float4 of P.
template <class Sizes>
struct PairedLanes : RowMajorPieces<Sizes> {
  static constexpr int TX = Sizes::TX, TY = WARP / TX, WARP_ROWS = ROWS * TY;
  static constexpr int UNROLL = Sizes::D <= 64 ? 4 : 2;  // for 128, 4 do not fit into the registers
  static __device__ int lane() { return threadIdx.x % WARP; }
  static __device__ int tx() { return lane() / 2 % TX; }
  static __device__ int ty() { return lane() / (2 * TX) * 2 + lane() % 2; }
  static __device__ int warp_row() { return threadIdx.x / WARP * WARP_ROWS; }
  static __device__ int row(int r) { return warp_row() + ty() + TY * r; }
  static __device__ int column(int c) { return quad_column<TX>(tx(), c); }
  static __device__ float row_max(float value) { return flash_attention::row_max<TX, 2>(value); }
  static __device__ float row_sum(float value) { return flash_attention::row_sum<TX, 2>(value); }
};

/// sums[r][c] += Σ left[row(r)][x]·right[x][c] over LENGTH x, four at a time: read(x) gives the
/// rows x … x + 3 of the right matrix, and is called a round ahead.
template <class Tile, int LENGTH, int STRIDE, int N, class Read>
__device__ void add_products(float (&sums)[ROWS][N], const float* left, Read read) {
  Fragment<N> next = read(0);
#pragma unroll Tile::UNROLL
  for (int x = 0; x < LENGTH; x += 4) {
    const Fragment<N> right = next;
    next = read((x + 4) % LENGTH);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
      multiply_to_and_fro(sums[r], load4(&left[Tile::row(r) * STRIDE + x]), right);
  }
}

/// S = S + Q_i·K_jᵀ, a piece of the columns of both: (Br, WIDTH) by (WIDTH, Bc).
template <class Tile>
__device__ void add_scores(float (&S)[ROWS][Tile::COLS], const float* Q_i, const float* K_j) {
  const auto read = [&](int d) {
    return read_keys<Tile::TX, Tile::COLS>(&K_j[d], Tile::K_STRIDE, Tile::tx());
  };
  add_products<Tile, Tile::WIDTH, Tile::Q_STRIDE>(S, Q_i, read);
}

/// The online softmax of a tile of scores; their weights go to P_ij, (Br, Bc). l keeps this
/// thread's part of the sum alone, until the end.
template <class Tile>
__device__ void online_softmax(float (&S)[ROWS][Tile::COLS], OutputRows<Tile::O_COLS>& rows,
                               float* P_ij, float scale) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const float minus_m = raise_maximum<Tile>(rows, r, S[r], scale);
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c) {
      S[r][c] = exp2f(scale * S[r][c] + minus_m);
      rows.l[r] += S[r][c];
    }
#pragma unroll
    for (int c = 0; c < Tile::COLS; c += 4)
      store4(&P_ij[Tile::row(r) * Tile::P_STRIDE + Tile::column(c)], &S[r][c]);
  }
}

/// O_i = O_i + P_ij·V_j, a piece of the keys: (Br, V_KEYS) by (V_KEYS, D).
template <class Tile>
__device__ void add_values(float (&O)[ROWS][Tile::O_COLS], const float* P_ij, const float* V_j) {
  const auto read = [&](int key) {
    return read_values<Tile::TX, Tile::O_COLS>(&V_j[key * Tile::D], Tile::D, Tile::tx());
  };
  add_products<Tile, Tile::V_KEYS, Tile::P_STRIDE>(O, P_ij, read);
}

/// VEC: how many floats are copied at a time, and stored: 4, or 1 where rows begin anywhere.
template <class Tile, int VEC>
__global__ void __launch_bounds__(Tile::THREADS, Tile::D <= 64 ? 2 : 1)
    read_ahead_kernel(Attention shape, float scale, const float* __restrict__ q,
                      const float* __restrict__ k, const float* __restrict__ v,
                      float* __restrict__ out, float* __restrict__ lse) {
  constexpr int D = Tile::D, Br = Tile::Br, Bc = Tile::Bc, WIDTH = Tile::WIDTH,
                PIECES = Tile::PIECES, THREADS = Tile::THREADS;
  extern __shared__ __align__(16) float shared[];
  float* const Q_i = shared;                          // (Br, D)
  float* const P_ij = Q_i + Br * Tile::Q_STRIDE;      // (Br, Bc)
  float* const buffers = P_ij + Br * Tile::P_STRIDE;  // two: (Bc, WIDTH) of K, or (V_KEYS, D) of V

  // As in longest_first, the blocks with the most keys start first.
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH;
  const int64_t head = blockIdx.x % heads, kv_head = head / shape.group();
  const int64_t i0 = (ceil_div(Tq, Br) - 1 - blockIdx.x / heads) * Br;
  q += head * Tq * HS;
  k += kv_head * Tk * HS;
  v += kv_head * Tk * HS;
  out += head * Tq * HS;
  lse += head * Tq;

  // How far the block has to go, and this warp; and how many tiles all its queries see.
  const int64_t i_end = i0 + Br < Tq ? i0 + Br : Tq, warp_row = i0 + Tile::warp_row();
  const int tiles = static_cast<int>(ceil_div(shape.visible_keys(i_end - 1), Bc));
  const int pieces =
      static_cast<int>(ceil_div(shape.visible_keys(warp_row + Tile::WARP_ROWS - 1), Tile::V_KEYS));
  const int not_masked = static_cast<int>(shape.visible_keys(warp_row) / Bc);

  // A tile's pieces take turns in the two buffers: first K's, then V's.
  const auto buffer = [&](int piece) { return buffers + piece % 2 * Tile::BUFFER; };
  const auto fetch_k = [&](int j, int piece) {
    const int64_t key = int64_t{j} * Bc;
    fetch<Bc, WIDTH, VEC, THREADS>(buffer(piece), Tile::K_STRIDE, k + key * HS + piece * WIDTH, HS,
                                   Tk - key, HS - piece * WIDTH, ByLane<Tile::TX>{});
  };
  const auto fetch_v = [&](int j, int piece) {
    const int64_t key = int64_t{j} * Bc + piece * Tile::V_KEYS;
    fetch<Tile::V_KEYS, D, VEC, THREADS>(buffer(PIECES + piece), D, v + key * HS, HS, Tk - key, HS);
  };

  fetch<Br, D, VEC, THREADS>(Q_i, Tile::Q_STRIDE, q + i0 * HS, HS, Tq - i0, HS);
  if (tiles > 0) fetch_k(0, 0);
  OutputRows<Tile::O_COLS> rows;
  for (int j = 0; j < tiles; ++j) {
    const bool live = j * PIECES < pieces;  // else this warp's rows see no key of the tile
    float S[ROWS][Tile::COLS] = {};
#pragma unroll 1
    for (int piece = 0; piece < PIECES; ++piece) {
      finish_fetch();
      if (piece + 1 < PIECES)
        fetch_k(j, piece + 1);
      else
        fetch_v(j, 0);
      if (live) add_scores<Tile>(S, Q_i + piece * WIDTH, buffer(piece));
    }

    if (live && j >= not_masked) hide_masked<Tile>(S, shape, i0, int64_t{j} * Bc);
    if (live) online_softmax<Tile>(S, rows, P_ij, scale);

#pragma unroll 1
    for (int piece = 0; piece < PIECES; ++piece) {
      finish_fetch();  // its barrier also stands between writing P and reading it
      if (piece + 1 < PIECES)
        fetch_v(j, piece + 1);
      else if (j + 1 < tiles)
        fetch_k(j + 1, 0);
      if (j * PIECES + piece < pieces)
        add_values<Tile>(rows.O, P_ij + piece * Tile::V_KEYS, buffer(PIECES + piece));
    }
  }
  store_rows<Tile, VEC>(out, lse, rows, i0, Tq, HS, scale);
}

}  // namespace

void read_ahead(const Attention& shape, const float* q, const float* k, const float* v, float* out,
                float* lse, float*) {
  require_valid(shape);
  with_tile<PairedLanes>(shape.HS, "read_ahead", [&]<class Tile>() {
    const bool aligned = rows_begin_aligned(shape.HS, q, k, v, out);
    const auto kernel = aligned ? read_ahead_kernel<Tile, 4> : read_ahead_kernel<Tile, 1>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<query_blocks(shape, Tile::Br), Tile::THREADS, Tile::BYTES>>>(
        shape, LOG2_E * score_scale(shape), q, k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::faster
