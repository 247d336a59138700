// A reference by another way. reference.cpp computes in double; a test computes the same in long
// double, from numbers that have all 24 bits in use: then a reference that rounds a product to
// float32, adds up in float32 or leaves out a term is off by far more than double's rounding. Its
// bound is compared with what its derivation gives.
#pragma once

#include <cfloat>
#include <cstdint>
#include <vector>

#include "common/compare/compare.hpp"
#include "common/testing/product.hpp"

namespace tutorial {

using Long = long double;
static_assert(LDBL_MANT_DIG >= 64, "a product of two numbers of 24 bits, and 16 bits more");

/// Numbers of either sign between 1/8 and 2 whose last bit, the 24th, is 1.
std::vector<float> full_mantissas(int64_t count, uint64_t seed);

/// What n roundings of `unit` each make of a sum: n·u / (1 − n·u).
inline Long gamma_of(Long n, Long unit = 0x1p-24L) {
  return n * unit / (1 - n * unit);
}

/// An element of a reference: its value, what double's roundings may add to it, and the bound that
/// the derivation gives.
struct Derived {
  Long value, rounding, bound;
};

/// A sum, and that of its terms' magnitudes.
struct LongSum {
  Long value = 0, magnitude = 0;
  int64_t terms = 0;

  void add(Long a, Long b = 1) {
    value += a * b;
    magnitude += a * b < 0 ? -(a * b) : a * b;
    ++terms;
  }
  /// What double's roundings may change of it, where each term is exact or rounded a few times.
  Long rounding() const { return static_cast<Long>(terms + 4) * 0x1p-53L * magnitude; }
};

/// C = A·B, row-major and without gaps, with a bound of `relative`·Σ|a||b|.
std::vector<Derived> derived_product(ProductShape shape, const std::vector<float>& A,
                                     const std::vector<float>& B, Long relative);

/// In a TEST_CASE: each value is the derived one, but for its rounding. No bound is below the
/// derived one; and none is more than `most` times as large. By a quarter references round up to
/// simple numbers; one that does not is held to its derivation.
inline constexpr Long ROUNDED_UP = 1.25L, AS_DERIVED = 1.001L;
void check_derived(const Expected& got, const std::vector<Derived>& want, Long most = ROUNDED_UP);

}  // namespace tutorial
