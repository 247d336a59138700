// Step 1 = faster/outer_products for every head size that is a multiple of 8, up to 128, at its own
// cost: S is summed over HS columns and no more, and a thread has as many columns of O as it needs.
//
// FLOP            as outer_products, for HS itself where that has 32, 64 or 128
// global memory   as outer_products
// asked for       loads 4·B·NH·HS·(Tq + 2·Bc·⌈Tk/Bc⌉·⌈Tq/128⌉) bytes, about half of Tk's part if
//                 causal, stores 4·B·NH·Tq·(HS + 1) bytes; Bc is 64, or 128 if HS > 64
// shared memory   as outer_products, with HS columns of Q: 177,408 bytes for HS = 80
// block           128 threads, 256 if HS > 64, for 128 queries of a head
// H200            1.12 ms for B 2, NH 32, T 2048, HS 80 causal, where outer_products takes 1.72
#include "any_shape/any_shape.hpp"
#include "any_shape/outer_products.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "faster/faster.hpp"
#include "faster/pieces.cuh"
#include "faster/thread_rows.cuh"
#include "launch_checks.hpp"

namespace tutorial::flash_attention::any_shape {
namespace {

/// Which thread has what, as in faster/outer_products, but the head size itself is known to the
/// compiler.
template <int HEAD_SIZE>
struct SizedRows : QuadLanes<HEAD_SIZE <= 64 ? 8 : 16> {
  static constexpr bool EXACT = true;
  static constexpr int HS = HEAD_SIZE, Br = 128, TX = HS <= 64 ? 8 : 16, THREADS = Br / ROWS * TX;
  static constexpr int COLS = 8, Bc = COLS * TX;  // columns of S: of a thread, of a tile
  static constexpr int O_COLS = (HS + TX - 1) / TX;
  // A piece is (Bc, WIDTH) of K or (V_KEYS, D) of V; D is a power of two, for the copies.
  static constexpr int V_KEYS = 64, PIECES = Bc / V_KEYS, WIDTH = HS / PIECES, KEY_STEP = 1;
  using VOrder = ByLane<TX>;
  static __device__ int first_key(int n) { return n * V_KEYS; }
  static constexpr int D = HS <= 32 ? 32 : HS <= 64 ? 64 : 128;
  static constexpr int PARTS = 4;  // a piece's copies begin in so many parts
  static constexpr int Q_STRIDE = Br + 4, K_STRIDE = Bc + 4, P_STRIDE = Br + 8;
  static constexpr int K_FLOATS = (WIDTH + 7) / 8 * 8 * K_STRIDE;  // 8 columns are copied at a time
  static constexpr int BUFFER = K_FLOATS > V_KEYS* D ? K_FLOATS : V_KEYS* D;
  static constexpr int64_t BYTES =
      int64_t{sizeof(float)} * (HS * Q_STRIDE + Bc * P_STRIDE + 2 * BUFFER);
};

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, Tile::TX == 8 ? 2 : 1)
    head_sizes_kernel(Attention shape, float scale, const float* __restrict__ q,
                      const float* __restrict__ k, const float* __restrict__ v,
                      float* __restrict__ out, float* __restrict__ lse) {
  constexpr int COLUMNS = Tile::HS, D = Tile::D, Br = Tile::Br, Bc = Tile::Bc, WIDTH = Tile::WIDTH,
                PIECES = Tile::PIECES, THREADS = Tile::THREADS;
  extern __shared__ __align__(16) float shared[];
  float* const Q_t = shared;                          // (COLUMNS, Br)
  float* const P_t = Q_t + COLUMNS * Tile::Q_STRIDE;  // (Bc, Br)
  float* const buffers = P_t + Bc * Tile::P_STRIDE;   // two: (WIDTH, Bc) of K, or (V_KEYS, D) of V

  // As in longest_first, the blocks with the most keys start first.
  const int HS = Tile::EXACT ? Tile::HS : static_cast<int>(shape.HS);
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
      constexpr bool WHOLE = Tile::EXACT && WIDTH % 8 == 0;
      fetch_transposed<Bc, WIDTH, WHOLE, THREADS, PastLastRow::repeated, Tile::PARTS>(
          buffer(piece), Tile::K_STRIDE, k + key * HS + piece * WIDTH, HS, Tk - key,
          HS - piece * WIDTH, part);
    } else {
      constexpr int STEP = Tile::KEY_STEP;
      constexpr PastLastRow PAST = STEP == 1 ? PastLastRow::repeated : PastLastRow::zeros;
      const int64_t first = key + Tile::first_key(piece - PIECES);
      fetch<Tile::V_KEYS, D, 4, THREADS, PAST, Tile::PARTS>(buffer(piece), D, v + first * HS,
                                                            STEP * HS, ceil_div(Tk - first, STEP),
                                                            HS, typename Tile::VOrder{}, part);
    }
  };
  const auto begin_all = [&](int j, int piece) {
    for (int part = 0; part < Tile::PARTS; ++part) begin(j, piece, part);
  };

  fetch_transposed<Br, COLUMNS, Tile::EXACT, THREADS>(Q_t, Tile::Q_STRIDE, q + i0 * HS, HS, Tq - i0,
                                                      HS);
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
      if (int64_t{j} * Bc + Tile::first_key(n) < visible)
        add_outer_products<Tile, Tile::V_KEYS, Tile::P_STRIDE, D>(
            rows.O, P_t + n * Tile::V_KEYS * Tile::P_STRIDE, buffer(piece), begin_next);
      else
        begin_all(j, piece + 1);
    }
  }
  store_rows<Tile, 4>(out, lse, rows, i0, Tq, HS, scale);
}

/// Calls launch with the tile for a head size that is a multiple of 8, up to 128. Where the device
/// has no shared memory for it, sizes go in steps of 32, and tiles have fewer rows.
template <int SIZE = 8, class Launch>
void with_sized_tile(int64_t HS, const Launch& launch) {
  if constexpr (SIZE <= 128) {
    constexpr int COLUMNS = (SIZE + 31) / 32 * 32;
    if (HS == SIZE)
      return with_first_that_fits<SizedRows<SIZE>, FourColumns<COLUMNS, 64>,
                                  FourColumns<COLUMNS, 32>>(shared_memory_limit(), launch);
    with_sized_tile<SIZE + 8>(HS, launch);
  }
}

}  // namespace

void head_sizes(const Attention& shape, const float* q, const float* k, const float* v, float* out,
                float* lse, Workspace, cudaStream_t stream) {
  require_valid(shape);
  require_head_size(shape.HS, "head_sizes", 128);
  if (shape.HS == 0 || shape.HS % 8 != 0 || !rows_begin_aligned(shape.HS, q, k, v, out))
    return faster::outer_products_on(shape, q, k, v, out, lse, stream);
  with_sized_tile(shape.HS, [&]<class Tile>() {
    const auto kernel = head_sizes_kernel<Tile>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    if (shape.rows() == 0) return;
    kernel<<<query_blocks(shape, Tile::Br), Tile::THREADS, Tile::BYTES, stream>>>(
        shape, LOG2_E * score_scale(shape), q, k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::any_shape
