#include <cmath>

#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

constexpr int WARPS = 4;               // of a block
constexpr int TOP = 14, LEAST = -126;  // exponents: of a scaled row's largest number, of a scale

/// A warp has a row.
__global__ void scale_rows_kernel(const float* A, __half* narrow, float* scale, int64_t m,
                                  int64_t n) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int64_t row = int64_t{blockIdx.x} * WARPS + warp;
  if (row >= m) return;
  const float* in = A + row * n;
  __half* out = narrow + row * n;
  // ---- your code, about 7 lines: the row's largest magnitude, its exponent; out[0 …], scale[row]
  float most = 0;
  for (int64_t k = lane; k < n; k += WARP) most = fmaxf(most, fabsf(in[k]));
  most = warp_max(most);
  int exponent = 0;
  if (most > 0) exponent = ilogbf(most) - TOP < LEAST ? LEAST : ilogbf(most) - TOP;
  for (int64_t k = lane; k < n; k += WARP) out[k] = __float2half(ldexpf(in[k], -exponent));
  if (lane == 0) scale[row] = ldexpf(1, exponent);
  // ----
}

}  // namespace

void scale_rows(const float* A, __half* narrow, float* scale, int64_t m, int64_t n) {
  if (m == 0) return;
  scale_rows_kernel<<<ceil_div(m, WARPS), WARPS * WARP>>>(A, narrow, scale, m, n);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
