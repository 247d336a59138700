#include "common/kernel/check.hpp"
#include "common/kernel/fp8.cuh"
#include "common/kernel/grid.hpp"
#include "common/kernel/reduce.cuh"
#include "common/kernel/tma.cuh"
#include "common/kernel/warpgroup.cuh"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

using e4m3 = __nv_fp8_e4m3;
constexpr int ROWS = 64, GROUP = 32;  // of A, and of B and C: what one wgmma takes

/// Rows of 32 bytes as wgmma reads them, with the swizzle of that width.
template <int R>
struct Tile {
  static constexpr Swizzle SWIZZLE = Swizzle::bytes_32;
  alignas(1024) e4m3 at[R * 32];
  __device__ e4m3& operator()(int row, int column) {
    return at[swizzled(32 * row + column, SWIZZLE)];
  }
  __device__ WgmmaOperand operand() const {
    return WgmmaOperand({.start = at, .stride = 8 * 32, .swizzle = SWIZZLE});
  }
};

/// R rows of a matrix of `rows` rows of 32, from row0 on; zeros past its end.
template <int R>
__device__ void load(Tile<R>& tile, const e4m3* matrix, int64_t row0, int64_t rows) {
  for (int e = threadIdx.x; e < R * K; e += WARPGROUP)
    tile(e / K, e % K) = row0 + e / K < rows ? matrix[row0 * K + e] : e4m3(0.0f);
}

__global__ void __launch_bounds__(WARPGROUP)
    two_products_kernel(const e4m3* A, const e4m3* B, const e4m3* C, float* out, int64_t m,
                        int64_t n) {
  __shared__ Tile<ROWS> As;
  __shared__ Tile<GROUP> Bs;
  __shared__ Tile<D> Ct;  // Cᵀ: (column of C, place of a row)
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4;
  const int64_t row0 = int64_t{blockIdx.x} * ROWS;
  load(As, A, row0, m);
  float y[D / 2] = {};
  for (int64_t n0 = 0; n0 < n; n0 += GROUP) {
    __syncthreads();  // the products before have read their tiles
    load(Bs, B, n0, n);
    for (int e = threadIdx.x; e < GROUP * D; e += WARPGROUP) {
      const int place = e / D, d = e % D;
      int row = place;
      // ---- your code, about 4 lines: the row of C, of 32, that belongs at this place
      const int half = place / 16;
      const int lane_of_quad = place % 16 / 4;
      const int i = place % 4;
      row = 16 * half + i / 2 * 8 + 2 * lane_of_quad + i % 2;
      // ----
      Ct(d, place) = n0 + row < n ? C[(n0 + row) * D + d] : e4m3(0.0f);
    }
    fence_async_proxy();
    __syncthreads();

    float S[GROUP / 2];
    wgmma_fence();
    wgmma_e4m3<GROUP>(S, As.operand(), Bs.operand(), false);
    wgmma_commit();
    wgmma_wait<0>(S);
    uint32_t p[4] = {};
    // ---- your code, about 4 lines: p from S, which has rows g and g + 8 of every 8 columns
    for (int r = 0; r < 2; ++r)
      for (int half = 0; half < 2; ++half) {
        const float* const s = S + 8 * half + 2 * r;
        p[2 * half + r] = pack_e4m3(s[0], s[1], s[4], s[5]);
      }
    // ----
    wgmma_fence();
    wgmma_e4m3<D>(y, p, Ct.operand());
    wgmma_commit();
    wgmma_wait<0>(y);
  }
  for (int i = 0; i < D / 2; ++i) {
    const int64_t row = row0 + 16 * warp + g + i / 2 % 2 * 8;
    if (row < m) out[row * D + i / 4 * 8 + 2 * t + i % 2] = y[i];
  }
}

}  // namespace

void two_products(const __nv_fp8_e4m3* A, const __nv_fp8_e4m3* B, const __nv_fp8_e4m3* C, float* y,
                  int64_t m, int64_t n) {
  if (m == 0) return;
  two_products_kernel<<<ceil_div(m, ROWS), WARPGROUP>>>(A, B, C, y, m, n);
  CUDA_CHECK_LAUNCH();
}

}  // namespace tutorial::exercise
