// Step 5 = step 4 + both products as sums of outer products: Q, K and P lie in shared memory with
// their columns as rows. So a multiply-add finds its registers in both banks of the register file,
// and few of them wait for one.
//
// FLOP            as step 2
// global memory   as step 4, but a copy of K or Q has 4 bytes
// asked for       loads 4·B·NH·HS·(Tq + 2·Bc·⌈Tk/Bc⌉·⌈Tq/128⌉) bytes, about half of Tk's part if
//                 causal, stores 4·B·NH·Tq·(HS + 1) bytes; Bc is 64, or 128 if HS > 64
// shared memory   4 reads of 16 bytes serve 128 FLOP for every head size above 32, as in step 4.
//                 103,424 bytes for HS = 64: an SM of an H100 has room for two blocks; 204,800 for
//                 128: for one
// block           128 threads, 256 if HS > 64, for 128 queries of a head
// H200            0.349 ms for B 8, NH 12, T 1024, HS 64 causal, 162 % of chapter 05's part strips
#include <algorithm>
#include <type_traits>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "faster/faster.hpp"
#include "faster/pieces.cuh"
#include "faster/thread_rows.cuh"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::faster {
namespace {

/// Which thread has what: rows and columns, four and four side by side (thread_rows.cuh). What is
/// transposed has rows that begin 4 banks apart: 8 columns of 4 rows are copied at a time,
/// to 32 banks. P's begin 8 apart: 8 lanes store 16 bytes each, in 4 columns of P.
template <class Sizes>
struct QuadRows : Sizes, QuadLanes<Sizes::TX> {
  using Sizes::Br, Sizes::Bc, Sizes::V_KEYS;
  static constexpr int TX = Sizes::TX;
  static constexpr int PARTS = std::min(4, Sizes::MOST_PARTS);  // a piece's copies begin in so many
  // A piece of V has the keys of V_KEYS rows of P: 4·TX or more side by side, or every fourth.
  static constexpr int KEY_STEP = V_KEYS == TX ? 4 : 1;
  using VOrder = std::conditional_t<KEY_STEP == 1, ByLane<TX>, InOrder>;
  static __device__ int first_key(int n) { return KEY_STEP == 1 ? n * V_KEYS : n; }
  static constexpr int Q_STRIDE = Br + 4, K_STRIDE = Bc + 4, P_STRIDE = Br + 8;
  static constexpr int BUFFER = Sizes::WIDTH * K_STRIDE;
  static_assert(V_KEYS * Sizes::D <= BUFFER, "V's pieces are a little smaller");
  static constexpr int64_t BYTES =
      int64_t{sizeof(float)} * (Sizes::D * Q_STRIDE + Bc * P_STRIDE + 2 * BUFFER);
};

// Smaller devices: four columns of S a thread, as many pieces, and fewer rows.
template <int D>
using MiddleQuads = std::conditional_t<D == 32, LargeSizes<D>, PieceSizes<D, 64, 64, 16, 4>>;
template <int D>
using SmallQuads =
    std::conditional_t<D == 32, SmallSizes<D>, PieceSizes<D, D == 64 ? 64 : 32, 64, 16, 4>>;

/// sums[r][c] += Σ left[x][row(r)]·right[x][column(c)] over LENGTH x, in PARTS parts; before each
/// it calls begin(part). What the next x needs is read before the products of this one.
template <class Tile, int LENGTH, int LEFT_STRIDE, int RIGHT_STRIDE, int N, class Begin>
__device__ void add_outer_products(float (&sums)[ROWS][N], const float* left, const float* right,
                                   Begin begin) {
  float a[2][ROWS], b[2][N];
  const auto read = [&](int which, int x) {
#pragma unroll
    for (int r = 0; r < ROWS; r += 4) load4(&a[which][r], &left[x * LEFT_STRIDE + Tile::row(r)]);
#pragma unroll
    for (int c = 0; c < N; c += 4) load4(&b[which][c], &right[x * RIGHT_STRIDE + Tile::column(c)]);
  };
  read(0, 0);
#pragma unroll 1
  for (int part = 0; part < Tile::PARTS; ++part) {
    begin(part);
#pragma unroll
    for (int i = 0; i < LENGTH / Tile::PARTS; ++i) {
      read((i + 1) % 2, (part * (LENGTH / Tile::PARTS) + i + 1) % LENGTH);
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int n = 0; n < N; ++n) {
          const int c = r % 2 == 0 ? n : N - 1 - n;  // to and fro, as in step 3
          sums[r][c] += a[i % 2][r] * b[i % 2][c];
        }
    }
  }
}

/// WHOLE: HS is D, and all rows begin at multiples of 16 bytes.
template <class Tile, bool WHOLE>
__global__ void __launch_bounds__(Tile::THREADS, Tile::D <= 64 ? 2 : 1)
    outer_products_kernel(Attention shape, float scale, const float* __restrict__ q,
                          const float* __restrict__ k, const float* __restrict__ v,
                          float* __restrict__ out, float* __restrict__ lse) {
  constexpr int VEC = WHOLE ? 4 : 1, D = Tile::D, Br = Tile::Br, Bc = Tile::Bc, WIDTH = Tile::WIDTH,
                PIECES = Tile::PIECES, THREADS = Tile::THREADS;
  extern __shared__ __align__(16) float shared[];
  float* const Q_t = shared;                         // (D, Br)
  float* const P_t = Q_t + D * Tile::Q_STRIDE;       // (Bc, Br)
  float* const buffers = P_t + Bc * Tile::P_STRIDE;  // two: (WIDTH, Bc) of K, or (V_KEYS, D) of V

  // As in longest_first, the blocks with the most keys start first.
  const int HS = WHOLE ? D : static_cast<int>(shape.HS);
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
  const int64_t visible = shape.visible_keys(warp_row + Tile::WARP_ROWS - 1);
  const int not_masked = static_cast<int>(shape.visible_keys(warp_row) / Bc);

  // Tile j's pieces, 0 … PIECES − 1 of K, then as many of V, take turns in the two buffers. The one
  // after the last is the next tile's first. V's rows are stored in the order of P's.
  const auto buffer = [&](int piece) { return buffers + piece % 2 * Tile::BUFFER; };
  const auto begin = [&](int j, int piece, int part) {
    if (piece == 2 * PIECES) ++j, piece = 0;
    if (j >= tiles) return;
    const int64_t key = int64_t{j} * Bc;
    if (piece < PIECES) {
      fetch_transposed<Bc, WIDTH, WHOLE, THREADS, PastLastRow::repeated, Tile::PARTS>(
          buffer(piece), Tile::K_STRIDE, k + key * HS + piece * WIDTH, HS, Tk - key,
          HS - piece * WIDTH, part);
    } else {
      constexpr int STEP = Tile::KEY_STEP;
      constexpr PastLastRow PAST = STEP == 1 ? PastLastRow::repeated : PastLastRow::zeros;
      const int64_t first = key + Tile::first_key(piece - PIECES);
      fetch<Tile::V_KEYS, D, VEC, THREADS, PAST, Tile::PARTS>(buffer(piece), D, v + first * HS,
                                                              STEP * HS, ceil_div(Tk - first, STEP),
                                                              HS, typename Tile::VOrder{}, part);
    }
  };
  const auto begin_all = [&](int j, int piece) {
    for (int part = 0; part < Tile::PARTS; ++part) begin(j, piece, part);
  };

  fetch_transposed<Br, D, WHOLE, THREADS>(Q_t, Tile::Q_STRIDE, q + i0 * HS, HS, Tq - i0, HS);
  begin_all(0, 0);
  OutputRows<Tile::O_COLS> rows;
  for (int j = 0; j < tiles; ++j) {
    const bool live = int64_t{j} * Bc < visible;  // else this warp's rows see no key of the tile
    float S[ROWS][Tile::COLS] = {};
#pragma unroll 1
    for (int piece = 0; piece < PIECES; ++piece) {
      finish_fetch();
      const auto begin_next = [&](int part) { begin(j, piece + 1, part); };
      if (live)
        add_outer_products<Tile, WIDTH, Tile::Q_STRIDE, Tile::K_STRIDE>(
            S, Q_t + piece * WIDTH * Tile::Q_STRIDE, buffer(piece), begin_next);
      else
        begin_all(j, piece + 1);
    }
    if (live && j >= not_masked) hide_masked<Tile>(S, shape, i0, int64_t{j} * Bc);
    if (live) transposed_softmax<Tile>(S, rows, P_t, scale);

#pragma unroll 1
    for (int piece = PIECES; piece < 2 * PIECES; ++piece) {
      finish_fetch();  // its barrier also stands between writing P and reading it
      const auto begin_next = [&](int part) { begin(j, piece + 1, part); };
      const int n = piece - PIECES;
      if (int64_t{j} * Bc + Tile::first_key(n) < visible)
        add_outer_products<Tile, Tile::V_KEYS, Tile::P_STRIDE, D>(
            rows.O, P_t + n * Tile::V_KEYS * Tile::P_STRIDE, buffer(piece), begin_next);
      else
        begin_all(j, piece + 1);
    }
  }
  store_rows<Tile, VEC>(out, lse, rows, i0, Tq, HS, scale);
}

}  // namespace

void outer_products_on(const Attention& shape, const float* q, const float* k, const float* v,
                       float* out, float* lse, cudaStream_t stream) {
  require_valid(shape);
  with_tile<QuadRows, MiddleQuads, SmallQuads>(shape.HS, "outer_products", [&]<class Tile>() {
    const bool whole = shape.HS == Tile::D && rows_begin_aligned(Tile::D, q, k, v, out);
    const auto kernel =
        whole ? outer_products_kernel<Tile, true> : outer_products_kernel<Tile, false>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<query_blocks(shape, Tile::Br), Tile::THREADS, Tile::BYTES, stream>>>(
        shape, LOG2_E * score_scale(shape), q, k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

void outer_products(const Attention& shape, const float* q, const float* k, const float* v,
                    float* out, float* lse, float*) {
  outer_products_on(shape, q, k, v, out, lse, nullptr);  // the default stream
}

}  // namespace tutorial::flash_attention::faster
