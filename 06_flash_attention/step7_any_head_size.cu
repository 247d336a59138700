// Step 7 = step 6 for head sizes up to 128: the kernel is a template, and a thread has 8 columns of
// O whatever the head size. So more lanes share a row of a larger head, and a block has fewer rows.
//
// FLOP            as step 3, with HS = 32, 64 or 128 for smaller ones, too
// global memory   as step 2, but with tiles of Br = 64 queries; 128 if HS ≤ 32, 32 if HS > 64
// asked for       loads 4·B·NH·HS·(Tq + 2·Tk·⌈Tq/Br⌉) bytes, about half of Tk's part if causal,
//                 stores 4·B·NH·Tq·(HS + 1) bytes
// shared memory   as step 6 if 32 < HS ≤ 64; 56,832 bytes for HS = 128, more than a block has
//                 without asking for it
// block           128 threads for Br queries of a head
// H200            0.55 ms for B 8, NH 12, T 1024, HS 64 causal, 155 % of 05's row_in_registers
#include "06_flash_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"
#include "launch_checks.hpp"
#include "tiles.cuh"

namespace tutorial::flash_attention {
namespace {

constexpr int WARPS = 4, THREADS = WARPS * WARP;
constexpr int ROWS = 4, O_COLS = 8;  // of a thread's patch of O
constexpr int Bc = 32;               // keys in a tile

/// What follows from D, the head size, padded with zeros to 32, 64 or 128.
template <int HEAD_SIZE>
struct SquareTile {
  static constexpr int D = HEAD_SIZE;
  static constexpr int TX = D / O_COLS, TY = THREADS / TX;  // TX lanes share rows ty, ty + TY, …
  static constexpr int COLS = Bc / TX;                      // of a thread's patch of S
  static constexpr int Br = ROWS * TY;                      // queries in a tile
  static constexpr int P_STRIDE = Bc + TX;  // so that what a warp stores goes to 32 different banks
  static constexpr int64_t BYTES =
      int64_t{sizeof(float)} * ((Br + 2 * Bc) * padded_stride(D) + Br * P_STRIDE);
};

template <class Tile>
__global__ void __launch_bounds__(THREADS)
    any_head_size_kernel(Attention shape, float scale, const float* __restrict__ q,
                         const float* __restrict__ k, const float* __restrict__ v,
                         float* __restrict__ out, float* __restrict__ lse) {
  constexpr int D = Tile::D, TX = Tile::TX, TY = Tile::TY, COLS = Tile::COLS, Br = Tile::Br,
                P_STRIDE = Tile::P_STRIDE;
  const int HS = static_cast<int>(shape.HS), stride = padded_stride(D);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, tiles = ceil_div(Tq, Br);
  extern __shared__ __align__(16) float shared[];
  float* const Q_i = shared;              // (Br, D)
  float* const K_j = Q_i + Br * stride;   // (Bc, D)
  float* const V_j = K_j + Bc * stride;   // (Bc, D)
  float* const P_ij = V_j + Bc * stride;  // (Br, Bc)

  const int64_t head = blockIdx.x / tiles, kv_head = head / shape.group();
  const int64_t i0 = blockIdx.x % tiles * Br;  // line 3
  q += head * Tq * HS;
  k += kv_head * Tk * HS;
  v += kv_head * Tk * HS;
  out += head * Tq * HS;
  lse += head * Tq;
  const int tx = threadIdx.x % TX, ty = threadIdx.x / TX;

  load_tile<WARPS>(Q_i, Br, D, stride, q, i0, Tq, HS);  // line 4
  float m_i[ROWS], l_i[ROWS];                           // line 5: O = 0, l = 0, m = −∞
  float O_i[ROWS][O_COLS] = {};                         // times l_i until the end
#pragma unroll
  for (int t = 0; t < ROWS; ++t) {
    m_i[t] = -INFINITY;
    l_i[t] = 0.0f;
  }

  // Line 6, less the tiles that lie past the last key that any of these queries sees.
  const int64_t last = (i0 + Br < Tq ? i0 + Br : Tq) - 1, keys = shape.visible_keys(last);
  for (int64_t j0 = 0; j0 < keys; j0 += Bc) {
    __syncthreads();  // all warps are done with the last K_j and V_j
    load_tile<WARPS>(K_j, Bc, D, stride, k, j0, Tk, HS);  // line 7
    load_tile<WARPS>(V_j, Bc, D, stride, v, j0, Tk, HS);
    __syncthreads();

    // Line 8: S_ij = Q_i·K_jᵀ, the keys tx, tx + TX, … of the thread's rows.
    float s[ROWS][COLS] = {};
#pragma unroll 4
    for (int d = 0; d < D; d += 4) {
      float4 k4[COLS];
#pragma unroll
      for (int c = 0; c < COLS; ++c) k4[c] = load4(&K_j[(tx + TX * c) * stride + d]);
#pragma unroll
      for (int t = 0; t < ROWS; ++t) {
        const float4 q4 = load4(&Q_i[(ty + TY * t) * stride + d]);
#pragma unroll
        for (int c = 0; c < COLS; ++c) add_dot4(s[t][c], q4, k4[c]);
      }
    }

#pragma unroll
    for (int t = 0; t < ROWS; ++t) {
      const int r = ty + TY * t;

      // Line 9: the new maximum, and what the old one takes away from all that was summed.
      float m_new = m_i[t], l_ij = 0.0f;
#pragma unroll
      for (int c = 0; c < COLS; ++c) {
        const bool seen = j0 + tx + TX * c < shape.visible_keys(i0 + r);
        s[t][c] = seen ? s[t][c] * scale : -INFINITY;
        m_new = fmaxf(m_new, s[t][c]);
      }
      m_new = row_max<TX>(m_new);
      const float rescale = exp_minus(m_i[t], m_new);
#pragma unroll
      for (int c = 0; c < COLS; ++c) {
        const float p = exp_minus(s[t][c], m_new);
        P_ij[r * P_STRIDE + tx + TX * c] = p;
        l_ij += p;
      }
      l_i[t] = rescale * l_i[t] + row_sum<TX>(l_ij);
      m_i[t] = m_new;
#pragma unroll
      for (int n = 0; n < O_COLS; ++n) O_i[t][n] *= rescale;
    }

    // Line 10: O_i = e^(m_i − m_new)·O_i + P_ij·V_j, of columns that are neighbours in fours.
    __syncwarp();  // a warp's rows of P_ij are its own
#pragma unroll 2
    for (int c = 0; c < Bc; c += 4) {
      float p[ROWS][4];
#pragma unroll
      for (int t = 0; t < ROWS; ++t) load4(p[t], &P_ij[(ty + TY * t) * P_STRIDE + c]);
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        float v_c[O_COLS];
#pragma unroll
        for (int n = 0; n < O_COLS; n += 4)
          load4(&v_c[n], &V_j[(c + x) * stride + quad_column<TX>(tx, n)]);
#pragma unroll
        for (int t = 0; t < ROWS; ++t)
#pragma unroll
          for (int n = 0; n < O_COLS; ++n) O_i[t][n] += p[t][x] * v_c[n];
      }
    }
  }

#pragma unroll
  for (int t = 0; t < ROWS; ++t) {  // lines 12 to 15: O / l, and L = m + log l
    const int r = ty + TY * t;
    if (i0 + r >= Tq) break;
    const float inverse = l_i[t] == 0.0f ? 0.0f : 1 / l_i[t];  // 0: the query sees no key
#pragma unroll
    for (int n = 0; n < O_COLS; ++n) {
      const int column = quad_column<TX>(tx, n);
      if (column < HS) out[(i0 + r) * HS + column] = O_i[t][n] * inverse;
    }
    if (tx == 0) lse[i0 + r] = m_i[t] + logf(l_i[t]);
  }
}

}  // namespace

void any_head_size(const Attention& shape, const float* q, const float* k, const float* v,
                   float* out, float* lse, float*) {
  require_valid(shape);
  with_padded_head_size(shape.HS, "any_head_size", [&]<int D>() {
    using Tile = SquareTile<D>;
    const auto kernel = any_head_size_kernel<Tile>;
    allow_shared_memory(kernel, Tile::BYTES, "head size", shape.HS);
    if (shape.rows() * shape.HS == 0) return;
    kernel<<<query_blocks(shape, Tile::Br), THREADS, Tile::BYTES>>>(shape, score_scale(shape), q, k,
                                                                    v, out, lse);
    CUDA_CHECK_LAUNCH();
  });
}

}  // namespace tutorial::flash_attention
