#include "common/kernel/check.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/mma.cuh"
#include "common/kernel/reduce.cuh"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

using bf16 = __nv_bfloat16;
constexpr int STRIDE = 24;  // rows of 48 bytes: any 8 of them lie in different banks

/// 16 rows of a matrix of `rows`, from row0 on; zeros past its end.
__device__ void load(bf16 (&tile)[16 * STRIDE], const bf16* matrix, int64_t row0, int64_t rows) {
  for (int e = threadIdx.x; e < 16 * K; e += WARP) {
    const bool inside = row0 + e / K < rows;
    tile[e / K * STRIDE + e % K] = inside ? matrix[row0 * K + e] : __float2bfloat16(0.0f);
  }
}

__global__ void two_products_kernel(const bf16* A, const bf16* B, const bf16* C, float* out,
                                    int64_t m, int64_t n) {
  alignas(16) __shared__ bf16 As[16 * STRIDE], Bs[16 * STRIDE], Cs[16 * STRIDE];
  const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
  const int64_t row0 = int64_t{blockIdx.x} * 16;
  load(As, A, row0, m);
  float y[2][4] = {};  // (16, 16): columns 0 to 7, and 8 to 15
  for (int64_t n0 = 0; n0 < n; n0 += 16) {
    __syncwarp();  // all lanes are done with the rows before
    load(Bs, B, n0, n);
    load(Cs, C, n0, n);
    __syncwarp();

    uint32_t a[4], b[4], p[4] = {}, c[4] = {};
    ldmatrix(a, &As[lane % 16 * STRIDE + lane / 16 * 8]);
    ldmatrix(b, &Bs[(lane / 16 * 8 + lane % 8) * STRIDE + lane / 8 % 2 * 8]);
    float S[2][4] = {};  // (16, 16): columns 0 to 7, and 8 to 15
    mma_m16n8k16<bf16>(S[0], a, b[0], b[1]);
    mma_m16n8k16<bf16>(S[1], a, b[2], b[3]);

    // ---- your code, about 5 lines: p from S, and c from the rows of C in Cs

    // ----
    mma_m16n8k16<bf16>(y[0], p, c[0], c[1]);
    mma_m16n8k16<bf16>(y[1], p, c[2], c[3]);
  }
  for (int x = 0; x < 2; ++x)
    for (int e = 0; e < 4; ++e) {
      const int64_t row = row0 + g + e / 2 * 8;
      if (row < m) out[row * K + x * 8 + 2 * t + e % 2] = y[x][e];
    }
}

}  // namespace

void two_products(const bf16* A, const bf16* B, const bf16* C, float* y, int64_t m, int64_t n) {
  if (m == 0) return;
  two_products_kernel<<<ceil_div(m, 16), WARP>>>(A, B, C, y, m, n);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
