// The CPU reference: softmax attention as its definition has it, query by query, in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "06_flash_attention.hpp"
#include "common/compare/softmax_error.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial::flash_attention {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
constexpr double UNIT = 0x1p-24;  // float32 rounds by at most this part of a value

/// A score, and how far a float32 kernel's may be from it: the dot product of HS terms is rounded
/// as gamma_bound says, 1/√HS is rounded, and so is the product with it; 1 more for good measure.
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
  const int64_t roundings = static_cast<int64_t>(q.size()) + 3;
  return {dot * scale, std::isfinite(dot) ? gamma_bound(roundings) * magnitude * scale : 0};
}

/// The relative error that adding up n keys brings, in out's numerator as in l. A term passes at
/// most n additions. With each tile of keys come at most 9 roundings more, when all that was summed
/// so far is multiplied by exp(m_old − m_new), in FlashAttention 1 also by l and 1/l. Tiles have at
/// least 16 keys. (That exp's argument is rounded is not counted here: over the tiles that a term
/// meets, the arguments add up to at most m − s, and exp_error(m − s) has them.)
double sums_error(int64_t n) {
  return gamma_bound(n + 9 * ceil_div(n, 16) + 4);
}

/// One query: `out` and its bound have HS elements, `lse` and its bound one.
///
/// A kernel works with scores s_j + e_j, |e_j| <= the score's error, so its weights are
///   p_j·exp(e_j) / Σ p·exp(e), at most p_j·exp(|e_j|) / Σ p·exp(−|e|):
/// out's error has p_j·|v_j| times that factor less 1, and the rounding of exp, sums and division.
/// log Σ exp(s + e) is off by at most log Σ p·exp(|e|); log and m + log l round as well.
void attend(std::span<const Score> scores, const float* v, int64_t HS, double* out,
            double* out_bound, double* lse, double* lse_bound) {
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
  for (const Score& s : scores) {
    if (s.value == -INF) continue;
    const double p = std::exp(s.value - m) / l;
    lowered += p * std::exp(-s.error);
    raised += p * std::exp(s.error);
    exp_errors += p * exp_error(m - s.value);
  }
  const int64_t n = static_cast<int64_t>(scores.size());
  for (int64_t j = 0; j < n; ++j) {
    const Score& s = scores[j];
    if (s.value == -INF) continue;
    const double p = std::exp(s.value - m) / l;
    const double error = std::exp(s.error) / lowered - 1 + exp_error(m - s.value) + exp_errors +
                         2 * sums_error(n) + 4 * UNIT;
    for (int64_t d = 0; d < HS; ++d) {
      out[d] += p * v[j * HS + d];
      out_bound[d] += p * std::abs(v[j * HS + d]) * error + SUBNORMAL_ERROR;
    }
  }
  *lse = m + std::log(l);
  *lse_bound = std::log(raised) + exp_errors + sums_error(n) +
               4 * UNIT * (1 + std::log(static_cast<double>(n)) + std::abs(*lse));
}

}  // namespace

Reference reference(const Attention& shape, std::span<const float> q, std::span<const float> k,
                    std::span<const float> v, std::span<const int64_t> rows) {
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
    attend(scores, v.data() + kv_head * Tk * HS, HS, want.out.value.data() + n * HS,
           want.out.bound.data() + n * HS, &want.lse.value[n], &want.lse.bound[n]);
  }
  return want;
}

}  // namespace tutorial::flash_attention
