// Step 9 = step 8 for every head size that is a multiple of 8, up to 256, at its own cost: S is
// summed over HS columns and no more, and a thread has as many columns of O as it needs. Above 128
// the tiles have half as many keys, which makes room for O.
//
// FLOP            as step 8, for HS itself where step 8 has 32, 64 or 128
// global memory   as step 8
// asked for       loads 4·B·NH·HS·(Tq + 128·⌈Tk/64⌉·⌈Tq/128⌉) bytes if HS ≤ 64, about half of Tk's
//                 part if causal, stores 4·B·NH·Tq·(HS + 1) bytes
// shared memory   as step 8. 204,800 bytes for HS = 256
// block           128 threads, 256 if HS > 64, for 128 queries of a head
// H200            1.13 ms for B 2, NH 32, T 2048, HS 80 causal, where step 8 takes 1.72 ms
#include "06_flash_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "launch_checks.hpp"
#include "pieces.cuh"
#include "thread_rows.cuh"

namespace tutorial::flash_attention {
namespace {

/// Which thread has what, as in step 8, for a head size: TX threads share a row. Above 128 a thread
/// has half as many columns of S: that leaves registers for O, and shared memory for Q.
template <int HEAD_SIZE>
struct SizedRows : QuadLanes<HEAD_SIZE <= 64 ? 8 : 16> {
  static constexpr int HS = HEAD_SIZE, TX = HS <= 64 ? 8 : 16, COLS = HS <= 128 ? 8 : 4;
  static constexpr int O_COLS = (HS + TX - 1) / TX, Bc = COLS * TX;
  static constexpr int THREADS = Br / ROWS * TX;
  // A piece is (Bc, WIDTH) of K or (V_KEYS, D) of V. Fewer than 64 keys are every fourth one of the
  // tile: those that stand side by side in P.
  static constexpr int K_PIECES = HS <= 64 ? 1 : HS <= 128 ? 2 : 4, WIDTH = HS / K_PIECES;
  static constexpr int V_KEYS = HS <= 128 ? PIECE : TX, V_PIECES = Bc / V_KEYS;
  static constexpr int KEY_STEP = V_KEYS < PIECE ? 4 : 1, PIECES = K_PIECES + V_PIECES;
  static constexpr int D = HS <= 32 ? 32 : HS <= 64 ? 64 : HS <= 128 ? 128 : 256;
  static constexpr int PARTS = 8 * Bc / THREADS;  // a piece's copies begin in so many parts
  static constexpr int Q_STRIDE = Br + 4, K_STRIDE = Bc + 4, P_STRIDE = Br + 8;
  static constexpr int K_FLOATS = (WIDTH + 7) / 8 * 8 * K_STRIDE;
  static constexpr int BUFFER = K_FLOATS > V_KEYS* D ? K_FLOATS : V_KEYS* D;
  static constexpr int64_t bytes(int64_t columns) {
    return int64_t{sizeof(float)} * (columns * Q_STRIDE + Bc * P_STRIDE + 2 * BUFFER);
  }
};

/// How many steps of `length` are unrolled: an even number that divides it, up to 16 if there is
/// one above 6, else half of it.
__host__ __device__ constexpr int unrolled(int length) {
  for (int steps = 16; steps > 6; steps -= 2)
    if (length % steps == 0) return steps;
  return length / 2;
}

/// As in step 8, but N and LENGTH need not be powers of two.
template <class Tile, int LENGTH, int LEFT_STRIDE, int RIGHT_STRIDE, int N, class Begin>
__device__ void add_outer_products(float (&sums)[ROWS][N], const float* left, const float* right,
                                   Begin begin) {
  constexpr int STEPS = unrolled(LENGTH), ROUNDS = LENGTH / STEPS;
  float a[2][ROWS], b[2][N];
  const auto read = [&](int which, int x) {
#pragma unroll
    for (int r = 0; r < ROWS; r += 4) load4(&a[which][r], &left[x * LEFT_STRIDE + Tile::row(r)]);
#pragma unroll
    for (int c = 0; c < N / 4 * 4; c += 4)
      load4(&b[which][c], &right[x * RIGHT_STRIDE + Tile::column(c)]);
    if constexpr (N % 4 >= 2) {
      const int c = N / 4 * 4;
      const float2 two = *reinterpret_cast<const float2*>(
          &right[x * RIGHT_STRIDE + spread_column<Tile::TX, N>(Tile::tx(), c)]);
      b[which][c] = two.x, b[which][c + 1] = two.y;
    }
#pragma unroll
    for (int c = N / 2 * 2; c < N; ++c)
      b[which][c] = right[x * RIGHT_STRIDE + spread_column<Tile::TX, N>(Tile::tx(), c)];
  };
  read(0, 0);
#pragma unroll 1
  for (int round = 0; round < ROUNDS; ++round) {
    if (ROUNDS <= Tile::PARTS || round < Tile::PARTS) begin(round);
#pragma unroll
    for (int i = 0; i < STEPS; ++i) {
      read((i + 1) % 2, (round * STEPS + i + 1) % LENGTH);
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int n = 0; n < N; ++n) {
          const int c = r % 2 == 0 ? n : N - 1 - n;  // to and fro, as in step 6
          sums[r][c] += a[i % 2][r] * b[i % 2][c];
        }
    }
  }
  for (int part = ROUNDS; part < Tile::PARTS; ++part) begin(part);
}

template <class Tile>
__global__ void __launch_bounds__(Tile::THREADS, Tile::TX == 8 ? 2 : 1)
    head_sizes_kernel(Attention shape, float scale, const float* __restrict__ q,
                      const float* __restrict__ k, const float* __restrict__ v,
                      float* __restrict__ out, float* __restrict__ lse) {
  constexpr int Bc = Tile::Bc, THREADS = Tile::THREADS, D = Tile::D, WIDTH = Tile::WIDTH;
  constexpr bool EXACT = Tile::HS <= 128;  // else HS may be less
  extern __shared__ __align__(16) float shared[];
  float* const Q_t = shared;                           // (Tile::HS, Br)
  float* const P_t = Q_t + Tile::HS * Tile::Q_STRIDE;  // (Bc, Br)
  float* const buffers = P_t + Bc * Tile::P_STRIDE;    // two: (WIDTH, Bc) of K, or (V_KEYS, D) of V

  // As in step 3, the blocks with the most keys start first.
  const int HS = EXACT ? Tile::HS : static_cast<int>(shape.HS);
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

  const auto buffer = [&](int j, int piece) {
    return buffers + (j * Tile::PIECES + piece) % 2 * Tile::BUFFER;
  };
  const auto begin = [&](int j, int piece, int part) {
    if (piece == Tile::PIECES) ++j, piece = 0;
    if (j >= tiles) return;
    const int64_t key = int64_t{j} * Bc;
    if (piece < Tile::K_PIECES) {
      fetch_transposed<Bc, WIDTH, EXACT && WIDTH % 8 == 0, THREADS, PastLastRow::repeated,
                       Tile::PARTS>(buffer(j, piece), Tile::K_STRIDE, k + key * HS + piece * WIDTH,
                                    HS, Tk - key, HS - piece * WIDTH, part);
    } else if constexpr (Tile::KEY_STEP == 1) {
      const int64_t first = key + (piece - Tile::K_PIECES) * PIECE;
      fetch<PIECE, D, 4, THREADS, PastLastRow::repeated, Tile::PARTS>(
          buffer(j, piece), D, v + first * HS, HS, Tk - first, HS, ByLane<Tile::TX>{}, part);
    } else {
      const int64_t first = key + (piece - Tile::K_PIECES);
      fetch<Tile::V_KEYS, D, 4, THREADS, PastLastRow::zeros, Tile::PARTS>(
          buffer(j, piece), D, v + first * HS, Tile::KEY_STEP * HS,
          ceil_div(Tk - first, Tile::KEY_STEP), HS, InOrder{}, part);
    }
  };
  const auto begin_all = [&](int j, int piece) {
    for (int part = 0; part < Tile::PARTS; ++part) begin(j, piece, part);
  };

  fetch_transposed<Br, Tile::HS, EXACT, THREADS>(Q_t, Tile::Q_STRIDE, q + i0 * HS, HS, Tq - i0, HS);
  begin_all(0, 0);
  OutputRows<Tile::O_COLS> rows;
  for (int j = 0; j < tiles; ++j) {
    const bool live = int64_t{j} * Bc < visible;  // else this warp's rows see no key of the tile
    float S[ROWS][Tile::COLS] = {};
#pragma unroll 1
    for (int piece = 0; piece < Tile::K_PIECES; ++piece) {
      finish_fetch();
      const auto begin_next = [&](int part) { begin(j, piece + 1, part); };
      if (live)
        add_outer_products<Tile, WIDTH, Tile::Q_STRIDE, Tile::K_STRIDE>(
            S, Q_t + piece * WIDTH * Tile::Q_STRIDE, buffer(j, piece), begin_next);
      else
        begin_all(j, piece + 1);
    }
    if (live && j >= not_masked) hide_masked<Tile>(S, shape, i0, int64_t{j} * Bc);
    if (live) transposed_softmax<Tile>(S, rows, P_t, scale);

#pragma unroll 1
    for (int n = 0; n < Tile::V_PIECES; ++n) {
      finish_fetch();  // its barrier also stands between writing P and reading it
      const int piece = Tile::K_PIECES + n;
      const auto begin_next = [&](int part) { begin(j, piece + 1, part); };
      if (int64_t{j} * Bc + n * (PIECE / Tile::V_KEYS == 1 ? PIECE : 1) < visible)
        add_outer_products<Tile, Tile::V_KEYS, Tile::P_STRIDE, D>(
            rows.O, P_t + n * Tile::V_KEYS * Tile::P_STRIDE, buffer(j, piece), begin_next);
      else
        begin_all(j, piece + 1);
    }
  }
  store_rows<Tile, 4>(out, lse, rows, i0, Tq, HS, scale);
}

/// Calls launch with the tile for a head size that is a multiple of 8, up to 256. From 128 on there
/// is one for each 32.
template <int SIZE = 8, class Launch>
void with_sized_tile(int64_t HS, const Launch& launch) {
  if constexpr (SIZE <= 256) {
    if (HS <= SIZE) return launch.template operator()<SizedRows<SIZE>>();
    with_sized_tile<SIZE + (SIZE < 128 ? 8 : 32)>(HS, launch);
  }
}

}  // namespace

void head_sizes(const Attention& shape, const float* q, const float* k, const float* v, float* out,
                float* lse, float* scratch) {
  require_valid(shape);
  const int64_t HS = shape.HS;
  if (HS > 256) refuse_head_size(HS, "head_sizes", SizedRows<256>::bytes(HS), 256);
  if (HS == 0 || HS % 8 != 0 || !rows_begin_aligned(HS, q, k, v, out)) {
    if (HS <= 128) return outer_products(shape, q, k, v, out, lse, scratch);
    return q_outer(shape, q, k, v, out, lse, scratch);
  }
  with_sized_tile(HS, [&]<class Tile>() {
    const auto kernel = head_sizes_kernel<Tile>;
    allow_shared_memory(kernel, Tile::bytes(Tile::HS), "head size", HS);
    if (shape.rows() * HS == 0) return;
    kernel<<<query_blocks(shape, Br), Tile::THREADS, Tile::bytes(Tile::HS)>>>(
        shape, LOG2_E * score_scale(shape), q, k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention
