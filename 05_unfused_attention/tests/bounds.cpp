// The reference by another way, and its bounds: neither too small nor too large.
#include <algorithm>
#include <cmath>

#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"
#include "tests/attention_testing.hpp"

namespace tutorial::unfused_attention {
namespace {

constexpr Long U = 0x1p-24L, LOST = 0x1p-147L;  // what numbers below 2^-126 lose

/// Factors that are rounded to TF32, or cut; products; sums of n.
Long derived_product_error(const Attention& a, int64_t n) {
  const Long of_factor = a.tf32 ? 0x1p-10L : 0;
  return (1 + of_factor) * (1 + of_factor) * (1 + gamma_of(n)) - 1;
}

struct Score {
  Long value, error;
};

/// The weights of scores: e^(±error) of each and of the sum, exp's error, the sum's and the
/// division's.
std::vector<Derived> derived_weights(const std::vector<Score>& scores) {
  const Long INFINITE = std::numeric_limits<Long>::infinity(), n = scores.size();
  Long max = -INFINITE, most_error = 0, sum = 0;
  for (const Score& s : scores) {
    max = std::max(max, s.value);
    if (s.value > -INFINITE) most_error = std::max(most_error, s.error);
  }
  for (const Score& s : scores) sum += std::exp(s.value - max);
  std::vector<Derived> want;
  for (const Score& s : scores) {
    const Long d = max - s.value, p = std::exp(-d) / sum;
    if (p == 0) {
      want.push_back({0, 0, 0});
      continue;
    }
    const Long of_exp = (4 + 4 * d) * U,
               of_sum = gamma_of(6 * n) + (4 + 4 * std::log(n)) * U + 2 * U;
    want.push_back({p, p * (n + 8 + 2 * std::abs(s.value) + 2 * d) * 0x1p-51L,
                    p * (std::exp(s.error + most_error + of_exp + of_sum) - 1) + LOST});
  }
  return want;
}

/// A scaled score is within 4 roundings, where it is not masked.
Score scaled(const Attention& a, int64_t query, int64_t key, Score s) {
  if (a.causal && key > query) return {-std::numeric_limits<Long>::infinity(), 0};
  const Long root = std::sqrt(static_cast<Long>(a.HS()));
  return {s.value / root, s.error / root + std::abs(s.value) / root * 4 * U};
}

/// One head of one batch, from q, k and v (T, HS).
std::vector<Derived> derived_attention(const Attention& a, const std::vector<float>& q,
                                       const std::vector<float>& k, const std::vector<float>& v) {
  const int64_t T = a.T, HS = a.HS();
  std::vector<Derived> want;
  for (int64_t i = 0; i < T; ++i) {
    std::vector<Score> scores;
    for (int64_t j = 0; j < T; ++j) {
      LongSum sum;
      for (int64_t d = 0; d < HS; ++d) sum.add(q[i * HS + d], k[j * HS + d]);
      scores.push_back(scaled(a, i, j, {sum.value, derived_product_error(a, HS) * sum.magnitude}));
    }
    const std::vector<Derived> weights = derived_weights(scores);
    for (int64_t d = 0; d < HS; ++d) {
      Derived out = {};
      for (int64_t j = 0; j < T; ++j) {
        const auto& [p, rounding, bound] = weights[j];
        const Long size = std::abs(v[j * HS + d]);
        out.value += p * v[j * HS + d];
        out.rounding += size * (rounding + p * static_cast<Long>(T) * 0x1p-52L);
        out.bound += size * (bound + derived_product_error(a, T) * (p + bound));
      }
      want.push_back(out);
    }
  }
  return want;
}

/// One head: rows of q, k and v, one after the other.
std::vector<float> packed(const Attention& a, const std::vector<float>& q,
                          const std::vector<float>& k, const std::vector<float>& v) {
  std::vector<float> qkv;
  for (int64_t t = 0; t < a.T; ++t)
    for (const auto* of : {&q, &k, &v})
      qkv.insert(qkv.end(), of->begin() + t * a.C, of->begin() + (t + 1) * a.C);
  return qkv;
}

const Attention one_head = {.B = 1, .T = 37, .C = 11, .NH = 1};

}  // namespace

TEST_CASE("the references of the stages are exact, with the bounds of their derivations",
          "[reference]") {
  Attention a = one_head;
  a.causal = GENERATE(true, false);
  a.tf32 = GENERATE(false, true);
  const int64_t T = a.T, HS = a.HS();
  const std::vector<float> q = full_mantissas(T * HS, 1), k = full_mantissas(T * HS, 2),
                           v = full_mantissas(T * HS, 3), raw = full_mantissas(T * T, 4);
  std::vector<float> k_transposed(k.size());
  for (int64_t e = 0; e < T * HS; ++e) k_transposed[e % HS * T + e / HS] = k[e];
  check_derived(scores_reference(a, q, k, all_rows(T)),
                derived_product({T, T, HS}, q, k_transposed, derived_product_error(a, HS)));
  check_derived(values_reference(a, raw, v, all_rows(T)),
                derived_product({T, HS, T}, raw, v, derived_product_error(a, T)));

  std::vector<Derived> of_scale, of_softmax, of_both;
  for (int64_t i = 0; i < T; ++i) {
    std::vector<Score> plain, after;
    for (int64_t j = 0; j < T; ++j) {
      plain.push_back({raw[i * T + j], 0});
      after.push_back(scaled(a, i, j, plain.back()));
      const Long size = std::abs(after[j].value);
      of_scale.push_back({after[j].value, std::isinf(size) ? 0 : size * 0x1p-50L,
                          std::isinf(size) ? 0 : size * 4 * U + LOST});
    }
    for (const Derived& one : derived_weights(plain)) of_softmax.push_back(one);
    for (const Derived& one : derived_weights(after)) of_both.push_back(one);
  }
  const Expected scale = scale_mask_reference(a, raw, all_rows(T));
  for (int64_t e = 0; e < T * T; ++e)  // infinity less infinity is no number
    if (std::isinf(of_scale[e].value)) {
      CHECK(scale.value[e] == -INF);
      CHECK(scale.bound[e] == 0);
    } else {
      check_derived({{scale.value[e]}, {scale.bound[e]}}, {of_scale[e]});
    }
  check_derived(softmax_reference(a, raw, all_rows(T)), of_softmax);
  check_derived(scale_mask_softmax_reference(a, raw, all_rows(T)), of_both);
}

TEST_CASE("the reference of attention is exact, with the bound of its derivation", "[reference]") {
  Attention a = one_head;
  a.causal = GENERATE(true, false);
  a.tf32 = GENERATE(false, true);
  const std::vector<float> q = full_mantissas(a.T * a.C, 1), k = full_mantissas(a.T * a.C, 2),
                           v = full_mantissas(a.T * a.C, 3);
  check_derived(attention_reference(a, packed(a, q, k, v), all_rows(a.T)),
                derived_attention(a, q, k, v));
}

TEST_CASE("float32 products keep the stages' bounds, and come near to them", "[reference]") {
  for (const int64_t n : {20, 300}) {
    const Attention of_scores = {.B = 1, .T = 1, .C = n, .NH = 1};
    check_bound_is_reached(
        lossy_dots(n), sum_by_fma,
        [&](const Dot& dot) { return scores_reference(of_scores, dot.a, dot.b, all_rows(1)); },
        0.9);
    const Attention of_values = {.B = 1, .T = n, .C = 1, .NH = 1};
    check_bound_is_reached(
        lossy_dots(n), sum_by_fma,
        [&](const Dot& dot) {
          return values_reference(of_values, dot.a, dot.b, std::vector<int64_t>{0});
        },
        0.9);
  }
}

// TF32 that cuts off: each factor loses nearly 2^-10 of itself.
TEST_CASE("TF32 products keep the stages' bounds, and come near to them", "[reference]") {
  const Attention a = {.B = 1, .T = 1, .C = 4, .NH = 1, .causal = true, .tf32 = true};
  const std::vector<float> x(4, 1 + 0x1p-10f - 0x1p-23f);
  const Expected want = scores_reference(a, x, x, all_rows(1));
  const double error = std::abs(4 - want.value[0]);
  CHECK(error <= want.bound[0]);
  CHECK(error > 0.9 * want.bound[0]);
}

TEST_CASE("the scale's roundings keep their bound, and come near to it", "[reference]") {
  double most = 0;
  for (const int64_t HS : {3, 5, 7, 11, 13, 80}) {
    const Attention a = {.B = 1, .T = 1, .C = HS, .NH = 1};
    for (const float x : full_mantissas(200, 1)) {
      const Expected want = scale_mask_reference(a, std::vector{x}, all_rows(1));
      const double error = std::abs(a.scale() * x - want.value[0]);
      CHECK(error <= want.bound[0]);
      most = std::max(most, error / want.bound[0]);
    }
  }
  CAPTURE(most);
  CHECK(most > 0.3);
}

// Two keys: of one score each term is lost, of the other won. Its value is 1, the other's -1.
TEST_CASE("float32 attention keeps the bound, and comes near to it", "[reference]") {
  double most = 0;
  for (const int64_t HS : {16, 64, 100})
    for (const float size : {1.0f, 16.0f}) {
      const Attention a = {.B = 1, .T = 2, .C = HS, .NH = 1, .causal = false};
      std::vector<float> q(2 * HS, 0x1p-12f), k(2 * HS, 0x1p-12f * size), v(2 * HS, 1);
      q[0] = q[HS] = 1;
      k[0] = k[HS] = 1.5f * size;
      for (int64_t d = 0; d < HS; ++d) {
        v[d] = -1;
        if (d > 0) k[d] *= -1;
      }
      float score[2] = {};
      for (int64_t key = 0; key < 2; ++key) {
        for (int64_t d = 0; d < HS; ++d) score[key] = std::fma(q[d], k[key * HS + d], score[key]);
        score[key] *= a.scale();
      }
      const float max = std::max(score[0], score[1]);
      const float e0 = rough_exp(score[0] - max, 1), e1 = rough_exp(score[1] - max, -1);
      const float out = (e1 - e0) * (1 / (e0 + e1));
      const Expected want = attention_reference(a, packed(a, q, k, v), all_rows(2));
      const double error = std::abs(out - want.value[0]);
      CHECK(error <= want.bound[0]);
      most = std::max(most, error / want.bound[0]);
    }
  CAPTURE(most);
  CHECK(most > 0.3);
}

}  // namespace tutorial::unfused_attention
