// Step 4 = step 3 + copies that begin a few at a time, amid the products: a warp that begins all
// of a piece's at once, right after the barrier, multiplies nothing until they are on their way.
//
// FLOP            as step 2
// global memory   as step 1, but in whole tiles of 64 keys, or 128 for HS > 64: a key past the
//                 last one is replaced by that one, which costs no test
// asked for       loads 4·B·NH·HS·(Tq + 2·Bc·⌈Tk/Bc⌉·⌈Tq/128⌉) bytes, about half of Tk's part if
//                 causal, stores 4·B·NH·Tq·(HS + 1) bytes; Bc is 64, or 128 if HS > 64
// shared memory   as step 1
// block           128 threads, 256 if HS > 64, for 128 queries of a head
// H200            0.380 ms for B 8, NH 12, T 1024, HS 64 causal, 148 % of chapter 05's part strips
#include <algorithm>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "faster/faster.hpp"
#include "faster/pieces.cuh"
#include "faster/thread_rows.cuh"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::faster {
namespace {

/// Which thread has what, as in step 3.
template <class Sizes>
struct PairedLanes : RowMajorPieces<Sizes> {
  static constexpr int TX = Sizes::TX, TY = WARP / TX, WARP_ROWS = ROWS * TY;
  // A piece's copies begin in so many parts. For 128, a fourth of the products, unrolled, does not
  // fit into the registers.
  static constexpr int PARTS = std::min(Sizes::D <= 64 ? 4 : 8, Sizes::MOST_PARTS);
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
/// rows x … x + 3 of the right matrix, and is called a round ahead. Before each of PARTS parts of
/// the products it calls begin(part).
template <class Tile, int LENGTH, int STRIDE, int N, class Read, class Begin>
__device__ void add_products(float (&sums)[ROWS][N], const float* left, Read read, Begin begin) {
  Fragment<N> next = read(0);
#pragma unroll 1
  for (int part = 0; part < Tile::PARTS; ++part) {
    begin(part);
#pragma unroll
    for (int i = 0; i < LENGTH / Tile::PARTS; i += 4) {
      const int x = part * (LENGTH / Tile::PARTS) + i;
      const Fragment<N> right = next;
      next = read((x + 4) % LENGTH);
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
        multiply_to_and_fro(sums[r], load4(&left[Tile::row(r) * STRIDE + x]), right);
    }
  }
}

/// S = S + Q_i·K_jᵀ, a piece of the columns of both: (Br, WIDTH) by (WIDTH, Bc).
template <class Tile, class Begin>
__device__ void add_scores(float (&S)[ROWS][Tile::COLS], const float* Q_i, const float* K_j,
                           Begin begin) {
  const auto read = [&](int d) {
    return read_keys<Tile::TX, Tile::COLS>(&K_j[d], Tile::K_STRIDE, Tile::tx());
  };
  add_products<Tile, Tile::WIDTH, Tile::Q_STRIDE>(S, Q_i, read, begin);
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
template <class Tile, class Begin>
__device__ void add_values(float (&O)[ROWS][Tile::O_COLS], const float* P_ij, const float* V_j,
                           Begin begin) {
  const auto read = [&](int key) {
    return read_values<Tile::TX, Tile::O_COLS>(&V_j[key * Tile::D], Tile::D, Tile::tx());
  };
  add_products<Tile, Tile::V_KEYS, Tile::P_STRIDE>(O, P_ij, read, begin);
}

/// VEC: how many floats are copied at a time, and stored: 4, or 1 where rows begin anywhere.
template <class Tile, int VEC>
__global__ void __launch_bounds__(Tile::THREADS, Tile::D <= 64 ? 2 : 1)
    spread_copies_kernel(Attention shape, float scale, const float* __restrict__ q,
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

  // Tile j's pieces, 0 … PIECES − 1 of K, then as many of V, take turns in the two buffers. The one
  // after the last is the next tile's first.
  const auto buffer = [&](int piece) { return buffers + piece % 2 * Tile::BUFFER; };
  const auto begin = [&](int j, int piece, int part) {
    if (piece == 2 * PIECES) ++j, piece = 0;
    if (j >= tiles) return;
    const bool of_k = piece < PIECES;
    const int64_t key = int64_t{j} * Bc + (of_k ? 0 : (piece - PIECES) * Tile::V_KEYS);
    if (of_k)
      fetch<Bc, WIDTH, VEC, THREADS, PastLastRow::repeated, Tile::PARTS>(
          buffer(piece), Tile::K_STRIDE, k + key * HS + piece * WIDTH, HS, Tk - key,
          HS - piece * WIDTH, ByLane<Tile::TX>{}, part);
    else
      fetch<Tile::V_KEYS, D, VEC, THREADS, PastLastRow::repeated, Tile::PARTS>(
          buffer(piece), D, v + key * HS, HS, Tk - key, HS, InOrder{}, part);
  };
  const auto begin_all = [&](int j, int piece) {
    for (int part = 0; part < Tile::PARTS; ++part) begin(j, piece, part);
  };

  fetch<Br, D, VEC, THREADS>(Q_i, Tile::Q_STRIDE, q + i0 * HS, HS, Tq - i0, HS);
  begin_all(0, 0);
  OutputRows<Tile::O_COLS> rows;
  for (int j = 0; j < tiles; ++j) {
    const bool live = j * PIECES < pieces;  // else this warp's rows see no key of the tile
    float S[ROWS][Tile::COLS] = {};
#pragma unroll 1
    for (int piece = 0; piece < PIECES; ++piece) {
      finish_fetch();
      const auto begin_next = [&](int part) { begin(j, piece + 1, part); };
      if (live)
        add_scores<Tile>(S, Q_i + piece * WIDTH, buffer(piece), begin_next);
      else
        begin_all(j, piece + 1);
    }
    if (live && j >= not_masked) hide_masked<Tile>(S, shape, i0, int64_t{j} * Bc);
    if (live) online_softmax<Tile>(S, rows, P_ij, scale);

#pragma unroll 1
    for (int piece = PIECES; piece < 2 * PIECES; ++piece) {
      finish_fetch();  // its barrier also stands between writing P and reading it
      const auto begin_next = [&](int part) { begin(j, piece + 1, part); };
      const int n = piece - PIECES;
      if (j * PIECES + n < pieces)
        add_values<Tile>(rows.O, P_ij + n * Tile::V_KEYS, buffer(piece), begin_next);
      else
        begin_all(j, piece + 1);
    }
  }
  store_rows<Tile, VEC>(out, lse, rows, i0, Tq, HS, scale);
}

}  // namespace

void spread_copies(const Attention& shape, const float* q, const float* k, const float* v,
                   float* out, float* lse, float*) {
  require_valid(shape);
  with_tile<PairedLanes>(shape.HS, "spread_copies", [&]<class Tile>() {
    const bool aligned = rows_begin_aligned(shape.HS, q, k, v, out);
    const auto kernel = aligned ? spread_copies_kernel<Tile, 4> : spread_copies_kernel<Tile, 1>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<query_blocks(shape, Tile::Br), Tile::THREADS, Tile::BYTES>>>(
        shape, LOG2_E * score_scale(shape), q, k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::faster
