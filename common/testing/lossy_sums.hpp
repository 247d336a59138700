// Sums that lose as much as a sum can, for the tests of bounds: of a few patterns of numbers a test
// takes the one that a kernel's arithmetic does worst on. No bound may be below that error; and a
// bound far above it allows for what cannot happen.
#pragma once

#include <functional>
#include <vector>

#include "common/compare/compare.hpp"

namespace tutorial {

/// Two vectors, whose product is a sum of as many terms.
struct Dot {
  std::vector<float> a, b;
};

/// For float32 sums: half a unit in the last place is lost, or won, with every term.
std::vector<Dot> lossy_dots(int64_t terms);
/// For tensor cores, which cut off what is below the last place of the largest term: nearly a whole
/// one is lost with every term. The numbers have 8 bits, for bf16, fp16 and TF32.
std::vector<Dot> lossy_dots_if_cut(int64_t terms);

/// The terms one after the other, each added by fma().
float sum_by_fma(const Dot& dot);
/// As tensor cores do (Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor
/// cores", 2021): four exact products and the sum so far are shifted to the largest one's exponent,
/// what is then below 24 bits is cut off, and so is the result.
float sum_by_cutting(const Dot& dot);
/// One such step: `terms` are the sum so far and the products.
double cut_and_added(const std::vector<double>& terms);

/// exp(x) of float32, as far above (direction 1) or below (-1) the true one as __expf may be: 2 +
/// 1.17·|x| units in the last place (CUDA Programming Guide, "Mathematical Functions").
float rough_exp(float x, int direction);

/// In a TEST_CASE: `sum` keeps the one bound that `reference` gives for each product, and loses at
/// least `part` of it with one of them.
void check_bound_is_reached(const std::vector<Dot>& dots,
                            const std::function<float(const Dot&)>& sum,
                            const std::function<Expected(const Dot&)>& reference, double part);

}  // namespace tutorial
