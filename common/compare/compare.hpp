// What "equal" means, and what a failure tells.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "common/kernel/step.hpp"

namespace tutorial {

/// What a kernel should give: for each element the value, computed in double, and the bound on
/// |got - want|, which each chapter's reference.cpp derives from the arithmetic. An infinite or NaN
/// `value` must be matched exactly (NaN by any NaN).
struct Expected {
  std::vector<double> value;
  std::vector<double> bound;
};

/// What equal means: |got - want| <= bound, said so that a NaN fails; infinity and NaN only where
/// they are wanted.
inline bool matches(double got, double want, double bound) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  return std::isfinite(got) && std::abs(got - want) <= bound;
}

/// The rounding error of a float32 sum of `terms` products is at most gamma(terms) · Σ|a||b|, in
/// any order of summation (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §3.1),
/// where gamma(n) = n·u / (1 - n·u) and u = 2^-24. `unit` is u of another type.
double gamma_bound(int64_t terms, double unit = 0x1p-24);

/// What is left of `want` when the kernel rounds its result to bf16, to nearest: the result x lies
/// within the bound of the value, and rounding moves it by at most 2^-8·|x|, or by half of bf16's
/// smallest number.
Expected in_bf16(Expected want);
/// The same for fp16, which moves it by at most 2^-11·|x|, or by half of its smallest number. From
/// 65520 on, where 65536 would be next to fp16's largest number, 65504, it rounds to infinity.
Expected in_fp16(Expected want);

/// The output as the report shows it: `batch` matrices of rows × cols, divided as `tile` says.
struct Layout {
  std::string name = "C";
  int64_t batch = 1, rows = 1, cols = 1;
  Tile tile = {};
  /// "block (0,1) thread (3,4)  step2.cu:41   C[…] = sum;": who wrote an element, or "". For a
  /// report.
  std::function<std::string(int64_t element)> writer = {};
};

/// "block (1,0), thread (3,4)": who computes an element of the whole output by the layout's tile;
/// "" where that is not known.
std::string owner_of(const Layout& layout, int64_t element);

struct Comparison {
  bool ok = true;
  int64_t wrong = 0;
  double max_error = 0;  // the largest finite |got - want|
  double bound = 0;      // the bound at that element
  std::string report;    // empty when ok; else several lines, as docs/failures.md explains
};

/// Passes only if |got - want| <= bound for every element, so that NaN fails.
/// `got` and both vectors of `want` have batch·rows·cols elements.
Comparison compare(std::span<const float> got, const Expected& want, const Layout& layout);

/// The same for some rows only: `rows[i]` is the row (of batch·rows in all) that elements
/// [i·cols, (i+1)·cols) of `want` belong to, while `got` is the whole output. For results too large
/// for a full reference.
Comparison compare_rows(std::span<const float> got, const Expected& want,
                        std::span<const int64_t> rows, const Layout& layout);

/// `count` distinct rows of `total`, seeded, the first and the last among them, in order.
std::vector<int64_t> sample_rows(int64_t total, int64_t count, uint64_t seed);

/// How many steps of its reference a program does, so that they take a second or two: what takes
/// more is compared on some rows. As many as it says, where no test makes it less, so that a small
/// problem is treated as a large one.
inline double most_affordable = std::numeric_limits<double>::infinity();
inline double affordable(double steps) {
  return std::min(steps, most_affordable);
}

/// Freivalds' check of C = A·B over every element: C·x against A·(B·x) for a random ±1 vector x,
/// one bound a row (Freivalds 1977). Finds any wrong row with probability >= 1/2 a round. All
/// row-major; M×K, K×N, M×N; finite. `bound_factor` multiplies the bound of a K-term float32 dot
/// product. The bound allows for the rounding of a whole row, so a small error in one element of a
/// long row passes: compare some rows too.
Comparison freivalds(std::span<const float> A, std::span<const float> B, std::span<const float> C,
                     int64_t M, int64_t N, int64_t K, uint64_t seed, const Layout& layout,
                     double bound_factor = 1.0);

}  // namespace tutorial
