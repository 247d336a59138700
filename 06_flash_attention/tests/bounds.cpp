// The reference by another way, and its bounds: neither too small nor too large.
#include <algorithm>
#include <cmath>

#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"
#include "tests/attention_problems.hpp"

namespace tutorial::flash_attention {
namespace {

constexpr Long U = 0x1p-24L;

struct Score {
  Long value, error;
};

struct OfRows {
  std::vector<Derived> out, lse;
};

/// What reference.cpp says of a query: scores that are off by HS + 3 roundings, weights that are
/// off by exp of that, with exp's, both sums' and the division's roundings.
void derive_row(const std::vector<Score>& scores, const float* v, int64_t HS, OfRows& want) {
  const Long n = scores.size(), tiles = static_cast<Long>((scores.size() + 15) / 16);
  Long m = scores[0].value, l = 0, lowered = 0, raised = 0, of_exps = 0, largest = 0;
  for (const Score& s : scores) {
    m = std::max(m, s.value);
    largest = std::max(largest, std::abs(s.value));
  }
  for (const Score& s : scores) l += std::exp(s.value - m);
  for (const Score& s : scores) {
    const Long p = std::exp(s.value - m) / l;
    lowered += p * std::exp(-s.error);
    raised += p * std::exp(s.error);
    of_exps += p * (4 + 4 * (m - s.value)) * U;
  }
  const Long of_sum = gamma_of(n + 9 * tiles + 4), little = (n + 16 + 4 * largest) * 0x1p-52L;
  for (int64_t d = 0; d < HS; ++d) {
    Derived out = {};
    for (size_t j = 0; j < scores.size(); ++j) {
      const Long p = std::exp(scores[j].value - m) / l,
                 term = p * v[j * static_cast<size_t>(HS) + static_cast<size_t>(d)];
      const Long error = std::exp(scores[j].error) / lowered - 1 +
                         (4 + 4 * (m - scores[j].value)) * U + of_exps + 2 * of_sum + 4 * U;
      out.value += term;
      out.rounding += std::abs(term) * little;
      out.bound += std::abs(term) * error + 0x1p-147L;
    }
    want.out.push_back(out);
  }
  const Long lse = m + std::log(l);
  want.lse.push_back(
      {lse, (2 + std::abs(lse)) * little,
       std::log(raised) + of_exps + of_sum + 4 * U * (1 + std::log(n) + std::abs(lse))});
}

OfRows derived(const Problem& p) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal, strides, lengths] = p.shape;
  OfRows want;
  for (int64_t row = 0; row < p.shape.rows(); ++row) {
    const int64_t kv = row / Tq / NH * NH_kv + row / Tq % NH / (NH / NH_kv);
    std::vector<Score> scores;
    for (int64_t j = 0; j < p.shape.visible_keys(row % Tq); ++j) {
      LongSum sum;
      for (int64_t d = 0; d < HS; ++d) sum.add(p.q[row * HS + d], p.k[(kv * Tk + j) * HS + d]);
      const Long root = std::sqrt(static_cast<Long>(HS));
      scores.push_back({sum.value / root, gamma_of(HS + 3) * sum.magnitude / root});
    }
    derive_row(scores, p.v.data() + kv * Tk * HS, HS, want);
  }
  return want;
}

Problem full_problem(const Attention& s, float size) {
  Problem p = {s, full_mantissas(s.rows() * s.HS, 1),
               full_mantissas(s.B * s.NH_kv * s.Tk * s.HS, 2),
               full_mantissas(s.B * s.NH_kv * s.Tk * s.HS, 3)};
  for (float& x : p.q) x *= size;
  return p;
}

}  // namespace

TEST_CASE("the reference is exact, with the bounds of its derivation", "[reference]") {
  for (const Attention& shape : std::vector<Attention>{
           {.Tq = 5, .Tk = 70, .HS = 13},
           {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 3, .Tk = 20, .HS = 40, .causal = false}})
    for (const float size : {0.5f, 10.0f}) {
      INFO(text(shape) << ", queries of size " << size);
      const Problem problem = full_problem(shape, size);
      const Reference got = reference(problem);
      const OfRows want = derived(problem);
      check_derived(got.out, want.out, AS_DERIVED);
      check_derived(got.lse, want.lse, AS_DERIVED);
    }
}

// Key 0's score loses half a unit with every term, and key 1's wins it; their values are -1 and 1.
// With both alike, lse is off by as much.
TEST_CASE("float32 attention keeps the bounds, and comes near to them", "[reference]") {
  double most_of_out = 0, most_of_lse = 0;
  for (const int64_t HS : {16, 64, 128})
    for (const float size : {1.0f, 16.0f})
      for (const bool alike : {false, true}) {
        const Attention shape = {.Tq = 1, .Tk = 2, .HS = HS, .causal = false};
        Problem p = {shape, std::vector<float>(HS, 0x1p-12f),
                     std::vector<float>(2 * HS, 0x1p-12f * size), std::vector<float>(2 * HS, 1)};
        p.q[0] = 1;
        p.k[0] = p.k[HS] = 1.5f * size;
        for (int64_t d = 0; d < HS; ++d) {
          p.v[d] = -1;
          if (d > 0 && !alike) p.k[d] *= -1;
        }
        float score[2] = {};
        for (int64_t key = 0; key < 2; ++key) {
          for (int64_t d = 0; d < HS; ++d)
            score[key] = std::fma(p.q[d], p.k[key * HS + d], score[key]);
          score[key] *= 1 / std::sqrt(static_cast<float>(HS));
        }
        const float max = std::max(score[0], score[1]);
        const float e0 = rough_exp(score[0] - max, 1), e1 = rough_exp(score[1] - max, -1);
        const Reference want = reference(p);
        const auto check = [](float got, const Expected& of, double& most) {
          const double error = std::abs(got - of.value[0]);
          CHECK(error <= of.bound[0]);
          most = std::max(most, error / of.bound[0]);
        };
        check((e1 - e0) * (1 / (e0 + e1)), want.out, most_of_out);
        check(max + std::log(rough_exp(score[0] - max, -1) + e1), want.lse, most_of_lse);
      }
  CAPTURE(most_of_out, most_of_lse);
  CHECK(most_of_out > 0.3);
  CHECK(most_of_lse > 0.3);
}

// Many keys: the sum of the weights loses half a unit with each of them. The values are 0 but for
// the first: so the other sum, which would lose as much, loses nothing.
TEST_CASE("float32 attention over many keys keeps the bounds, and comes near to them",
          "[reference]") {
  double most_of_out = 0, most_of_lse = 0;
  const float least = -16.63553f;  // exp of it is 2^-24
  for (const int64_t n : {100, 1000}) {
    Problem p = {{.Tq = 1, .Tk = n, .HS = 1, .causal = false}, {1}, {}, {}};
    p.k.assign(n, least);
    p.v.assign(n, 0);
    p.k[0] = 0;
    p.v[0] = 1;
    float l = 0;
    for (const float score : p.k) l += rough_exp(score, -1);
    const Reference want = reference(p);
    const double of_out = std::abs(1 / l - want.out.value[0]),
                 of_lse = std::abs(std::log(l) - want.lse.value[0]);
    CHECK(of_out <= want.out.bound[0]);
    CHECK(of_lse <= want.lse.bound[0]);
    most_of_out = std::max(most_of_out, of_out / want.out.bound[0]);
    most_of_lse = std::max(most_of_lse, of_lse / want.lse.bound[0]);
  }
  CAPTURE(most_of_out, most_of_lse);
  CHECK(most_of_out > 0.25);
  CHECK(most_of_lse > 0.5);
}

}  // namespace tutorial::flash_attention
