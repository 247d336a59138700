// How far a float32 softmax may be from the true one: the bounds of chapters 04 to 06.
//
//   y_i = exp(x_i - m) / Σ_j exp(x_j - m),   m = max_j x_j,   d_i = m - x_i
//
// |got - y_i| <= y_i · (exp_error(d_i) + sum_error(n)) + SUBNORMAL_ERROR for a row of n elements.
// The first part is relative: beside thousands of columns every y_i is small, and a bound like 1e-4
// would pass zeros.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/compare/compare.hpp"

namespace tutorial {

/// The relative error of exp(x - m). The difference is rounded: d·u with u = 2^-24. Then exp
/// itself: 2 ulp for expf, 2 + 1.2·d ulp for the faster __expf, and an ulp is at most 2u (CUDA
/// Programming Guide, "Mathematical Functions").
inline double exp_error(double d) {
  return (4 + 4 * d) * 0x1p-24;
}

/// The relative error that the sum and the division add to every element of a row of n.
///
/// The sum: a term passes at most n - 1 additions. The online form also multiplies it by a rounded
/// exp(old max - new max) wherever the maximum rises, 1 + 4 roundings; the rises that a term meets
/// add up to at most its d. So gamma(6·n), and the terms' own errors weighted, Σ y·exp_error(d).
/// Here Σ y·d <= ln n: the entropy of y is Σ y·d + ln(Σ exp(-d)), which is at most ln n, and its
/// second part is not negative.
///
/// The division, or the product with a rounded 1/sum: 2 roundings.
inline double sum_error(int64_t n) {
  return gamma_bound(6 * n) + exp_error(std::log(static_cast<double>(n))) + 2 * 0x1p-24;
}

/// Below 2^-126 float32 has a fixed step of 2^-149. exp and the division round to it: 4 steps.
inline constexpr double SUBNORMAL_ERROR = 0x1p-147;

}  // namespace tutorial
