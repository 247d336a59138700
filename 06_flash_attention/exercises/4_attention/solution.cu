#include <cmath>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int Br = 32, Bc = 32;  // queries and keys of a tile; a block has a tile of queries
constexpr int WARPS = 8, THREADS = WARPS * WARP, ROWS = Br / WARPS;  // queries of a warp

__global__ void __launch_bounds__(THREADS)
    attention_kernel(const float* q, const float* k, const float* v, float* out, int64_t T,
                     float scale) {
  // ---- your code, a whole kernel of about 45 lines: tiles, scores, online softmax, sums, division
  __shared__ float Q_i[Br][HS], K_j[Bc][HS + 1], V_j[Bc][HS], P_ij[Br][Bc];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int64_t i0 = int64_t{blockIdx.x} * Br, head = blockIdx.y * T * HS;
  q += head;
  k += head;
  v += head;
  out += head;

  // Warp w has the queries w, w + 8, …; a lane has column `lane` of their outputs.
  float m[ROWS], l[ROWS], o[ROWS];
  for (int t = 0; t < ROWS; ++t) {
    const int r = warp + WARPS * t;
    Q_i[r][lane] = i0 + r < T ? q[(i0 + r) * HS + lane] : 0;
    m[t] = -INFINITY;
    l[t] = o[t] = 0;
  }
  const int64_t keys = i0 + Br < T ? i0 + Br : T;  // the last query sees no more
  for (int64_t j0 = 0; j0 < keys; j0 += Bc) {
    __syncthreads();  // all are done with the last tiles
    for (int r = warp; r < Bc; r += WARPS) {
      K_j[r][lane] = j0 + r < T ? k[(j0 + r) * HS + lane] : 0;
      V_j[r][lane] = j0 + r < T ? v[(j0 + r) * HS + lane] : 0;
    }
    __syncthreads();
    for (int t = 0; t < ROWS; ++t) {
      const int r = warp + WARPS * t;
      float s = 0;
      for (int d = 0; d < HS; ++d) s += Q_i[r][d] * K_j[lane][d];
      s = j0 + lane <= i0 + r ? s * scale : -INFINITY;

      const float m_new = fmaxf(m[t], warp_max(s));  // never -∞: query i sees key 0
      const float p = expf(s - m_new), rescale = expf(m[t] - m_new);
      m[t] = m_new;
      l[t] = l[t] * rescale + warp_sum(p);
      P_ij[r][lane] = p;
      __syncwarp();
      o[t] *= rescale;
      for (int c = 0; c < Bc; ++c) o[t] += P_ij[r][c] * V_j[c][lane];
    }
  }
  for (int t = 0; t < ROWS; ++t) {
    const int64_t i = i0 + warp + WARPS * t;
    if (i < T) out[i * HS + lane] = o[t] / l[t];
  }
  // ----
}

}  // namespace

void attention(const float* q, const float* k, const float* v, float* out, int64_t heads,
               int64_t T) {
  if (heads == 0 || T == 0) return;
  const float scale = 1 / std::sqrt(static_cast<float>(HS));
  attention_kernel<<<dim3(ceil_div(T, Br), static_cast<unsigned>(heads)), THREADS>>>(q, k, v, out,
                                                                                     T, scale);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
