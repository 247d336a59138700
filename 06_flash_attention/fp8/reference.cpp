// The CPU reference: softmax attention as its definition has it, query by query, in double, of
// numbers that e4m3 holds, times their scales. What differs from part tensor_cores' is the bound.
//
// A product of two numbers of e4m3 has 8 bits and is exact. One wgmma adds 32 of them to a sum.
// What it does inside is not specified. Measured (hopper_fp8_test.cu): all 33 are shifted to the
// exponent of the largest one, and what is then below 13 bits behind its leading one is cut. So
// each is off by less than 2^-13 of the largest, which may be the sum so far; and so is the result.
// The largest itself loses nothing, and neither do zeros. The error so far may make the largest,
// and the sum, that much larger.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/compare/softmax_error.hpp"
#include "common/kernel/grid.hpp"
#include "fp8/fp8.hpp"

namespace tutorial::flash_attention::fp8 {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
constexpr double UNIT = 0x1p-24;  // float32 rounds by at most this part of a value
constexpr double CUT = 0x1p-13;   // a tensor core's addition, of the largest number
constexpr int DEPTH = 32;         // of one wgmma

/// A weight rounded to e4m3: by at most ROUNDED of it, or by LOST, half of the distance of numbers
/// below 2^-6. A row's largest weight is at least 2^6 (words.cuh), so LOST is that much less of it.
constexpr double ROUNDED = 0x1p-4, LOST = 0x1p-10 / 64;

/// A sum on tensor cores, and how far it may be off.
struct Sum {
  double value = 0, error = 0;

  /// Behind one wgmma more: `count` products that may be other than 0, all together `products`, the
  /// largest one's magnitude `largest`; together they are off by `errors` already.
  void add(int64_t count, double products, double largest, double errors) {
    const int64_t cut = count + (value != 0 || error != 0) - 1;
    const double most = std::max(std::abs(value) + error, largest + errors);
    value += products;
    error += errors;
    if (cut > 0) error += CUT * (static_cast<double>(cut) * most + std::abs(value) + error);
  }
};

/// A score, and how far a kernel's may be from it: its dot product; and the constant log2(e)/√HS
/// with two scales, which is rounded five times, and the product with it; 2 more for good measure.
struct Score {
  double value, error;
};

Score score(std::span<const float> q, std::span<const float> k, double scale) {
  const auto HS = static_cast<int64_t>(q.size());
  Sum sum;
  for (int64_t d0 = 0; d0 < HS; d0 += DEPTH) {
    double products = 0, largest = 0;
    int64_t count = 0;
    for (int64_t d = d0; d < std::min(d0 + DEPTH, HS); ++d) {
      const double product = static_cast<double>(q[d]) * k[d];
      products += product;
      largest = std::max(largest, std::abs(product));
      count += product != 0;
    }
    sum.add(count, products, largest, 0);
  }
  return {sum.value * scale, (sum.error + 8 * UNIT * std::abs(sum.value)) * scale};
}

/// What rescaling brings, a tile of at least 64 keys at a time: exp (2 units in the last place, 4
/// of UNIT) and the product.
double rescale_error(int64_t n) {
  return gamma_bound(5 * ceil_div(n, 64));
}

/// One query: `out` and its bound have HS elements, `lse` and its bound one.
///
/// A kernel works with scores s_j + e_j, |e_j| <= the score's error, and rounds the weights for the
/// numerator only. So it has
///   p_j·exp(e_j)·(1 + r_j) / Σ p·exp(e),  |r_j| <= ROUNDED, at most
///   p_j·exp(|e_j|)·(1 + ROUNDED) / Σ p·exp(−|e|)
/// and out's error is p_j·|v_j| times that factor less 1, what exp, sums and division round, and
/// what tensor cores cut: 32 keys at a time, the last tile of keys first. Weights below e4m3's
/// 2^-6 are off by LOST at least, before the division by the kernel's l, which is at least 1 (with
/// the largest weight as unit) and at least l·Σ p·exp(−|e|)·exp(−max |e|), as its maximum is at
/// most m + max |e|. A rise of the maximum multiplies O, and what was cut, by the same number. At
/// the end out is rounded, which in_bf16() adds.
///
/// log Σ exp(s + e) is off by at most log Σ p·exp(|e|); log and m + log l round as well. P's
/// rounding is not in it: the sum is of the weights before.
struct Row {
  double *out, *out_bound, *lse, *lse_bound;
};
void attend(std::span<const Score> scores, const float* v, double scale_v, int64_t HS,
            int64_t keys_of_tile, const Row& row) {
  std::fill(row.out, row.out + HS, 0.0);
  std::fill(row.out_bound, row.out_bound + HS, 0.0);
  *row.lse = -INF;
  *row.lse_bound = 0;

  double m = -INF;
  for (const Score& s : scores) {
    if (std::isnan(s.value)) {
      std::fill(row.out, row.out + HS, NOT_A_NUMBER);
      *row.lse = NOT_A_NUMBER;
      return;
    }
    m = std::max(m, s.value);
  }
  const int64_t n = static_cast<int64_t>(scores.size());
  if (n == 0) return;  // zeros

  double l = 0;
  for (const Score& s : scores) l += std::exp(s.value - m);
  double lowered = 0, raised = 0, exp_errors = 0;  // Σ p·exp(−|e|), Σ p·exp(|e|), Σ p·exp_error
  double most_error = 0;                           // max |e|
  for (const Score& s : scores) {
    const double p = std::exp(s.value - m) / l;
    lowered += p * std::exp(-s.error);
    raised += p * std::exp(s.error);
    exp_errors += p * exp_error(m - s.value);
    most_error = std::max(most_error, s.error);
  }
  const double lost = LOST / std::max(1.0, l * lowered * std::exp(-most_error));
  const double of_sum = exp_errors + gamma_bound(n) + rescale_error(n);
  std::vector<double> p(n), error(n);
  for (int64_t j = 0; j < n; ++j) {
    const Score& s = scores[j];
    p[j] = std::exp(s.value - m) / l;
    error[j] = p[j] * (std::exp(s.error) * (1 + ROUNDED) / lowered - 1 + exp_error(m - s.value) +
                       rescale_error(n) + of_sum + 4 * UNIT) +
               lost;
  }
  for (int64_t d = 0; d < HS; ++d) {
    Sum sum;
    for (int64_t j0 = (n - 1) / keys_of_tile * keys_of_tile; j0 >= 0; j0 -= keys_of_tile)
      for (int64_t j1 = j0; j1 < std::min(j0 + keys_of_tile, n); j1 += DEPTH) {
        const int64_t end = std::min(j1 + DEPTH, n);
        double products = 0, largest = 0, errors = 0;
        for (int64_t j = j1; j < end; ++j) {
          const double value = v[j * HS + d], product = p[j] * value;
          products += product;
          largest = std::max(largest, std::abs(product));
          errors += error[j] * std::abs(value);
        }
        sum.add(end - j1, products, largest, errors);
      }
    row.out[d] = sum.value * scale_v;
    row.out_bound[d] = sum.error * scale_v;
  }
  *row.lse = m + std::log(l);
  *row.lse_bound = std::log(raised) + of_sum + static_cast<double>(n) * 0x1p-126 +
                   4 * UNIT * (1 + std::log(static_cast<double>(n)) + std::abs(*row.lse));
}

}  // namespace

Reference reference(const Attention& shape, const Operand& q, const Operand& k, const Operand& v,
                    std::span<const int64_t> rows, int keys_of_tile) {
  const int64_t HS = shape.HS, Tk = shape.Tk;
  Reference want;
  for (Expected* expected : {&want.out, &want.lse}) {
    const size_t elements = rows.size() * (expected == &want.out ? HS : 1);
    expected->value.resize(elements);
    expected->bound.resize(elements);
  }
  std::vector<Score> scores;
  for (size_t n = 0; n < rows.size(); ++n) {
    const int64_t i = rows[n] % shape.Tq, head = rows[n] / shape.Tq;  // of B·NH
    const int64_t kv_head = head / shape.group();
    const std::span<const float> q_i = std::span(q.values).subspan(rows[n] * HS, HS);
    const double scale = static_cast<double>(q.scales[head]) * k.scales[kv_head] /
                         std::sqrt(static_cast<double>(HS));
    scores.clear();
    for (int64_t j = 0; j < shape.visible_keys(i); ++j)
      scores.push_back(score(q_i, std::span(k.values).subspan((kv_head * Tk + j) * HS, HS), scale));
    // The visible keys are the first ones.
    attend(
        scores, v.values.data() + kv_head * Tk * HS, v.scales[kv_head], HS, keys_of_tile,
        {&want.out.value[n * HS], &want.out.bound[n * HS], &want.lse.value[n], &want.lse.bound[n]});
  }
  want.out = in_bf16(std::move(want.out));
  return want;
}

}  // namespace tutorial::flash_attention::fp8
