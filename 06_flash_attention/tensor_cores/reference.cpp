// The CPU reference: softmax attention as its definition has it, query by query, in double, of
// numbers that bf16 or fp16 holds. What differs from the chapter's is the bound.
//
// Tensor cores multiply exactly, but they cut off where other float32 additions round. One mma adds
// up, at a time, the sum so far and 4, 8 or 16 products, by the GPU: all are shifted to the largest
// one's exponent and cut off below its last place or further down, and so is the result (Fasi,
// Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", 2021; Khattak, Mikaitis,
// arXiv 2512.07004). So adding n products at a time brings n + 2 errors of at most 2^-23 times the
// sum of the magnitudes, 6/4 a product with n = 4 and less with more. We allow 2 a product.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/compare/softmax_error.hpp"
#include "common/kernel/grid.hpp"
#include "tensor_cores/tensor_cores.hpp"

namespace tutorial::flash_attention::tensor_cores {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
constexpr double UNIT = 0x1p-24;     // float32 rounds by at most this part of a value
constexpr double CUT_OFF = 0x1p-23;  // a tensor core's addition
constexpr double SMALLEST =
    0x1p-126;  // of float32 and bf16: exp2_approx makes 0 of what is smaller

/// A type of 16 bits: it rounds a number by at most `unit` of it, or by `lost` where that is more,
/// which bf16 has in common with SMALLEST.
struct Narrow {
  double unit, lost;
  Expected (*rounded)(Expected);
};
constexpr Narrow BF16 = {0x1p-8, 0, in_bf16}, FP16 = {0x1p-11, 0x1p-25, in_fp16};

/// The relative error that adding up n products on tensor cores brings.
double tensor_sum_error(int64_t n) {
  return gamma_bound(2 * n, CUT_OFF);
}

/// A score, and how far a kernel's may be from it: HS products, padded to a multiple of 64; and the
/// constant 1/√HS or log2(e)/√HS, which is rounded, and the product with it; 1 more for good
/// measure.
struct Score {
  double value, error;
};

Score score(std::span<const float> q, std::span<const float> k) {
  double dot = 0, magnitude = 0;
  for (size_t d = 0; d < q.size(); ++d) {
    dot += static_cast<double>(q[d]) * k[d];
    magnitude += std::abs(static_cast<double>(q[d]) * k[d]);
  }
  const double scale = 1 / std::sqrt(static_cast<double>(q.size()));
  const double error = tensor_sum_error(static_cast<int64_t>(q.size())) + 4 * UNIT;
  return {dot * scale, std::isfinite(dot) ? error * magnitude * scale : 0};
}

/// What rescaling brings, a tile of at least 64 keys at a time: exp (2 units in the last place, 4
/// of UNIT) and the product. (How far its argument is rounded exp_error has, as in the chapter's
/// reference.)
double rescale_error(int64_t n) {
  return gamma_bound(5 * ceil_div(n, 64));
}

/// One query: `out` and its bound have HS elements, `lse` and its bound one.
///
/// A kernel works with scores s_j + e_j, |e_j| <= the score's error, and rounds the weights to 16
/// bits for the numerator only. So it has
///   p_j·exp(e_j)·(1 + r_j) / Σ p·exp(e),  |r_j| <= unit, at most
///   p_j·exp(|e_j|)·(1 + unit) / Σ p·exp(−|e|)
/// and out's error is p_j·|v_j| times that factor less 1, and what exp, sums and division round. l
/// is a sum of float32, and its lanes' parts are added in any order: gamma_bound(n). Weights below
/// SMALLEST may be lost. A weight of fp16 is off by `lost` at least, before the division by the
/// kernel's l, which is at least 1 (the largest weight) and at least l·Σ p·exp(−|e|)·exp(−max |e|),
/// as its maximum is at most m + max |e|. At the end out is rounded, which in_bf16() or in_fp16()
/// adds.
/// log Σ exp(s + e) is off by at most log Σ p·exp(|e|); log and m + log l round as well. P's
/// rounding is not in it: the sum is of the weights before.
void attend(const Narrow& type, std::span<const Score> scores, const float* v, int64_t HS,
            double* out, double* out_bound, double* lse, double* lse_bound) {
  std::fill(out, out + HS, 0.0);
  std::fill(out_bound, out_bound + HS, 0.0);
  *lse = -INF;
  *lse_bound = 0;

  double m = -INF;
  for (const Score& s : scores) {
    if (std::isnan(s.value) || s.value == INF) {
      std::fill(out, out + HS, NOT_A_NUMBER);
      *lse = NOT_A_NUMBER;
      return;
    }
    m = std::max(m, s.value);
  }
  if (m == -INF) return;  // no key, or none that counts: zeros

  double l = 0;
  for (const Score& s : scores) l += std::exp(s.value - m);
  double lowered = 0, raised = 0, exp_errors = 0;  // Σ p·exp(−|e|), Σ p·exp(|e|), Σ p·exp_error
  double most_error = 0;                           // max |e|
  for (const Score& s : scores) {
    if (s.value == -INF) continue;
    const double p = std::exp(s.value - m) / l;
    lowered += p * std::exp(-s.error);
    raised += p * std::exp(s.error);
    exp_errors += p * exp_error(m - s.value);
    most_error = std::max(most_error, s.error);
  }
  const int64_t n = static_cast<int64_t>(scores.size());
  const double lost = SMALLEST + type.lost / std::max(1.0, l * lowered * std::exp(-most_error));
  const double of_sum = exp_errors + gamma_bound(n) + rescale_error(n);
  for (int64_t j = 0; j < n; ++j) {
    const Score& s = scores[j];
    if (s.value == -INF) continue;
    const double p = std::exp(s.value - m) / l;
    const double error = std::exp(s.error) * (1 + type.unit) / lowered - 1 +
                         exp_error(m - s.value) + tensor_sum_error(n) + rescale_error(n) + of_sum +
                         4 * UNIT;
    for (int64_t d = 0; d < HS; ++d) {
      out[d] += p * v[j * HS + d];
      out_bound[d] += std::abs(v[j * HS + d]) * (p * error + lost);
    }
  }
  *lse = m + std::log(l);
  *lse_bound = std::log(raised) + of_sum + static_cast<double>(n) * SMALLEST +
               4 * UNIT * (1 + std::log(static_cast<double>(n)) + std::abs(*lse));
}

Reference reference_of(const Narrow& type, const Attention& shape, std::span<const float> q,
                       std::span<const float> k, std::span<const float> v,
                       std::span<const int64_t> rows) {
  const int64_t HS = shape.HS, Tk = shape.Tk;
  Reference want;
  for (Expected* expected : {&want.out, &want.lse}) {
    const size_t elements = rows.size() * (expected == &want.out ? HS : 1);
    expected->value.resize(elements);
    expected->bound.resize(elements);
  }
  std::vector<Score> scores;
  for (size_t n = 0; n < rows.size(); ++n) {
    const int64_t i = rows[n] % shape.Tq;  // row n of out is (batch, head, query)
    const int64_t head = rows[n] / shape.Tq % shape.NH, batch = rows[n] / shape.Tq / shape.NH;
    const int64_t kv_head = batch * shape.NH_kv + head / (shape.NH / shape.NH_kv);
    const std::span<const float> q_i = q.subspan(rows[n] * HS, HS);
    scores.clear();
    const Attention own = shape.sequence(batch);
    for (int64_t j = 0; j < own.Tk && i < own.Tq; ++j)
      if (!shape.causal || j <= i + (own.Tk - own.Tq))
        scores.push_back(score(q_i, k.subspan((kv_head * Tk + j) * HS, HS)));
    // The visible keys are the first ones.
    attend(type, scores, v.data() + kv_head * Tk * HS, HS, want.out.value.data() + n * HS,
           want.out.bound.data() + n * HS, &want.lse.value[n], &want.lse.bound[n]);
  }
  want.out = type.rounded(std::move(want.out));
  return want;
}

}  // namespace

Reference reference_bf16(const Attention& shape, std::span<const float> q, std::span<const float> k,
                         std::span<const float> v, std::span<const int64_t> rows) {
  return reference_of(BF16, shape, q, k, v, rows);
}
Reference reference_fp16(const Attention& shape, std::span<const float> q, std::span<const float> k,
                         std::span<const float> v, std::span<const int64_t> rows) {
  return reference_of(FP16, shape, q, k, v, rows);
}

}  // namespace tutorial::flash_attention::tensor_cores
