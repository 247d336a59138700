// Step 4 = step 3 with four scores of a row a thread: so 8 lanes share a row, where 32 did, and
// find its maximum and sum among themselves. What is read of Q_i serves four products.
//
// FLOP            as step 3
// global memory   as step 2
// asked for       loads 4·B·NH·HS·(Tq + 2·Tk·⌈Tq/32⌉) bytes, about half of Tk's part if causal,
//                 stores 4·B·NH·Tq·(HS + 1) bytes
// shared memory   for S 5 reads of 16 bytes serve 32 FLOP. 39,936 bytes
// block           256 threads for 32 queries of a head
// H200            1.34 ms for B 8, NH 12, T 1024, HS 64 causal, 64 % of 05's row_in_registers
#include "06_flash_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/vector4.cuh"
#include "launch_checks.hpp"
#include "tiles.cuh"

namespace tutorial::flash_attention {
namespace {

constexpr int WARPS = 8, THREADS = WARPS * WARP;
constexpr int TX = 8, TY = THREADS / TX;       // TX lanes share the rows ty, ty + TY, …
constexpr int D = 64;                          // the head size, padded with zeros
constexpr int ROWS = 1, COLS = 4;              // of a thread's patch of S
constexpr int Br = ROWS * TY, Bc = COLS * TX;  // queries and keys in a tile
constexpr int P_STRIDE = Bc + TX;  // so that what a warp stores goes to 32 different banks
constexpr int64_t FLOATS = (2 * Br + 2 * Bc) * padded_stride(D) + Br * P_STRIDE;

__global__ void __launch_bounds__(THREADS)
    score_patch_kernel(Attention shape, float scale, const float* __restrict__ q,
                       const float* __restrict__ k, const float* __restrict__ v,
                       float* __restrict__ out, float* __restrict__ lse) {
  const int HS = static_cast<int>(shape.HS), stride = padded_stride(D);
  const int64_t Tq = shape.Tq, Tk = shape.Tk, tiles = ceil_div(Tq, Br);
  extern __shared__ __align__(16) float shared[];
  float* const Q_i = shared;              // (Br, D)
  float* const K_j = Q_i + Br * stride;   // (Bc, D)
  float* const V_j = K_j + Bc * stride;   // (Bc, D)
  float* const O_i = V_j + Bc * stride;   // (Br, D), times l_i until the end
  float* const P_ij = O_i + Br * stride;  // (Br, Bc)

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
#pragma unroll
  for (int t = 0; t < ROWS; ++t) {
    m_i[t] = -INFINITY;
    l_i[t] = 0.0f;
    for (int d = tx; d < D; d += TX) O_i[(ty + TY * t) * stride + d] = 0.0f;
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

      // Line 10: O_i = e^(m_i − m_new)·O_i + P_ij·V_j
      __syncwarp();
      for (int d = tx; d < D; d += TX) {
        float o = rescale * O_i[r * stride + d];
        for (int c = 0; c < Bc; ++c) o += P_ij[r * P_STRIDE + c] * V_j[c * stride + d];
        O_i[r * stride + d] = o;
      }
    }
  }

#pragma unroll
  for (int t = 0; t < ROWS; ++t) {  // lines 12 to 15: O / l, and L = m + log l
    const int r = ty + TY * t;
    if (i0 + r >= Tq) break;
    const float inverse = l_i[t] == 0.0f ? 0.0f : 1 / l_i[t];  // 0: the query sees no key
    for (int d = tx; d < HS; d += TX) out[(i0 + r) * HS + d] = O_i[r * stride + d] * inverse;
    if (tx == 0) lse[i0 + r] = m_i[t] + logf(l_i[t]);
  }
}

}  // namespace

void score_patch(const Attention& shape, const float* q, const float* k, const float* v, float* out,
                 float* lse, float*) {
  require_valid(shape);
  require_head_size(shape.HS, "score_patch", D);
  if (shape.rows() * shape.HS == 0) return;
  score_patch_kernel<<<query_blocks(shape, Br), THREADS, FLOATS * sizeof(float)>>>(
      shape, score_scale(shape), q, k, v, out, lse);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::flash_attention
