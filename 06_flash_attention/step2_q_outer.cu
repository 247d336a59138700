// Step 2 = step 1 with the loops exchanged: a block keeps one tile of queries and walks over the
// keys, so O, m and l stay on the chip, O is divided by l only once, and every tile of queries is a
// block of its own. Algorithm 1 of FlashAttention-2 (Dao, 2023).
//
// FLOP            a head: 4·Tq·Tk·HS (half if causal)
// global memory   a head: reads Q and writes O once; reads K and V once for each of the ⌈Tq/Br⌉
//                 tiles of queries, 8·Tk·HS·⌈Tq/Br⌉ bytes (half if causal), which L2 can serve: all
//                 blocks of a head read the same
// asked for       loads 4·B·NH·HS·(Tq + 2·Tk·⌈Tq/32⌉) bytes, about half of Tk's part if causal,
//                 stores 4·B·NH·Tq·(HS + 1) bytes
// shared memory   four tiles of 32 × HS floats, and 4 KB for P: 37,376 bytes for HS = 64
// block           256 threads for 32 queries of a head
// H200            1.93 ms for B 8, NH 12, T 1024, HS 64 causal, 44 % of 05's row_in_registers
#include "06_flash_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "launch_checks.hpp"
#include "tiles.cuh"

namespace tutorial::flash_attention {
namespace {

constexpr int Br = 32, Bc = 32;  // queries and keys in a tile; each lane has one key
constexpr int WARPS = 8, THREADS = WARPS * WARP;  // warp w has the queries w, w + 8, … of the tile,
constexpr int PER_WARP = Br / WARPS;              // and their m_i and l_i, the same in every lane

__global__ void __launch_bounds__(THREADS)
    q_outer_kernel(Attention shape, float scale, const float* __restrict__ q,
                   const float* __restrict__ k, const float* __restrict__ v,
                   float* __restrict__ out, float* __restrict__ lse) {
  const int HS = static_cast<int>(shape.HS), stride = static_cast<int>(odd_stride(HS));
  const int64_t Tq = shape.Tq, Tk = shape.Tk, tiles = ceil_div(Tq, Br);
  extern __shared__ float shared[];
  float* const Q_i = shared;              // (Br, HS)
  float* const K_j = Q_i + Br * stride;   // (Bc, HS)
  float* const V_j = K_j + Bc * stride;   // (Bc, HS)
  float* const O_i = V_j + Bc * stride;   // (Br, HS), times l_i until the end
  float* const P_ij = O_i + Br * stride;  // (Br, Bc)

  const int64_t head = blockIdx.x / tiles, kv_head = head / shape.group();
  const int64_t i0 = blockIdx.x % tiles * Br;  // line 3
  q += head * Tq * HS;
  k += kv_head * Tk * HS;
  v += kv_head * Tk * HS;
  out += head * Tq * HS;
  lse += head * Tq;
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;

  load_tile<WARPS>(Q_i, Br, HS, stride, q, i0, Tq, HS);  // line 4
  float m_i[PER_WARP], l_i[PER_WARP];                    // line 5: O = 0, l = 0, m = −∞
#pragma unroll
  for (int t = 0; t < PER_WARP; ++t) {
    m_i[t] = -INFINITY;
    l_i[t] = 0.0f;
    for (int d = lane; d < HS; d += WARP) O_i[(warp + WARPS * t) * stride + d] = 0.0f;
  }

  // Line 6, less the tiles that lie past the last key that any of these queries sees.
  const int64_t last = (i0 + Br < Tq ? i0 + Br : Tq) - 1, keys = shape.visible_keys(last);
  for (int64_t j0 = 0; j0 < keys; j0 += Bc) {
    __syncthreads();  // all warps are done with the last K_j and V_j
    load_tile<WARPS>(K_j, Bc, HS, stride, k, j0, Tk, HS);  // line 7
    load_tile<WARPS>(V_j, Bc, HS, stride, v, j0, Tk, HS);
    __syncthreads();

#pragma unroll
    for (int t = 0; t < PER_WARP; ++t) {
      const int r = warp + WARPS * t;
      if (i0 + r >= Tq) break;

      // Line 8: S_ij = Q_i·K_jᵀ / √HS, one element a lane.
      float s = -INFINITY;
      if (j0 + lane < shape.visible_keys(i0 + r)) {
        s = 0.0f;
        for (int d = 0; d < HS; ++d) s += Q_i[r * stride + d] * K_j[lane * stride + d];
        s *= scale;
      }

      // Line 9: the new maximum, and what the old one takes away from all that was summed.
      const float m_new = fmaxf(m_i[t], warp_max(s));
      const float p = exp_minus(s, m_new), rescale = exp_minus(m_i[t], m_new);
      l_i[t] = rescale * l_i[t] + warp_sum(p);
      m_i[t] = m_new;

      // Line 10: O_i = e^(m_i − m_new)·O_i + P_ij·V_j
      P_ij[r * Bc + lane] = p;
      __syncwarp();
      for (int d = lane; d < HS; d += WARP) {
        float o = rescale * O_i[r * stride + d];
        for (int c = 0; c < Bc; ++c) o += P_ij[r * Bc + c] * V_j[c * stride + d];
        O_i[r * stride + d] = o;
      }
    }
  }

#pragma unroll
  for (int t = 0; t < PER_WARP; ++t) {  // lines 12 to 15: O / l, and L = m + log l
    const int r = warp + WARPS * t;
    if (i0 + r >= Tq) break;
    const float inverse = l_i[t] == 0.0f ? 0.0f : 1 / l_i[t];  // 0: the query sees no key
    for (int d = lane; d < HS; d += WARP) out[(i0 + r) * HS + d] = O_i[r * stride + d] * inverse;
    if (lane == 0) lse[i0 + r] = m_i[t] + logf(l_i[t]);
  }
}

}  // namespace

void q_outer_on(const Attention& shape, const float* q, const float* k, const float* v, float* out,
                float* lse, cudaStream_t stream) {
  require_valid(shape);
  const int64_t floats = (2 * Br + 2 * Bc) * odd_stride(shape.HS) + Br * Bc;
  allow_shared_memory(q_outer_kernel, floats * int64_t{sizeof(float)}, "head size", shape.HS);
  if (shape.rows() * shape.HS == 0) return;
  q_outer_kernel<<<query_blocks(shape, Br), THREADS, floats * sizeof(float), stream>>>(
      shape, score_scale(shape), q, k, v, out, lse);
  CUDA_CHECK_LAUNCH();
}

void q_outer(const Attention& shape, const float* q, const float* k, const float* v, float* out,
             float* lse, float*) {
  q_outer_on(shape, q, k, v, out, lse, nullptr);  // the default stream
}

}  // namespace tutorial::flash_attention
