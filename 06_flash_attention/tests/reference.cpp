// The reference itself, where attention is known.
#include <catch2/catch_approx.hpp>
#include <cmath>

#include "tests/attention_problems.hpp"

namespace tutorial::flash_attention {
namespace {

TEST_CASE("a token's row lies where its tensor's strides say") {
  constexpr Strides far = {.batch = 1000, .head = 100, .token = 7};
  CHECK(far.at(0, 0, 0) == 0);
  CHECK(far.at(2, 3, 5) == 2335);
}

TEST_CASE("the reference is right where attention is known") {
  SECTION("equal scores: the mean of the values, and lse = log of their number") {
    for (Attention shape : std::vector<Attention>{{.Tq = 3, .Tk = 5, .HS = 2, .causal = false},
                                                  {.Tq = 3, .Tk = 5, .HS = 2},
                                                  {.Tq = 5, .Tk = 3, .HS = 2}}) {
      INFO(text(shape));
      Problem problem = normal_problem(shape);
      std::fill(problem.q.begin(), problem.q.end(), 0.0f);
      const Reference got = reference(problem);
      for (int64_t i = 0; i < shape.Tq; ++i) {
        // Bottom right: the last query sees all keys, the one before it all but one, …
        const int64_t keys =
            shape.causal ? std::max<int64_t>(0, shape.Tk - (shape.Tq - 1 - i)) : shape.Tk;
        for (int64_t d = 0; d < 2; ++d) {
          double mean = 0;
          for (int64_t j = 0; j < keys; ++j)
            mean += problem.v[j * 2 + d] / static_cast<double>(keys);
          CHECK(got.out.value[i * 2 + d] == Catch::Approx(mean).margin(1e-12));
        }
        CHECK(got.lse.value[i] == Catch::Approx(std::log(static_cast<double>(keys))));
      }
    }
  }
  SECTION("one score far above the others picks its value") {
    const int64_t T = 6;
    Problem problem = normal_problem({.Tq = T, .Tk = T, .HS = T, .causal = false});
    std::fill(problem.q.begin(), problem.q.end(), 0.0f);
    std::fill(problem.k.begin(), problem.k.end(), 0.0f);
    for (int64_t i = 0; i < T; ++i) {
      problem.q[i * T + i] = 1000;             // query i likes direction i,
      problem.k[(5 * i + 1) % T * T + i] = 1;  // where key 5·i + 1 lies
    }
    const Reference got = reference(problem);
    for (int64_t i = 0; i < T; ++i) {
      for (int64_t d = 0; d < T; ++d)
        CHECK(got.out.value[i * T + d] == Catch::Approx(problem.v[(5 * i + 1) % T * T + d]));
      CHECK(got.lse.value[i] == Catch::Approx(1000 / std::sqrt(6.0)));
    }
  }
  SECTION("one key: its value, and lse is its score") {
    const Problem problem = normal_problem({.Tq = 4, .Tk = 1, .HS = 3, .causal = false});
    const Reference got = reference(problem);
    for (int64_t i = 0; i < 4; ++i) {
      double score = 0;
      for (int64_t d = 0; d < 3; ++d) {
        CHECK(got.out.value[i * 3 + d] == problem.v[d]);
        score += problem.q[i * 3 + d] * static_cast<double>(problem.k[d]);
      }
      CHECK(got.lse.value[i] == Catch::Approx(score / std::sqrt(3.0)));
    }
  }
  SECTION("grouped queries: neighbouring heads share keys and values") {
    Problem problem =
        normal_problem({.B = 2, .NH = 6, .NH_kv = 2, .Tq = 1, .Tk = 4, .HS = 1, .causal = false});
    for (size_t i = 0; i < problem.v.size(); ++i) problem.v[i] = static_cast<float>(i / 4);
    const Reference got = reference(problem);
    const std::vector<double> kv_heads = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3};
    for (size_t i = 0; i < kv_heads.size(); ++i)
      CHECK(got.out.value[i] == Catch::Approx(kv_heads[i]).margin(1e-12));
  }
  SECTION("no keys: zeros and −∞, without error") {
    const Reference got = reference(normal_problem({.Tq = 2, .Tk = 0, .HS = 3}));
    CHECK(got.out.value == std::vector<double>(6, 0.0));
    CHECK(got.out.bound == std::vector<double>(6, 0.0));
    CHECK(got.lse.value == std::vector<double>(2, -INF));
  }
  SECTION("sequences with lengths: what lies past them is nothing") {
    const std::vector<int64_t> lengths = {3, -1, 9};  // less than none, and more than all
    Problem problem = normal_problem({.B = 3, .Tq = 5, .Tk = 5, .HS = 2});
    problem.shape.lengths = {.queries = lengths.data(), .keys = lengths.data()};
    const Reference got = reference(problem);
    Problem first = problem;
    first.shape = {.Tq = 3, .Tk = 3, .HS = 2};
    const Reference want = reference(first);
    for (int64_t row = 0; row < 5; ++row) {
      CHECK(got.lse.value[row] == (row < 3 ? want.lse.value[row] : -INF));
      for (int64_t d = 2 * row; d < 2 * row + 2; ++d)
        CHECK(got.out.value[d] == (row < 3 ? want.out.value[d] : 0));
      CHECK(got.lse.value[5 + row] == -INF);
      CHECK(std::isfinite(got.lse.value[10 + row]));
    }
  }
  SECTION("some rows only: the same numbers as in all") {
    const Problem problem =
        normal_problem({.B = 2, .NH = 2, .NH_kv = 1, .Tq = 5, .Tk = 7, .HS = 3});
    const Reference all = reference(problem);
    const std::vector<int64_t> rows = {0, 7, 19};
    const Reference some = reference(problem.shape, problem.q, problem.k, problem.v, rows);
    for (size_t r = 0; r < rows.size(); ++r) {
      CHECK(some.lse.value[r] == all.lse.value[rows[r]]);
      for (int64_t d = 0; d < 3; ++d)
        CHECK(some.out.value[r * 3 + d] == all.out.value[rows[r] * 3 + d]);
    }
  }
  SECTION("the bound is small enough to mean something") {
    const Problem problem = normal_problem({.Tq = 100, .Tk = 100, .HS = 64, .causal = false});
    const Reference got = reference(problem);
    for (double bound : got.out.bound) CHECK(bound < 1e-4);
    for (double bound : got.lse.bound) CHECK(bound < 1e-4);
  }
}

}  // namespace
}  // namespace tutorial::flash_attention
