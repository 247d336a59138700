#include <cmath>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int Br = 64, Bc = 16;  // queries of a block, a thread each; keys of a tile

__global__ void weighted_values_kernel(const float* S, const float* V, float* O, int64_t Tq,
                                       int64_t Tk) {
  __shared__ float S_j[Br][Bc + 1], V_j[Bc][HS];
  const int tid = threadIdx.x;
  const int64_t i0 = int64_t{blockIdx.x} * Br, i = i0 + tid;  // the block's first query, and mine

  // Of the keys so far: the largest score, Σ exp(s - m), and Σ exp(s - m)·v.
  float m = -INFINITY, l = 0, o[HS] = {};
  for (int64_t j0 = 0; j0 < Tk; j0 += Bc) {
    __syncthreads();  // all are done with the last tiles
    for (int e = tid; e < Br * Bc; e += Br) {
      const int r = e / Bc, c = e % Bc;
      S_j[r][c] = i0 + r < Tq && j0 + c < Tk ? S[(i0 + r) * Tk + j0 + c] : -INFINITY;
    }
    for (int e = tid; e < Bc * HS; e += Br)
      V_j[e / HS][e % HS] = j0 + e / HS < Tk ? V[j0 * HS + e] : 0.0f;
    __syncthreads();
    const float* s = S_j[tid];  // my scores of this tile: s[0] … s[Bc - 1]
    // ---- your code, about 11 lines: the new maximum; l and o scaled to it; weights, added to both
    float m_new = m;
    for (int c = 0; c < Bc; ++c) m_new = fmaxf(m_new, s[c]);
    const float base = m_new == -INFINITY ? 0 : m_new;  // -∞ - (-∞) is NaN
    const float factor = expf(m - base);
    m = m_new;
    l *= factor;
    for (int d = 0; d < HS; ++d) o[d] *= factor;
    for (int c = 0; c < Bc; ++c) {
      const float p = expf(s[c] - base);
      l += p;
      for (int d = 0; d < HS; ++d) o[d] += p * V_j[c][d];
    }
    // ----
  }
  if (i >= Tq) return;
  for (int d = 0; d < HS; ++d) O[i * HS + d] = l == 0 ? 0 : o[d] / l;
}

}  // namespace

void weighted_values(const float* S, const float* V, float* O, int64_t Tq, int64_t Tk) {
  if (Tq == 0) return;
  weighted_values_kernel<<<ceil_div(Tq, Br), Br>>>(S, V, O, Tq, Tk);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
