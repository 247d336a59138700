#include "06_flash_attention/tiles.cuh"
#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int Br = 64, Bc = 32;  // queries of a block, a thread each; keys of a tile
constexpr int STRIDE = flash_attention::odd_stride(HS);

__global__ void largest_scores_kernel(const float* q, const float* k, float* m, int64_t Tq,
                                      int64_t Tk) {
  __shared__ float K_j[Bc * STRIDE];
  const int64_t i0 = int64_t{blockIdx.x} * Br, i = i0 + threadIdx.x;  // block's first query, mine
  float q_i[HS], m_i = -INFINITY;
  for (int d = 0; d < HS; ++d) q_i[d] = i < Tq ? q[i * HS + d] : 0.0f;

  int64_t tiles = 0;
  // ---- your code, about 3 lines: how many tiles of keys do this block's queries need?
  const int64_t last = (i0 + Br < Tq ? i0 + Br : Tq) - 1;  // the query that sees most
  const int64_t keys = last + (Tk - Tq) + 1;               // never more than Tk
  if (keys > 0) tiles = ceil_div(keys, Bc);
  // ----
  for (int64_t j0 = 0; j0 < tiles * Bc; j0 += Bc) {
    __syncthreads();  // all are done with the last tile
    flash_attention::load_tile<Br / WARP>(K_j, Bc, HS, STRIDE, k, j0, Tk, HS);
    __syncthreads();
    for (int c = 0; c < Bc && j0 + c <= i + (Tk - Tq); ++c) {  // the keys that I see
      float s = 0;
      for (int d = 0; d < HS; ++d) s += q_i[d] * K_j[c * STRIDE + d];
      m_i = fmaxf(m_i, s);
    }
  }
  if (i < Tq) m[i] = m_i;
}

}  // namespace

void largest_scores(const float* q, const float* k, float* m, int64_t Tq, int64_t Tk) {
  if (Tq == 0) return;
  largest_scores_kernel<<<ceil_div(Tq, Br), Br>>>(q, k, m, Tq, Tk);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
