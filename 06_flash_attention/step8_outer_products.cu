// Step 6 = step 5 + both products as sums of outer products: Q, K and P lie in shared memory with
// their columns as rows. So a multiply-add finds its registers in both banks of the register file,
// and few of them wait for one. The copies begin a few at a time, amid the products.
//
// Cost a head: FLOP as step 4; K and V are read as often as in step 5, in whole tiles of 64 keys,
// or 128 for HS > 64. 4 reads of 16 bytes from shared memory serve 128 FLOP for every head size
// above 32, as in step 5. Shared memory for HS = 64: 103,424 bytes, two blocks of 128 threads on an
// SM of an H100; for 128: 204,800 bytes, one block of 256.
//
// asked for       loads 4·B·NH·HS·(Tq + 128·⌈Tk/64⌉·⌈Tq/128⌉) bytes if HS ≤ 64, about half of Tk's
//                 part if causal, stores 4·B·NH·Tq·(HS + 1) bytes
#include <cuda_pipeline.h>

#include <cstdint>
#include <string>

#include "06_flash_attention.hpp"
#include "tiles.cuh"

namespace tutorial::flash {

static constexpr int ROWS = 8, Br = 128;  // rows a thread has, queries a block has
static constexpr int PIECE = 64;          // columns of K, or keys of V, that come at a time
static constexpr int PARTS = 4;           // a piece's copies begin in so many parts
static constexpr float LOG2_E = 1.44269504f, LN_2 = 0.693147181f;

/// Which thread has what, as in step 5. D is the head size, padded with zeros; TX threads share a
/// row.
template <int D>
struct Layout {
  static constexpr int TX = D <= 64 ? 8 : 16, THREADS = Br / ROWS * TX;
  static constexpr int TY = WARP / TX, WARP_ROWS = ROWS * TY;  // a warp has rows side by side
  static constexpr int COLS = 8, Bc = COLS * TX;               // columns of S of a thread, a tile
  static constexpr int O_COLS = D / TX;                        // and of O
  static constexpr int WIDTH = D < PIECE ? D : PIECE;          // columns in a piece of K
  static constexpr int PIECES = D / WIDTH;                     // of K in a tile, and of V as well
  // What is transposed has rows that begin 4 banks apart: 8 columns of 4 rows are copied at a time,
  // to 32 banks. P's begin 8 apart: 8 lanes store 16 bytes each, in 4 columns of P.
  static constexpr int Q_STRIDE = Br + 4, K_STRIDE = Bc + 4, P_STRIDE = Br + 8;
  static constexpr int BUFFER = WIDTH * K_STRIDE;  // V's pieces are a little smaller
  static constexpr int64_t bytes(int64_t columns) {
    return int64_t{sizeof(float)} * (columns * Q_STRIDE + Bc * P_STRIDE + 2 * BUFFER);
  }
  static_assert(PIECES * PIECE == Bc && PIECE * D <= BUFFER);
};

static __device__ void read4(float* to, const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

/// sums[r][c] += Σ left[step][r]·right[step][c] over STEPS steps, in PARTS parts; before each part
/// it calls begin(part). Every four rows or columns of a thread lie side by side, and four to four
/// ROW_GAP or COL_GAP apart. What the next step needs is read before the products of this one.
template <int STEPS, int LEFT_STRIDE, int ROW_GAP, int RIGHT_STRIDE, int COL_GAP, int N,
          class Begin>
static __device__ void add_outer_products(float (&sums)[ROWS][N], const float* left,
                                          const float* right, Begin begin) {
  float a[2][ROWS], b[2][N];
  const auto read = [&](int which, int step) {
#pragma unroll
    for (int r = 0; r < ROWS; r += 4)
      read4(&a[which][r], &left[step * LEFT_STRIDE + r / 4 * ROW_GAP]);
#pragma unroll
    for (int c = 0; c < N; c += 4)
      read4(&b[which][c], &right[step * RIGHT_STRIDE + c / 4 * COL_GAP]);
  };
  read(0, 0);
#pragma unroll 1
  for (int part = 0; part < PARTS; ++part) {
    begin(part);
#pragma unroll
    for (int i = 0; i < STEPS / PARTS; ++i) {
      read((i + 1) % 2, (part * (STEPS / PARTS) + i + 1) % STEPS);
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int n = 0; n < N; ++n) {
          const int c = r % 2 == 0 ? n : N - 1 - n;  // to and fro, as in step 5
          sums[r][c] += a[i % 2][r] * b[i % 2][c];
        }
    }
  }
}

/// WHOLE: HS is D, and all rows begin at multiples of 16 bytes.
template <int D, bool WHOLE>
static __global__ void __launch_bounds__(Layout<D>::THREADS, D <= 64 ? 2 : 1)
    outer_products_kernel(Attention shape, float scale, const float* __restrict__ q,
                          const float* __restrict__ k, const float* __restrict__ v,
                          float* __restrict__ out, float* __restrict__ lse) {
  using Tile = Layout<D>;
  constexpr int TX = Tile::TX, TY = Tile::TY, COLS = Tile::COLS, O_COLS = Tile::O_COLS;
  constexpr int THREADS = Tile::THREADS, Bc = Tile::Bc;
  constexpr int WIDTH = Tile::WIDTH, PIECES = Tile::PIECES;
  constexpr int Q_STRIDE = Tile::Q_STRIDE, K_STRIDE = Tile::K_STRIDE, P_STRIDE = Tile::P_STRIDE;
  extern __shared__ __align__(16) float shared[];
  float* const Q_t = shared;                   // D × Br
  float* const P_t = Q_t + D * Q_STRIDE;       // Bc × Br
  float* const buffers = P_t + Bc * P_STRIDE;  // two: WIDTH × Bc of K, or PIECE × D of V

  // As in step 4, the blocks with the most keys start first.
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH;
  const int64_t head = blockIdx.x % heads, kv_head = head / shape.group();
  const int64_t i0 = (ceil_div(Tq, Br) - 1 - blockIdx.x / heads) * Br;
  q += head * Tq * HS;
  k += kv_head * Tk * HS;
  v += kv_head * Tk * HS;

  // The lanes as in step 5: l and l ^ 1 have the same columns, l and l ^ 2 the same rows.
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int tx = lane / 2 % TX, ty = lane / (2 * TX) * 2 + lane % 2;
  const int row0 = warp * Tile::WARP_ROWS + 4 * ty;
  const auto row = [&](int r) { return row0 + r / 4 * 4 * TY + r % 4; };
  const auto column = [&](int c) { return c / 4 * 4 * TX + 4 * tx + c % 4; };

  // How far the block and this warp have to go.
  const int64_t i_end = i0 + Br < Tq ? i0 + Br : Tq, warp_row = i0 + warp * Tile::WARP_ROWS;
  const int tiles = static_cast<int>(ceil_div(shape.visible_keys(i_end - 1), Bc));
  const int pieces =
      static_cast<int>(ceil_div(shape.visible_keys(warp_row + Tile::WARP_ROWS - 1), PIECE));
  const int not_masked = static_cast<int>(shape.visible_keys(warp_row) / Bc);  // tiles

  // The pieces of tile j: 0 … PIECES − 1 of K, then as many of V, take turns in the two buffers.
  // The one after the last is the next tile's first. A thread copies elements of some rows, from
  // `first` on. A key past the last is replaced by the last: its score is masked, and its value
  // meets a 0.
  struct Piece {
    bool of_k, exists;
    int first, last, columns;
    const float* from;
    float* to;
  };
  constexpr int VEC = WHOLE ? 4 : 1, ACROSS = D / VEC;  // floats of V in a copy, copies in a row
  const int row8 = threadIdx.x / 8, col8 = threadIdx.x % 8;  // for K and Q
  const int row_v = threadIdx.x / ACROSS, col_v = threadIdx.x % ACROSS * VEC;
  // V's rows are stored in the order of P's: key column(c) in row c·TX + tx. That only permutes the
  // bits of the key.
  const auto place = [](int r) { return (r / (4 * TX) * 4 + r % 4) * TX + r / 4 % TX; };
  const auto buffer = [&](int piece) { return buffers + piece % 2 * Tile::BUFFER; };
  const auto find = [&](int j, int piece) -> Piece {
    if (piece == 2 * PIECES) ++j, piece = 0;
    const bool of_k = piece < PIECES;
    const int64_t key0 = int64_t{j} * Bc + (of_k ? 0 : (piece - PIECES) * PIECE);
    const int64_t left = Tk - 1 - key0;
    return {of_k,
            j < tiles,
            of_k ? row8 : row_v,
            left < Bc ? static_cast<int>(left) : Bc,
            HS - piece * WIDTH - col8,
            (of_k ? k + piece * WIDTH + col8 : v + col_v) + key0 * HS,
            buffer(piece) + (of_k ? col8 * K_STRIDE + row8 : place(row_v) * D + col_v)};
  };
  const auto begin = [&](const Piece& piece, int part) {
    const auto from = [&](int r) {
      r += piece.first;
      return piece.from + int64_t{r < piece.last ? r : piece.last} * HS;
    };
    if (!piece.exists) return;
    if (piece.of_k) {
      static_assert(Bc / PARTS == THREADS / 8);
      const int r = part * (Bc / PARTS);
#pragma unroll
      for (int c = 0; c < WIDTH; c += 8)
        __pipeline_memcpy_async(piece.to + c * K_STRIDE + r, from(r) + c, sizeof(float),
                                WHOLE || c < piece.columns ? 0 : sizeof(float));
    } else {
#pragma unroll
      for (int i = 0; i < PIECE / PARTS; i += THREADS / ACROSS) {
        const int r = part * (PIECE / PARTS) + i;
        // row_v and r have no bit in common, so place(row_v + r) = place(row_v) + place(r).
        __pipeline_memcpy_async(piece.to + place(r) * D, from(r), VEC * sizeof(float),
                                WHOLE || col_v < HS ? 0 : VEC * sizeof(float));
      }
    }
  };

  // Now what was fetched is in shared memory for all threads, and all are done with what they read
  // before: its place may be filled again.
  const auto finish_fetch = [] {
    __pipeline_commit();
    __pipeline_wait_prior(0);  // this thread's copies
    __syncthreads();           // and everyone else's
  };

  for (int r = row8; r < Br; r += THREADS / 8)
#pragma unroll 4
    for (int col = col8; col < D; col += 8)
      __pipeline_memcpy_async(&Q_t[col * Q_STRIDE + r], q + (i0 + r) * HS + col, sizeof(float),
                              i0 + r < Tq && col < HS ? 0 : sizeof(float));
  for (int part = 0; part < PARTS; ++part) begin(find(0, 0), part);
  float m_i[ROWS], l_i[ROWS], O_i[ROWS][O_COLS] = {};
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    m_i[r] = -INFINITY;
    l_i[r] = 0.0f;  // of this thread's columns alone, until the end
  }

  for (int j = 0; j < tiles; ++j) {
    // S = Q_i·K_jᵀ, a piece of the columns of Q and K after the other. A warp whose rows see no key
    // of the tile only copies.
    const bool live = j * PIECES < pieces;
    float S[ROWS][COLS] = {};
#pragma unroll 1
    for (int piece = 0; piece < PIECES; ++piece) {
      finish_fetch();
      const auto begin_next = [&, next = find(j, piece + 1)](int part) { begin(next, part); };
      if (live)
        add_outer_products<WIDTH, Q_STRIDE, 4 * TY, K_STRIDE, 4 * TX>(
            S, Q_t + piece * WIDTH * Q_STRIDE + row0, buffer(piece) + 4 * tx, begin_next);
      else
        for (int part = 0; part < PARTS; ++part) begin_next(part);
    }

    // The online softmax, as in step 5.
    if (live && j >= not_masked)
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const int64_t visible = shape.visible_keys(i0 + row(r)) - int64_t{j} * Bc;
#pragma unroll
        for (int c = 0; c < COLS; ++c)
          if (column(c) >= visible) S[r][c] = -INFINITY;
      }
    if (live) {
      float minus_m[ROWS];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        float m_new = m_i[r];
#pragma unroll
        for (int c = 0; c < COLS; ++c) m_new = fmaxf(m_new, S[r][c]);
        for (int offset = TX; offset > 1; offset /= 2)  // the bits of the lane that tx has
          m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, offset));
        minus_m[r] = m_new == -INFINITY ? 0.0f : -scale * m_new;
        const float rescale = exp2f(scale * m_i[r] + minus_m[r]);
        m_i[r] = m_new;
        l_i[r] *= rescale;
#pragma unroll
        for (int d = 0; d < O_COLS; ++d) O_i[r][d] *= rescale;
      }
#pragma unroll
      for (int c = 0; c < COLS; ++c)
#pragma unroll
        for (int r = 0; r < ROWS; r += 4) {
          float p[4];
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            p[e] = exp2f(scale * S[r + e][c] + minus_m[r + e]);
            l_i[r + e] += p[e];
          }
          *reinterpret_cast<float4*>(&P_t[(c * TX + tx) * P_STRIDE + row(r)]) =
              make_float4(p[0], p[1], p[2], p[3]);
        }
    }

    // O_i = O_i + P_ij·V_j, a piece of the keys after the other. The barrier in finish_fetch()
    // stands between writing P and reading it, too.
#pragma unroll 1
    for (int piece = PIECES; piece < 2 * PIECES; ++piece) {
      finish_fetch();
      const int n = piece - PIECES;
      const auto begin_next = [&, next = find(j, piece + 1)](int part) { begin(next, part); };
      if (j * PIECES + n < pieces)
        add_outer_products<PIECE, P_STRIDE, 4 * TY, D, 4 * TX>(
            O_i, P_t + n * PIECE * P_STRIDE + row0, buffer(piece) + 4 * tx, begin_next);
      else
        for (int part = 0; part < PARTS; ++part) begin_next(part);
    }
  }

#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    for (int offset = TX; offset > 1; offset /= 2)
      l_i[r] += __shfl_xor_sync(0xffffffffu, l_i[r], offset);
    const int64_t i = i0 + row(r);
    if (i >= Tq) continue;
    const float inverse = l_i[r] == 0.0f ? 0.0f : 1 / l_i[r];  // 0: the query sees no key
    float* const to = &out[(head * Tq + i) * HS];
#pragma unroll
    for (int d = 0; d < O_COLS; d += WHOLE ? 4 : 1) {
      if constexpr (WHOLE)
        *reinterpret_cast<float4*>(&to[column(d)]) =
            make_float4(O_i[r][d] * inverse, O_i[r][d + 1] * inverse, O_i[r][d + 2] * inverse,
                        O_i[r][d + 3] * inverse);
      else if (column(d) < HS)
        to[column(d)] = O_i[r][d] * inverse;
    }
    if (tx == 0) lse[head * Tq + i] = LN_2 * (scale * m_i[r] + log2f(l_i[r]));
  }
}

template <int D>
static void launch(const Attention& shape, const float* q, const float* k, const float* v,
                   float* out, float* lse) {
  using Tile = Layout<D>;
  bool whole = shape.HS == D;
  for (const float* tensor : {q, k, v, static_cast<const float*>(out)})
    whole = whole && reinterpret_cast<std::uintptr_t>(tensor) % sizeof(float4) == 0;
  const auto kernel = whole ? outer_products_kernel<D, true> : outer_products_kernel<D, false>;
  const int64_t blocks = shape.B * shape.NH * ceil_div(shape.Tq, Br);
  allow_shared_memory(kernel, Tile::bytes(D), "head size", shape.HS);
  kernel<<<grid_blocks(blocks), Tile::THREADS, Tile::bytes(D)>>>(shape, LOG2_E * score_scale(shape),
                                                                 q, k, v, out, lse);
  CUDA_CHECK_LAUNCH();
}

void outer_products(const Attention& shape, const float* q, const float* k, const float* v,
                    float* out, float* lse, float*) {
  require_valid(shape);
  if (shape.rows() * shape.HS == 0) return;
  if (shape.HS <= 32) return launch<32>(shape, q, k, v, out, lse);
  if (shape.HS <= 64) return launch<64>(shape, q, k, v, out, lse);
  if (shape.HS <= 128) return launch<128>(shape, q, k, v, out, lse);
  // As in step 4: first what the device refuses, then what the registers do.
  allow_shared_memory(outer_products_kernel<128, false>, Layout<128>::bytes(shape.HS), "head size",
                      shape.HS);
  throw Error("head size " + std::to_string(shape.HS) +
              " is too large for outer_products, which keeps O in registers and takes at most " +
              "128; take --kernel q_outer.");
}

}  // namespace tutorial::flash
