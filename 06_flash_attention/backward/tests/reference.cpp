// The reference itself, beside differences of the loss.
#include <catch2/catch_approx.hpp>
#include <cmath>

#include "problems.hpp"

namespace tutorial::flash_attention::backward {
namespace {

/// The loss Σ dout·out in double, from tensors in double.
double loss(const Attention& shape, const std::vector<double>& q, const std::vector<double>& k,
            const std::vector<double>& v, const std::vector<float>& dout) {
  const int64_t HS = shape.HS;
  double sum = 0;
  for (int64_t row = 0; row < shape.rows(); ++row) {
    const int64_t i = row % shape.Tq, kv_head = row / shape.Tq / (shape.NH / shape.NH_kv);
    double l = 0, weighted = 0;
    for (int64_t j = 0; j < shape.Tk; ++j) {
      if (shape.causal && j > i + shape.Tk - shape.Tq) continue;
      double s = 0, dp = 0;
      for (int64_t d = 0; d < HS; ++d) {
        s += q[row * HS + d] * k[(kv_head * shape.Tk + j) * HS + d];
        dp += dout[row * HS + d] * v[(kv_head * shape.Tk + j) * HS + d];
      }
      const double weight = std::exp(s / std::sqrt(static_cast<double>(HS)));
      l += weight;
      weighted += weight * dp;
    }
    if (l > 0) sum += weighted / l;
  }
  return sum;
}

// Element by element: (loss(x + h) − loss(x − h)) / 2h. It is off by h²/6 times the third
// derivative and by 1e-16·loss/h; the reference by the rounding of out and lse to float32, 1e-7 of
// its terms.
TEST_CASE("backward: the reference is the slope of the loss") {
  for (const Attention& shape :
       std::vector<Attention>{{.Tq = 5, .Tk = 5, .HS = 3},
                              {.Tq = 4, .Tk = 6, .HS = 2, .causal = false},
                              {.Tq = 6, .Tk = 3, .HS = 4},  // queries without keys
                              {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 3, .Tk = 4, .HS = 3},
                              {.NH = 3, .NH_kv = 1, .Tq = 3, .Tk = 2, .HS = 2, .causal = false}}) {
    INFO(text(shape));
    const Problem problem = normal_problem(shape);
    const Reference got = reference(problem);
    const auto as_double = [](const std::vector<float>& x) {
      return std::vector<double>(x.begin(), x.end());
    };
    std::vector<double> q = as_double(problem.q), k = as_double(problem.k),
                        v = as_double(problem.v);
    constexpr double h = 1e-4;
    const auto check = [&](const char* name, std::vector<double>& x, const Expected& gradient) {
      for (size_t e = 0; e < x.size(); ++e) {
        const double at = x[e];
        x[e] = at + h;
        const double above = loss(shape, q, k, v, problem.dout);
        x[e] = at - h;
        const double below = loss(shape, q, k, v, problem.dout);
        x[e] = at;
        INFO(name << "[" << e << "]");
        CHECK(gradient.value[e] == Catch::Approx((above - below) / (2 * h)).margin(2e-6));
      }
    };
    check("dq", q, got.dq);
    check("dk", k, got.dk);
    check("dv", v, got.dv);
  }
}

TEST_CASE("backward: the reference's bound is small enough to mean something") {
  const Reference got = reference(normal_problem({.Tq = 60, .Tk = 60, .HS = 64, .causal = false}));
  for (const Expected* expected : {&got.dq, &got.dk, &got.dv})
    for (double bound : expected->bound) CHECK(bound < 3e-4);
}

TEST_CASE("backward: the reference gives the same numbers where some rows are asked for") {
  const Problem problem = normal_problem({.B = 2, .NH = 2, .NH_kv = 1, .Tq = 5, .Tk = 7, .HS = 3});
  const Reference all = reference(problem);
  const std::vector<int64_t> queries = {0, 7, 19}, keys = {3, 13};
  const Reference some = reference(problem.shape, problem.host(), queries, keys);
  for (int64_t d = 0; d < 3; ++d) {
    for (size_t r = 0; r < queries.size(); ++r)
      CHECK(some.dq.value[r * 3 + d] == all.dq.value[queries[r] * 3 + d]);
    for (size_t r = 0; r < keys.size(); ++r) {
      CHECK(some.dk.value[r * 3 + d] == all.dk.value[keys[r] * 3 + d]);
      CHECK(some.dv.value[r * 3 + d] == all.dv.value[keys[r] * 3 + d]);
    }
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::backward
