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

/// A sum of n terms that lose u·Σ|a||b| each at most: gamma(n), as a part of Σ|a||b| <= |a||b|
/// (Cauchy).
__device__ inline double gamma_of(double n) {
  const double n_u = n * 0x1p-24;
  return n_u < 0.5 ? n_u / (1 - n_u) : INFINITY;
}

/// The longest row, of that norm: as float32 a norm may have been rounded to 0.
__device__ inline double longest(float largest_norm) {
  return sqrt(double{largest_norm} + 0x1p-149);
}

/// How far what a step compares, |b|² - 2·a·b for |b| <= b, can be from what decides, if the
/// product is off by `of_product`. |b|² was rounded once, and so is the result; twice u·2^-125 a
/// rounding where numbers are too small for 24 bits. What decides is the distance in double, which
/// has D + 2 roundings of at most (|a| + |b|)²; so has |a|², and two sums follow. That counts where
/// a query is far from all points.
__device__ inline double with_other_roundings(double of_product, double a, double b, int64_t D) {
  return 2 * of_product + 4 * 0x1p-24 * b * b + (D + 4) * 0x1p-147 +
         (D + 4) * 0x1p-52 * (a + b) * (a + b);
}

/// The same for products in float32, of a query with this norm.
__device__ inline double rounding_of(double norm, float points, int64_t D) {
  const double a = sqrt(norm), b = longest(points);
  return with_other_roundings(gamma_of(D + 4) * a * b, a, b, D);
}

/// The power of two by which the numbers of rows of norm <= largest come below 2^15: fp16 has them.
__device__ inline int scaling_of(float largest) {
  int exponent;
  frexpf(largest, &exponent);  // largest < 2^exponent, and |x[d]| < 2^⌈exponent/2⌉
  return min(15 - ((exponent + 1) >> 1), 63);
}

/// And for products of a and b rounded to fp16, on tensor cores. A number x is off by 2^-11·|x| at
/// most, or by 2^-25, half of the smallest fp16 number, as it is when scaled. The sums of tensor
/// cores lose 3·D + 4 times u, not D times (02_tiled_matmul/tensor_cores/reference.cpp).
__device__ inline double rounding_of_halves(double norm, float points, float queries, int64_t D) {
  const double a = sqrt(norm), b = longest(points);
  const double smallest = sqrt(static_cast<double>(D)) * 0x1p-25;
  const double off_a = 0x1p-11 * a + ldexp(smallest, -scaling_of(queries));
  const double off_b = 0x1p-11 * b + ldexp(smallest, -scaling_of(points));
  const double of_product =
      off_a * b + (a + off_a) * off_b + gamma_of(3 * (D + 16) + 8) * (a + off_a) * (b + off_b);
  return with_other_roundings(of_product, a, b, D);
}

}  // namespace tutorial::masked_bmm::nearest
