// Step 5 = step 4 + no waiting for K and V: they come in pieces through two buffers in shared
// memory, and while a product uses one, __pipeline_memcpy_async fills the other. The lanes of a
// warp, and the order of the products, are arranged so that the registers and shared memory keep
// up.
//
// Cost a head: FLOP as step 4; K and V are read as often as there with Br = 128, now for HS > 64 as
// well. 16 reads of 16 bytes from shared memory serve 512 FLOP for every head size above 32. Shared
// memory for HS = 64: 110,592 bytes, so that an SM of an H100 has room for two blocks of 128
// threads; for 128: 210,944 bytes, one block of 256.
//
// asked for       loads 4·B·NH·HS·(Tq + 2·Tk·⌈Tq/128⌉) bytes, about half of Tk's part if causal,
//                 stores 4·B·NH·Tq·(HS + 1) bytes
#include <cuda_pipeline.h>

#include <cstdint>
#include <string>

#include "06_flash_attention.hpp"
#include "tiles.cuh"

namespace tutorial::flash {

static constexpr int ROWS = 8, Br = 128;  // rows a thread has, queries a block has
static constexpr int PIECE = 64;          // columns of K, or keys of V, that come at a time
static constexpr float LOG2_E = 1.44269504f, LN_2 = 0.693147181f;

/// Which thread has what. D is the head size, padded with zeros; TX threads share a row.
template <int D>
struct Division {
  static constexpr int TX = D <= 64 ? 8 : 16, THREADS = Br / ROWS * TX;
  static constexpr int TY = WARP / TX, WARP_ROWS = ROWS * TY;  // a warp has rows side by side
  static constexpr int COLS = 8, Bc = COLS * TX;               // columns of S of a thread, a tile
  static constexpr int QUADS = D / TX / 4;                     // and quadruples of a row of O
  static constexpr int WIDTH = D < PIECE ? D : PIECE;          // columns in a piece of K
  static constexpr int PIECES = D / WIDTH;                     // of K in a tile, and of V as well
  // Rows of Q and K have 4 floats more than they need, as in step 4. 16 more in P also keep the
  // stores apart, 16 bytes a thread: those of 8 lanes go to 2 rows of P.
  static constexpr int Q_STRIDE = D + 4, K_STRIDE = WIDTH + 4, P_STRIDE = Bc + 16;
  static constexpr int BUFFER = Bc * K_STRIDE;    // V's pieces are a little smaller
  static constexpr int UNROLL = D <= 64 ? 4 : 2;  // for 128, 4 do not fit into the registers
  static constexpr int64_t bytes(int64_t columns) {
    return int64_t{sizeof(float)} * (Br * (columns + 4) + Br * P_STRIDE + 2 * BUFFER);
  }
  static_assert(PIECES * PIECE == Bc && PIECE * D <= BUFFER);
};

static __device__ float4 load4(const float* p) {
  return *reinterpret_cast<const float4*>(p);
}

/// Starts to copy HEIGHT × WIDTH floats of a rows × cols matrix, from (row0, col0), VEC floats at a
/// time. Row r goes to row place(r) of the tile; place only permutes the bits of r. What lies past
/// the matrix's edges becomes 0. The copy is there after finish_fetch().
template <int HEIGHT, int WIDTH, int VEC, int THREADS, class Place>
static __device__ void fetch(float* tile, int stride, const float* matrix, int64_t row0,
                             int64_t rows, int col0, int cols, Place place) {
  constexpr int ACROSS = WIDTH / VEC, STEP = THREADS / ACROSS;
  const int r0 = threadIdx.x / ACROSS, col = threadIdx.x % ACROSS * VEC;
  const int64_t left = col0 + col < cols ? rows - row0 - r0 : 0;
  const int inside = left < HEIGHT ? static_cast<int>(left) : HEIGHT;
  const float* from = matrix + (row0 + r0) * cols + col0 + col;
  float* const to = tile + place(r0) * stride + col;
#pragma unroll 8
  for (int r = 0; r < HEIGHT; r += STEP) {
    // r0 and r have no bit in common, so place(r0 + r) = place(r0) + place(r).
    if (r < inside)
      __pipeline_memcpy_async(to + place(r) * stride, from, VEC * sizeof(float));
    else
      for (int e = 0; e < VEC; ++e) to[place(r) * stride + e] = 0.0f;
    from += int64_t{STEP} * cols;
  }
}

/// Now what was fetched is in shared memory for all threads, and all are done with what they read
/// before: its place may be filled again.
static __device__ void finish_fetch() {
  __pipeline_wait_prior(0);  // this thread's copies
  __syncthreads();           // and everyone else's
}

/// sums[c] += Σ left[x]·right[x][c]. An FFMA reads three registers. Here neighbours share left[x],
/// and at the turns right's column: what the last instruction has read need not be read again.
template <int N>
static __device__ void multiply_add(float (&sums)[N], float4 left4, const float (&right)[4][N]) {
  const float left[4] = {left4.x, left4.y, left4.z, left4.w};
#pragma unroll
  for (int x = 0; x < 4; ++x)
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const int c = x % 2 == 0 ? i : N - 1 - i;
      sums[c] += left[x] * right[x][c];
    }
}

template <int D, int VEC>
static __global__ void __launch_bounds__(Division<D>::THREADS, D <= 64 ? 2 : 1)
    pipelined_kernel(Attention shape, float scale, const float* __restrict__ q,
                     const float* __restrict__ k, const float* __restrict__ v,
                     float* __restrict__ out, float* __restrict__ lse) {
  using Tile = Division<D>;
  constexpr int TX = Tile::TX, TY = Tile::TY, COLS = Tile::COLS, QUADS = Tile::QUADS;
  constexpr int Bc = Tile::Bc, WIDTH = Tile::WIDTH, PIECES = Tile::PIECES;
  constexpr int Q_STRIDE = Tile::Q_STRIDE, K_STRIDE = Tile::K_STRIDE, P_STRIDE = Tile::P_STRIDE;
  extern __shared__ __align__(16) float shared[];
  float* const Q_i = shared;                    // Br × D
  float* const P_ij = Q_i + Br * Q_STRIDE;      // Br × Bc
  float* const buffers = P_ij + Br * P_STRIDE;  // two: Bc × WIDTH of K, or PIECE × D of V

  // As in step 4, the blocks with the most keys start first.
  const int HS = static_cast<int>(shape.HS);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, heads = shape.B * shape.NH;
  const int64_t head = blockIdx.x % heads, kv_head = head / shape.group();
  const int64_t i0 = (ceil_div(Tq, Br) - 1 - blockIdx.x / heads) * Br;
  q += head * Tq * HS;
  k += kv_head * Tk * HS;
  v += kv_head * Tk * HS;

  // A read of 16 bytes by a warp takes two turns if in each half of the warp lanes l and l ^ 1, or
  // l and l ^ 2, want the same; else four. So tx begins at bit 1 of the lane, ty takes the rest.
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int tx = lane / 2 % TX, ty = lane / (2 * TX) * 2 + lane % 2;
  const int row0 = warp * Tile::WARP_ROWS + ty;  // a thread has the rows row0, row0 + TY, …
  // Of each 4·TX columns of S a thread has 4 side by side, to store them as one float4 of P.
  const auto column = [&](int c) { return c / 4 * 4 * TX + 4 * tx + c % 4; };

  // How far the block and this warp have to go.
  const int64_t i_end = i0 + Br < Tq ? i0 + Br : Tq, warp_row = i0 + warp * Tile::WARP_ROWS;
  const int tiles = static_cast<int>(ceil_div(shape.visible_keys(i_end - 1), Bc));
  const int pieces =
      static_cast<int>(ceil_div(shape.visible_keys(warp_row + Tile::WARP_ROWS - 1), PIECE));
  const int not_masked = static_cast<int>(shape.visible_keys(warp_row) / Bc);  // tiles

  // A tile's pieces take turns in the two buffers: first K's, then V's. K's rows are stored so that
  // lanes side by side find theirs side by side: key column(c) in row c·TX + tx.
  const auto in_order = [](int r) { return r; };
  const auto by_lane = [](int r) { return (r / (4 * TX) * 4 + r % 4) * TX + r / 4 % TX; };
  const auto buffer = [&](int piece) { return buffers + piece % 2 * Tile::BUFFER; };
  const auto fetch_k = [&](int j, int piece) {
    fetch<Bc, WIDTH, VEC, Tile::THREADS>(buffer(piece), K_STRIDE, k, int64_t{j} * Bc, Tk,
                                         piece * WIDTH, HS, by_lane);
    __pipeline_commit();
  };
  const auto fetch_v = [&](int j, int piece) {
    fetch<PIECE, D, VEC, Tile::THREADS>(buffer(PIECES + piece), D, v,
                                        int64_t{j} * Bc + piece * PIECE, Tk, 0, HS, in_order);
    __pipeline_commit();
  };

  fetch<Br, D, VEC, Tile::THREADS>(Q_i, Q_STRIDE, q, i0, Tq, 0, HS, in_order);
  if (tiles > 0) fetch_k(0, 0);
  float m_i[ROWS], l_i[ROWS], O_i[ROWS][4 * QUADS] = {};
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    m_i[r] = -INFINITY;
    l_i[r] = 0.0f;  // of this thread's columns alone, until the end
  }

  for (int j = 0; j < tiles; ++j) {
    // S = Q_i·K_jᵀ, a piece of the columns of Q and K after the other.
    const bool live = j * PIECES < pieces;  // else this warp's rows see no key of the tile
    float S[ROWS][COLS] = {};
#pragma unroll 1
    for (int piece = 0; piece < PIECES; ++piece) {
      finish_fetch();
      if (piece + 1 < PIECES)
        fetch_k(j, piece + 1);
      else
        fetch_v(j, 0);
      if (!live) continue;
      const float* const K = buffer(piece) + tx * K_STRIDE;
      const float* const Q = Q_i + row0 * Q_STRIDE + piece * WIDTH;
      float4 next[COLS];  // K is read one round ahead, into registers
#pragma unroll
      for (int c = 0; c < COLS; ++c) next[c] = load4(&K[c * TX * K_STRIDE]);
#pragma unroll Tile::UNROLL
      for (int d = 0; d < WIDTH; d += 4) {
        float right[4][COLS];
#pragma unroll
        for (int c = 0; c < COLS; ++c) {
          right[0][c] = next[c].x;
          right[1][c] = next[c].y;
          right[2][c] = next[c].z;
          right[3][c] = next[c].w;
          next[c] = load4(&K[c * TX * K_STRIDE + (d + 4) % WIDTH]);
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r) multiply_add(S[r], load4(&Q[TY * r * Q_STRIDE + d]), right);
      }
    }

    // The online softmax, with 2^x for exp(x): the GPU has an instruction for that.
    if (live && j >= not_masked)
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const int64_t visible = shape.visible_keys(i0 + row0 + TY * r) - int64_t{j} * Bc;
#pragma unroll
        for (int c = 0; c < COLS; ++c)
          if (column(c) >= visible) S[r][c] = -INFINITY;
      }
    if (live) {
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        float m_new = m_i[r];
#pragma unroll
        for (int c = 0; c < COLS; ++c) m_new = fmaxf(m_new, S[r][c]);
        for (int offset = TX; offset > 1; offset /= 2)  // the bits of the lane that tx has
          m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffu, m_new, offset));
        // exp((s − m)/√HS) = 2^(scale·s − scale·m); nothing seen yet: 0 for m, as in exp_minus.
        const float minus_m = m_new == -INFINITY ? 0.0f : -scale * m_new;
        const float rescale = exp2f(scale * m_i[r] + minus_m);
        m_i[r] = m_new;
        l_i[r] *= rescale;
#pragma unroll
        for (int c = 0; c < COLS; ++c) {
          S[r][c] = exp2f(scale * S[r][c] + minus_m);
          l_i[r] += S[r][c];
        }
#pragma unroll
        for (int c = 0; c < COLS; c += 4)
          *reinterpret_cast<float4*>(&P_ij[(row0 + TY * r) * P_STRIDE + column(c)]) =
              make_float4(S[r][c], S[r][c + 1], S[r][c + 2], S[r][c + 3]);
#pragma unroll
        for (int d = 0; d < 4 * QUADS; ++d) O_i[r][d] *= rescale;
      }
    }

    // O_i = O_i + P_ij·V_j, a piece of the keys after the other. The barrier in finish_fetch()
    // stands between writing P and reading it, too.
#pragma unroll 1
    for (int piece = 0; piece < PIECES; ++piece) {
      finish_fetch();
      if (piece + 1 < PIECES)
        fetch_v(j, piece + 1);
      else if (j + 1 < tiles)
        fetch_k(j + 1, 0);
      if (j * PIECES + piece >= pieces) continue;
      const float* const V = buffer(PIECES + piece) + 4 * tx;
      const float* const P = P_ij + row0 * P_STRIDE + piece * PIECE;
      float4 next[4][QUADS];
#pragma unroll
      for (int t = 0; t < 4; ++t)
#pragma unroll
        for (int g = 0; g < QUADS; ++g) next[t][g] = load4(&V[t * D + 4 * TX * g]);
#pragma unroll Tile::UNROLL
      for (int c = 0; c < PIECE; c += 4) {
        float right[4][4 * QUADS];
#pragma unroll
        for (int t = 0; t < 4; ++t)
#pragma unroll
          for (int g = 0; g < QUADS; ++g) {
            right[t][4 * g + 0] = next[t][g].x;
            right[t][4 * g + 1] = next[t][g].y;
            right[t][4 * g + 2] = next[t][g].z;
            right[t][4 * g + 3] = next[t][g].w;
            next[t][g] = load4(&V[((c + 4) % PIECE + t) * D + 4 * TX * g]);
          }
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
          multiply_add(O_i[r], load4(&P[TY * r * P_STRIDE + c]), right);
      }
    }
  }

#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    for (int offset = TX; offset > 1; offset /= 2)
      l_i[r] += __shfl_xor_sync(0xffffffffu, l_i[r], offset);
    const int64_t i = i0 + row0 + TY * r;
    if (i >= Tq) continue;
    const float inverse = l_i[r] == 0.0f ? 0.0f : 1 / l_i[r];  // 0: the query sees no key
#pragma unroll
    for (int d = 0; d < 4 * QUADS; d += VEC) {
      const int col = 4 * (tx + TX * (d / 4)) + d % 4;
      if (col >= HS) continue;
      float* const to = &out[(head * Tq + i) * HS + col];
      if constexpr (VEC == 4)
        *reinterpret_cast<float4*>(to) =
            make_float4(O_i[r][d] * inverse, O_i[r][d + 1] * inverse, O_i[r][d + 2] * inverse,
                        O_i[r][d + 3] * inverse);
      else
        *to = O_i[r][d] * inverse;
    }
    if (tx == 0) lse[head * Tq + i] = LN_2 * (scale * m_i[r] + log2f(l_i[r]));
  }
}

template <int D, int VEC>
static void launch(const Attention& shape, const float* q, const float* k, const float* v,
                   float* out, float* lse) {
  using Tile = Division<D>;
  const int64_t blocks = shape.B * shape.NH * ceil_div(shape.Tq, Br);
  const auto kernel = pipelined_kernel<D, VEC>;
  allow_shared_memory(kernel, Tile::bytes(D), "head size", shape.HS);
  kernel<<<grid_blocks(blocks), Tile::THREADS, Tile::bytes(D)>>>(shape, LOG2_E * score_scale(shape),
                                                                 q, k, v, out, lse);
  CUDA_CHECK_LAUNCH();
}

/// 16 bytes can be copied at a time if each row of each tensor begins at a multiple of 16 bytes:
/// if the tensors do, and HS is a multiple of 4. Else 4 bytes at a time.
template <int D>
static void launch(const Attention& shape, const float* q, const float* k, const float* v,
                   float* out, float* lse) {
  bool aligned = shape.HS % 4 == 0;
  for (const float* tensor : {q, k, v, static_cast<const float*>(out)})
    aligned = aligned && reinterpret_cast<std::uintptr_t>(tensor) % sizeof(float4) == 0;
  if (aligned)
    launch<D, 4>(shape, q, k, v, out, lse);
  else
    launch<D, 1>(shape, q, k, v, out, lse);
}

void pipelined(const Attention& shape, const float* q, const float* k, const float* v, float* out,
               float* lse, float*) {
  require_valid(shape);
  if (shape.rows() * shape.HS == 0) return;
  if (shape.HS <= 32) return launch<32>(shape, q, k, v, out, lse);
  if (shape.HS <= 64) return launch<64>(shape, q, k, v, out, lse);
  if (shape.HS <= 128) return launch<128>(shape, q, k, v, out, lse);
  // As in step 4: first what the device refuses, then what the registers do.
  allow_shared_memory(pipelined_kernel<128, 1>, Division<128>::bytes(shape.HS), "head size",
                      shape.HS);
  throw Error("head size " + std::to_string(shape.HS) +
              " is too large for pipelined, which keeps O in registers and takes at most 128; " +
              "take --kernel q_outer.");
}

}  // namespace tutorial::flash
