// Step 2 = step 1 for head sizes up to 256: above 128 a tile has half as many keys, so that a
// thread has registers for 16 columns of O, and shared memory has room for Q.
//
// FLOP            as step 1, for HS rounded up to a multiple of 32 above 128
// global memory   as step 1
// asked for       loads 4·B·NH·HS·(Tq + (Tk + 64·⌈Tk/64⌉)·⌈Tq/128⌉) bytes if HS > 128, about half
//                 of Tk's part if causal, stores 4·B·NH·Tq·(HS + 1) bytes
// shared memory   as step 1 up to 128; 204,800 bytes for HS = 256
// block           as step 1; 256 threads above 128
// H200            3.61 ms for B 2, NH 32, T 2048, HS 256 causal, 104 % of chapter 05's part strips
#include "any_shape/any_shape.hpp"
#include "any_shape/outer_products.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "faster/pieces.cuh"
#include "faster/thread_rows.cuh"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::any_shape {
namespace {

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, 1)
    large_heads_kernel(Attention shape, float scale, const float* __restrict__ q,
                       const float* __restrict__ k, const float* __restrict__ v,
                       float* __restrict__ out, float* __restrict__ lse) {
  constexpr int COLUMNS = Tile::HS, D = Tile::D, Br = Tile::Br, Bc = Tile::Bc, WIDTH = Tile::WIDTH,
                PIECES = Tile::PIECES, THREADS = Tile::THREADS;
  extern __shared__ __align__(16) float shared[];
  float* const Q_t = shared;                          // (COLUMNS, Br)
  float* const P_t = Q_t + COLUMNS * Tile::Q_STRIDE;  // (Bc, Br)
  float* const buffers = P_t + Bc * Tile::P_STRIDE;   // two: (WIDTH, Bc) of K, or (V_KEYS, D) of V

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
      fetch_transposed<Bc, WIDTH, false, THREADS, PastLastRow::repeated, Tile::PARTS>(
          buffer(piece), Tile::K_STRIDE, k + key * HS + piece * WIDTH, HS, Tk - key,
          HS - piece * WIDTH, part);
    } else {
      const int64_t first = key + (piece - PIECES);
      fetch<Tile::V_KEYS, D, 4, THREADS, PastLastRow::zeros, Tile::PARTS>(
          buffer(piece), D, v + first * HS, Tile::KEY_STEP * HS,
          ceil_div(Tk - first, Tile::KEY_STEP), HS, InOrder{}, part);
    }
  };
  const auto begin_all = [&](int j, int piece) {
    for (int part = 0; part < Tile::PARTS; ++part) begin(j, piece, part);
  };

  fetch_transposed<Br, COLUMNS, false, THREADS>(Q_t, Tile::Q_STRIDE, q + i0 * HS, HS, Tq - i0, HS);
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
    for (int n = 0; n < PIECES; ++n) {
      finish_fetch();  // its barrier also stands between writing P and reading it
      const int piece = PIECES + n;
      const auto begin_next = [&](int part) { begin(j, piece + 1, part); };
      if (int64_t{j} * Bc + n < visible)
        add_outer_products<Tile, Tile::V_KEYS, Tile::P_STRIDE, D>(
            rows.O, P_t + n * Tile::V_KEYS * Tile::P_STRIDE, buffer(piece), begin_next);
      else
        begin_all(j, piece + 1);
    }
  }
  store_rows<Tile, 4>(out, lse, rows, i0, Tq, HS, scale);
}

}  // namespace

void large_heads(const Attention& shape, const float* q, const float* k, const float* v, float* out,
                 float* lse, Workspace workspace, cudaStream_t stream) {
  require_valid(shape);
  const int64_t HS = shape.HS;
  require_head_size(HS, "large_heads", 256);
  if (HS <= 128) return head_sizes(shape, q, k, v, out, lse, workspace, stream);
  if (HS % 8 != 0 || !rows_begin_aligned(HS, q, k, v, out))
    return q_outer_on(shape, q, k, v, out, lse, stream);
  const auto launch = [&]<class Tile>() {
    const auto kernel = large_heads_kernel<Tile>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", HS);
    if (shape.rows() == 0) return;
    kernel<<<query_blocks(shape, Tile::Br), Tile::THREADS, Tile::BYTES, stream>>>(
        shape, LOG2_E * score_scale(shape), q, k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  };
  const auto with_columns = [&]<int COLUMNS>() {
    with_first_that_fits<FourColumns<COLUMNS, 128>, FourColumns<COLUMNS, 32>,
                         FourColumns<COLUMNS, 16>>(shared_memory_limit(), launch);
  };
  if (HS <= 160) return with_columns.template operator()<160>();
  if (HS <= 192) return with_columns.template operator()<192>();
  if (HS <= 224) return with_columns.template operator()<224>();
  with_columns.template operator()<256>();
}

}  // namespace tutorial::flash_attention::any_shape
