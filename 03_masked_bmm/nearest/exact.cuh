// What proves an answer: norms, and how far rounding can move what the search compares.
#pragma once

#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {

inline constexpr int WARP = 32, WARPS = 8;
// Norms below these are ordinary. A point that is not lies further than 2^119 (squared) from every
// query that is, and all that float32 has to compute between ordinary ones is below 2^121.
inline constexpr double ORDINARY_POINT = 0x1p120, ORDINARY_QUERY = 0x1p116, FAR = 0x1p119;

/// The sum of x[d]², by a warp; in all lanes.
__device__ inline double norm_of(const float* x, int64_t D) {
  double sum = 0;
  for (int64_t d = threadIdx.x % WARP; d < D; d += WARP) sum += double{x[d]} * x[d];
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  return sum;
}

/// How far float32's |b|² - 2·a·b can be from what decides, for points of norm <= largest. The sum
/// of D products is off by gamma(D)·Σ|a||b| <= gamma(D)·|a||b| at most (Cauchy); |b|² was rounded
/// once, and so is the result. Twice u·2^-125 a rounding where numbers are too small for 24 bits;
/// so may `largest` be. What decides is the distance in double, which has D + 2 roundings of at
/// most (|a| + |b|)²; so has |a|², and two sums follow. That counts where a query is far from all.
__device__ inline double rounding_of(double norm, double largest, int64_t D) {
  const double n_u = (D + 4) * 0x1p-24;
  if (!(n_u < 0.5)) return INFINITY;
  const double gamma = n_u / (1 - n_u), a = sqrt(norm), b = sqrt(largest + 0x1p-149);
  return 2 * gamma * a * b + 4 * 0x1p-24 * largest + (D + 4) * 0x1p-147 +
         (D + 4) * 0x1p-52 * (a + b) * (a + b);
}

}  // namespace tutorial::masked_bmm::nearest
