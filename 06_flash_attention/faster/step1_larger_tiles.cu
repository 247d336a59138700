// Step 1 = two_buffers with larger tiles, as large as the device has shared memory for: 8 rows a
// thread, 128 queries a block, so that what is read, from either memory, serves twice as many
// products. K and V of a larger tile come in pieces, which take turns in two buffers.
//
// FLOP            as any_head_size
// global memory   as any_head_size, but with Br = 128 for every head size
// asked for       loads 4·B·NH·HS·(Tq + 2·Tk·⌈Tq/128⌉) bytes, about half of Tk's part if causal,
//                 stores 4·B·NH·Tq·(HS + 1) bytes
// shared memory   16 reads of 16 bytes serve 512 FLOP for every head size above 32. 110,592 bytes
//                 for HS = 64: an SM of an H100 has room for two blocks; 210,944 for 128: for one.
//                 Smaller devices: the tiles of pieces.cuh, for 99 KB and for 64 KB
// block           128 threads, 256 if HS > 64, for 128 queries of a head
// H200            0.405 ms for B 8, NH 12, T 1024, HS 64 causal, 139 % of chapter 05's part strips
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "faster/faster.hpp"
#include "faster/pieces.cuh"
#include "faster/thread_rows.cuh"
#include "launch_checks.hpp"
#include "tiles.cuh"

namespace tutorial::flash_attention::faster {
namespace {

/// Which thread has what, as in any_head_size, but for ROWS = 8 of them.
template <class Sizes>
struct StridedRows : RowMajorPieces<Sizes> {
  static constexpr int TX = Sizes::TX, TY = Sizes::THREADS / TX;
  static __device__ int tx() { return threadIdx.x % TX; }
  static __device__ int row(int r) { return threadIdx.x / TX + TY * r; }  // a warp has its own
  static __device__ int column(int c) { return tx() + TX * c; }
};

/// sums[r][c] += Σ left[row(r)][x]·right[x][c] over LENGTH x, four at a time: read(x) gives the
/// rows x … x + 3 of the right matrix.
template <class Tile, int LENGTH, int STRIDE, int N, class Read>
__device__ void add_products(float (&sums)[ROWS][N], const float* left, Read read) {
  for (int x = 0; x < LENGTH; x += 4) {
    const Fragment<N> right = read(x);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
      multiply_add(sums[r], load4(&left[Tile::row(r) * STRIDE + x]), right);
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

/// The online softmax of a tile of scores, as before; their weights go to P_ij, (Br, Bc).
template <class Tile>
__device__ void online_softmax(float (&S)[ROWS][Tile::COLS], OutputRows<Tile::O_COLS>& rows,
                               float* P_ij, float scale) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    float m_new = -INFINITY, l_new = 0.0f;
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c) {
      S[r][c] *= scale;
      m_new = fmaxf(m_new, S[r][c]);
    }
    m_new = fmaxf(rows.m[r], row_max<Tile::TX>(m_new));
#pragma unroll
    for (int c = 0; c < Tile::COLS; ++c) {
      const float p = exp_minus(S[r][c], m_new);
      P_ij[Tile::row(r) * Tile::P_STRIDE + Tile::column(c)] = p;
      l_new += p;
    }
    const float rescale = exp_minus(rows.m[r], m_new);
    rows.l[r] = rescale * rows.l[r] + row_sum<Tile::TX>(l_new);
    rows.m[r] = m_new;
#pragma unroll
    for (int d = 0; d < Tile::O_COLS; ++d) rows.O[r][d] *= rescale;
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
    larger_tiles_kernel(Attention shape, float scale, const float* __restrict__ q,
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

  // How many tiles the block has to go through, and how many of them all its queries see.
  const int64_t i_end = i0 + Br < Tq ? i0 + Br : Tq;
  const int tiles = static_cast<int>(ceil_div(shape.visible_keys(i_end - 1), Bc));
  const int not_masked = static_cast<int>(shape.visible_keys(i0) / Bc);

  // A tile's pieces take turns in the two buffers: first K's, then V's.
  const auto buffer = [&](int piece) { return buffers + piece % 2 * Tile::BUFFER; };
  const auto fetch_k = [&](int j, int piece) {
    const int64_t key = int64_t{j} * Bc;
    fetch<Bc, WIDTH, VEC, THREADS>(buffer(piece), Tile::K_STRIDE, k + key * HS + piece * WIDTH, HS,
                                   Tk - key, HS - piece * WIDTH);
  };
  const auto fetch_v = [&](int j, int piece) {
    const int64_t key = int64_t{j} * Bc + piece * Tile::V_KEYS;
    fetch<Tile::V_KEYS, D, VEC, THREADS>(buffer(PIECES + piece), D, v + key * HS, HS, Tk - key, HS);
  };

  fetch<Br, D, VEC, THREADS>(Q_i, Tile::Q_STRIDE, q + i0 * HS, HS, Tq - i0, HS);
  if (tiles > 0) fetch_k(0, 0);
  OutputRows<Tile::O_COLS> rows;
  for (int j = 0; j < tiles; ++j) {
    float S[ROWS][Tile::COLS] = {};
#pragma unroll 1
    for (int piece = 0; piece < PIECES; ++piece) {
      finish_fetch();
      if (piece + 1 < PIECES)
        fetch_k(j, piece + 1);
      else
        fetch_v(j, 0);
      add_scores<Tile>(S, Q_i + piece * WIDTH, buffer(piece));
    }

    if (j >= not_masked) hide_masked<Tile>(S, shape, i0, int64_t{j} * Bc);
    online_softmax<Tile>(S, rows, P_ij, scale);

#pragma unroll 1
    for (int piece = 0; piece < PIECES; ++piece) {
      finish_fetch();  // its barrier also stands between writing P and reading it
      if (piece + 1 < PIECES)
        fetch_v(j, piece + 1);
      else if (j + 1 < tiles)
        fetch_k(j + 1, 0);
      add_values<Tile>(rows.O, P_ij + piece * Tile::V_KEYS, buffer(PIECES + piece));
    }
  }

#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int64_t i = i0 + Tile::row(r);
    if (i >= Tq) break;
    const float inverse = rows.l[r] == 0.0f ? 0.0f : 1 / rows.l[r];  // 0: the query sees no key
    store_row<Tile::TX, VEC>(&out[i * HS], rows.O[r], inverse, Tile::tx(), HS);
    if (Tile::tx() == 0) lse[i] = rows.m[r] + logf(rows.l[r]);
  }
}

}  // namespace

void larger_tiles(const Attention& shape, const float* q, const float* k, const float* v,
                  float* out, float* lse, float*) {
  require_valid(shape);
  with_tile<StridedRows>(shape.HS, "larger_tiles", [&]<class Tile>() {
    const bool aligned = rows_begin_aligned(shape.HS, q, k, v, out);
    const auto kernel = aligned ? larger_tiles_kernel<Tile, 4> : larger_tiles_kernel<Tile, 1>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<query_blocks(shape, Tile::Br), Tile::THREADS, Tile::BYTES>>>(shape, score_scale(shape),
                                                                          q, k, v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention::faster
