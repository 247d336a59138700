// Step 1 = chapter 5's attention in one kernel: tiles of K and V stay in turn while all queries
// pass by, and the online softmax keeps each row of O right for the keys seen so far. Algorithm 1
// of FlashAttention (Dao, Fu, Ermon, Rudra, Ré, 2022). Slow on purpose: one block a head, and O, m,
// l go to global memory and back for every tile of keys.
//
// FLOP            a head: 4·Tq·Tk·HS (half if causal)
// global memory   a head: reads K and V once; reads Q and O and writes O once for each of the
//                 ⌈Tk/Bc⌉ tiles of keys, 12·Tq·HS·⌈Tk/Bc⌉ bytes (half if causal)
// asked for       loads 8·B·NH·HS·(Tk + Tq·⌈Tk/32⌉) bytes,
//                 stores 4·B·NH·HS·(Tq + Tq·⌈Tk/32⌉) bytes; m and l more; if causal about half
// shared memory   three tiles of 32 × HS floats, and 4 KB for P: 29,056 bytes for HS = 64
// block           256 threads for a head
// H200            5.79 ms for B 8, NH 12, T 1024, HS 64 causal, 15 % of 05's row_in_registers
#include "06_flash_attention.hpp"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "launch_checks.hpp"
#include "tiles.cuh"

namespace tutorial::flash_attention {
namespace {

constexpr int Br = 32, Bc = 32;  // queries and keys in a tile; each lane has one key
constexpr int WARPS = 8, THREADS = WARPS * WARP;  // warp w has the queries w, w + 8, … of a tile

__global__ void __launch_bounds__(THREADS)
    kv_outer_kernel(Attention shape, float scale, const float* __restrict__ q,
                    const float* __restrict__ k, const float* __restrict__ v, float* O, float* m,
                    float* l) {
  const int HS = static_cast<int>(shape.HS), stride = static_cast<int>(odd_stride(HS));
  const int64_t Tq = shape.Tq, Tk = shape.Tk;
  extern __shared__ float shared[];
  float* const Q_i = shared;              // (Br, HS)
  float* const K_j = Q_i + Br * stride;   // (Bc, HS)
  float* const V_j = K_j + Bc * stride;   // (Bc, HS)
  float* const P_ij = V_j + Bc * stride;  // (Br, Bc)

  const int64_t head = blockIdx.x, kv_head = head / shape.group();
  q += head * Tq * HS;
  k += kv_head * Tk * HS;
  v += kv_head * Tk * HS;
  O += head * Tq * HS;
  m += head * Tq;
  l += head * Tq;
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;

  for (int64_t i = warp; i < Tq; i += WARPS) {  // line 2: O = 0, l = 0, m = −∞
    for (int d = lane; d < HS; d += WARP) O[i * HS + d] = 0.0f;
    if (lane == 0) {
      m[i] = -INFINITY;
      l[i] = 0.0f;
    }
  }

  for (int64_t j0 = 0; j0 < Tk; j0 += Bc) {  // line 5
    __syncthreads();                         // all warps are done with the last K_j and V_j
    load_tile<WARPS>(K_j, Bc, HS, stride, k, j0, Tk, HS);  // line 6
    load_tile<WARPS>(V_j, Bc, HS, stride, v, j0, Tk, HS);

    // Line 7, less the tiles of queries that see none of these keys.
    for (int64_t i0 = shape.first_query(j0) / Br * Br; i0 < Tq; i0 += Br) {
      __syncthreads();                                       // … and with the last Q_i
      load_tile<WARPS>(Q_i, Br, HS, stride, q, i0, Tq, HS);  // line 8
      __syncthreads();

      for (int r = warp; r < Br && i0 + r < Tq; r += WARPS) {
        const int64_t i = i0 + r;
        const float m_i = m[i], l_i = l[i];

        // Line 9: S_ij = Q_i·K_jᵀ / √HS, one element a lane.
        float s = -INFINITY;
        if (j0 + lane < shape.visible_keys(i)) {
          s = 0.0f;
          for (int d = 0; d < HS; ++d) s += Q_i[r * stride + d] * K_j[lane * stride + d];
          s *= scale;
        }

        // Lines 10 and 11: the maximum and the sum of this tile, and of all keys so far.
        const float m_ij = warp_max(s);
        const float p = exp_minus(s, m_ij);
        const float l_ij = warp_sum(p);
        const float m_new = fmaxf(m_i, m_ij);
        const float old_weight = exp_minus(m_i, m_new) * l_i;
        const float new_weight = exp_minus(m_ij, m_new);
        const float l_new = old_weight + new_weight * l_ij;

        // Line 12: O_i = (e^(m_i − m_new)·l_i·O_i + e^(m_ij − m_new)·P_ij·V_j) / l_new
        P_ij[r * Bc + lane] = p;
        __syncwarp();
        for (int d = lane; d < HS; d += WARP) {
          float pv = 0.0f;
          for (int c = 0; c < Bc; ++c) pv += P_ij[r * Bc + c] * V_j[c * stride + d];
          const float sum = old_weight * O[i * HS + d] + new_weight * pv;
          O[i * HS + d] = l_new == 0.0f ? 0.0f : sum / l_new;  // 0 while no key was visible
        }
        if (lane == 0) {  // line 13
          m[i] = m_new;
          l[i] = l_new;
        }
      }
    }
  }

  if (lane == 0)  // the log-sum-exp takes the place of m; a row is still its own warp's
    for (int64_t i = warp; i < Tq; i += WARPS) m[i] += logf(l[i]);
}

}  // namespace

void kv_outer(const Attention& shape, const float* q, const float* k, const float* v, float* out,
              float* lse, float* scratch) {
  require_valid(shape);
  const int64_t floats = (Br + 2 * Bc) * odd_stride(shape.HS) + Br * Bc;
  allow_shared_memory(kv_outer_kernel, floats * int64_t{sizeof(float)}, "head size", shape.HS);
  if (shape.rows() * shape.HS == 0) return;
  kv_outer_kernel<<<grid_blocks(shape.B * shape.NH), THREADS, floats * sizeof(float)>>>(
      shape, score_scale(shape), q, k, v, out, lse, scratch);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::flash_attention
