// The reference by another way, and its bounds: neither too small nor too large.
#include <algorithm>
#include <cmath>

#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"
#include "problems.hpp"

namespace tutorial::flash_attention::backward {
namespace {

constexpr Long U = 0x1p-24L, LOST = 0x1p-147L;

/// A number, what double may round of it, and how far a kernel's may be from it.
using Number = Derived;

Long size_of(const Number& x) {
  return std::abs(x.value);
}

Number dot(const float* x, const float* y, int64_t n) {
  LongSum sum;
  for (int64_t d = 0; d < n; ++d) sum.add(x[d], y[d]);
  return {sum.value, sum.rounding(), gamma_of(n) * sum.magnitude};
}

/// exp(s − lse): the exponent is off by the dot product's error and five roundings of s and lse.
Number derived_weight(const Number& product, float lse, int64_t HS) {
  const Long root = std::sqrt(static_cast<Long>(HS)), s = product.value / root,
             p = std::exp(s - lse), sizes = std::abs(s) + std::abs(lse),
             off = product.bound / root + 5 * U * sizes;
  return {p, p * (product.rounding / root + (sizes + 4) * 0x1p-51L),
          p * (std::exp(off) * (1 + 4 * U) - 1) + LOST};
}

/// p·(dp − D)
Number derived_gradient(const Number& p, const Number& dp, const Number& D) {
  const Long difference = std::abs(dp.value - D.value),
             off = dp.bound + D.bound + 2 * U * (difference + dp.bound + D.bound);
  return {p.value * (dp.value - D.value),
          p.value * (dp.rounding + D.rounding + difference * 0x1p-52L) + p.rounding * difference,
          p.value * off + p.bound * (difference + off) + LOST};
}

struct Gradients {
  std::vector<Derived> dq, dk, dv;
};

/// A row of sums: what was added to each element, and how often.
struct Row {
  std::vector<Derived> sums;
  std::vector<Long> sizes;
  Long terms = 0;

  explicit Row(int64_t HS) : sums(HS), sizes(HS) {}
  void add(const Number& w, const float* x) {
    for (size_t d = 0; d < sums.size(); ++d) {
      const Long size = std::abs(x[d]);
      sums[d].value += w.value * x[d];
      sums[d].rounding += w.rounding * size;
      sums[d].bound += w.bound * size;
      sizes[d] += (size_of(w) + w.bound) * size;
    }
    ++terms;
  }
  void finish(Long factor, std::vector<Derived>& to) const {
    for (size_t d = 0; d < sums.size(); ++d)
      to.push_back(
          {factor * sums[d].value, factor * (sums[d].rounding + sizes[d] * (terms + 4) * 0x1p-52L),
           factor * (sums[d].bound + gamma_of(terms + 2) * sizes[d]) + (terms > 0 ? LOST : 0)});
  }
};

Gradients derived(const Problem& problem) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal, strides, lengths] = problem.shape;
  std::vector<Row> dq(B * NH * Tq, Row(HS)), dk(B * NH_kv * Tk, Row(HS)), dv = dk;
  for (int64_t row = 0; row < B * NH * Tq; ++row) {
    const int64_t kv = row / Tq / (NH / NH_kv);
    for (int64_t j = 0; j < problem.shape.visible_keys(row % Tq); ++j) {
      const int64_t key = kv * Tk + j;
      const float *q = &problem.q[row * HS], *k = &problem.k[key * HS],
                  *dout = &problem.dout[row * HS];
      const Number p = derived_weight(dot(q, k, HS), problem.lse[row], HS);
      const Number ds = derived_gradient(p, dot(dout, &problem.v[key * HS], HS),
                                         dot(dout, &problem.out[row * HS], HS));
      dq[row].add(ds, k);
      dk[key].add(ds, q);
      dv[key].add(p, dout);
    }
  }
  Gradients want;
  const Long factor = 1 / std::sqrt(static_cast<Long>(HS));
  for (const Row& row : dq) row.finish(factor, want.dq);
  for (const Row& row : dk) row.finish(factor, want.dk);
  for (const Row& row : dv) row.finish(1, want.dv);
  return want;
}

Problem full_problem(const Attention& shape) {
  Problem p = normal_problem(shape);
  uint64_t seed = 0;
  for (std::vector<float>* of : {&p.q, &p.k, &p.v, &p.dout, &p.out, &p.lse})
    *of = full_mantissas(std::ssize(*of), ++seed);
  return p;
}

}  // namespace

TEST_CASE("backward: the reference is exact, with the bounds of its derivation", "[reference]") {
  for (const Attention& shape : std::vector<Attention>{
           {.Tq = 9, .Tk = 12, .HS = 13},
           {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 3, .Tk = 5, .HS = 40, .causal = false}}) {
    INFO(text(shape));
    const Problem problem = full_problem(shape);
    const Reference got = reference(problem);
    const Gradients want = derived(problem);
    check_derived(got.dq, want.dq);
    check_derived(got.dk, want.dk);
    check_derived(got.dv, want.dv);
  }
}

// One query and one key. Both dot products, of the score and of dp, lose half a unit with every
// term, D none.
TEST_CASE("backward: float32 gradients keep the bounds, and come near to them", "[reference]") {
  double most_of_dv = 0, most_of_dk = 0;
  for (const int64_t HS : {16, 64, 128}) {
    const Dot lossy = lossy_dots(HS)[0];
    Problem p = normal_problem({.Tq = 1, .Tk = 1, .HS = HS});
    p.q = p.dout = lossy.a;
    p.k = p.v = lossy.b;
    p.out.assign(HS, 0);
    p.lse = {0.1f};
    const float s = sum_by_fma(lossy) / std::sqrt(static_cast<float>(HS)),
                weight = rough_exp(s - p.lse[0], -1);
    const Reference want = reference(p);
    const auto check = [](float got, const Expected& of, double& most) {
      const double error = std::abs(got - of.value[0]);
      CHECK(error <= of.bound[0]);
      most = std::max(most, error / of.bound[0]);
    };
    check(weight * p.dout[0], want.dv, most_of_dv);
    check(weight * sum_by_fma(lossy) * p.q[0] / std::sqrt(static_cast<float>(HS)), want.dk,
          most_of_dk);
    check(weight * sum_by_fma(lossy) * p.k[0] / std::sqrt(static_cast<float>(HS)), want.dq,
          most_of_dk);
  }
  CAPTURE(most_of_dv, most_of_dk);
  CHECK(most_of_dv > 0.5);
  CHECK(most_of_dk > 0.7);
}

// Many pairs: the sums lose half a unit with each.
TEST_CASE("backward: float32 sums over many pairs keep the bounds, and come near to them",
          "[reference]") {
  const int64_t n = 1000;
  const Dot lossy = lossy_dots(n)[0];
  Problem p = normal_problem({.Tq = n, .Tk = 1, .HS = 1, .causal = false});
  p.q.assign(n, 0);  // all weights are exp(0 − 0)
  p.k = p.v = {1};
  p.out.assign(n, 0);
  p.lse.assign(n, 0);
  for (int64_t i = 0; i < n; ++i) p.dout[i] = lossy.a[i] * lossy.b[i];
  const Reference want = reference(p);
  const double error = std::abs(sum_by_fma(lossy) - want.dv.value[0]);
  CHECK(error <= want.dv.bound[0]);
  CHECK(error > 0.9 * want.dv.bound[0]);
}

}  // namespace tutorial::flash_attention::backward
