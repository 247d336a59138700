// The reference by another way; and how much rounding it takes for an excuse: not less than float32
// can round, nor twice as much as the derivation says.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/testing/derived.hpp"
#include "common/testing/lossy_sums.hpp"
#include "nearest/tests/problem.hpp"

namespace tutorial::masked_bmm::nearest {
namespace {

/// The points of a query, nearest first, by sums in long double.
std::vector<double> sorted_points(const Problem& p, int64_t query) {
  std::vector<Long> measures;
  for (int64_t point = 0; point < p.search.N; ++point) {
    Long sum = 0;
    for (int64_t d = 0; d < p.search.D; ++d) {
      const Long a = p.A[query * p.search.D + d], b = p.B[point * p.search.D + d];
      sum += p.search.measure == Measure::distance ? (a - b) * (a - b) : a * b;
    }
    // Products of float32 have their answer in float32.
    measures.push_back(p.search.measure == Measure::distance ? sum : static_cast<float>(sum));
  }
  std::vector<double> points(measures.size());
  std::iota(points.begin(), points.end(), 0);
  std::ranges::stable_sort(points, [&](double x, double y) {
    return measures[static_cast<size_t>(x)] < measures[static_cast<size_t>(y)];
  });
  points.resize(static_cast<size_t>(p.search.k));
  return points;
}

/// Does the reference take point 1 of two for the answer, where point 0 is the better one?
bool excuses(const Search& s, const std::vector<float>& A, const std::vector<float>& B) {
  const std::vector<float> first = {0}, second = {1};
  const bool rounded = s.measure == Measure::distance;
  REQUIRE(reference(s, A, B, all_rows(1)).value[0] == 0);
  CHECK(reference(s, A, B, all_rows(1), first, rounded).value[0] == 0);
  return reference(s, A, B, all_rows(1), second, rounded).value[0] == 1;
}

}  // namespace

// All points lie a few last bits away from one: float32 could not tell most of them apart.
TEST_CASE("nearest: the reference sorts points that float32 cannot tell apart", "[reference]") {
  Problem p = {{.M = 3, .N = 50, .D = 7, .k = 50}, full_mantissas(21, 1), {}};
  const std::vector<float> centre = full_mantissas(7, 2);
  const std::vector<float> bits = make_values({50, 7}, Init::uniform, 3);
  for (size_t i = 0; i < 350; ++i)
    p.B.push_back(centre[i % 7] * (1 + std::round(bits[i] * 4) * 0x1p-23f));
  p.search.measure = GENERATE(Measure::distance, Measure::product);
  const Expected got = reference(p.search, p.A, p.B, all_rows(3));
  for (int64_t query = 0; query < 3; ++query) {
    const std::vector<double> want = sorted_points(p, query);
    CHECK(std::equal(want.begin(), want.end(), got.value.begin() + query * 50));
  }
}

// Point 0's product loses half a unit of 1.5 with each term, and point 1's wins it. Both bounds are
// γ(D + 1)·Σ|a||b|.
TEST_CASE("nearest: what a product may be off is no less than float32 rounds, and not much more",
          "[reference]") {
  const int64_t D = 64;
  const Search s = {1, 2, D, 1, Measure::product};
  std::vector<float> A(D, 0x1p-12f), B(2 * D);
  A[0] = 1;
  B[0] = 1.5f, B[D] = 1.5f - 0x1p-22f;
  std::fill(B.begin() + 1, B.begin() + D, -0x1p-12f);
  std::fill(B.begin() + D + 1, B.end(), 0x1p-12f);
  const Dot first = {A, {B.begin(), B.begin() + D}}, second = {A, {B.begin() + D, B.end()}};
  CHECK(sum_by_fma(second) < sum_by_fma(first));  // so float32 takes point 1
  CHECK(excuses(s, A, B));                        // 0.62 of both bounds apart

  // Twice what the derivation gives for 4 products whose magnitudes add up to 1.
  const Search small = {1, 2, 4, 1, Measure::product};
  const std::vector<float> quarters(4, 0.25f);
  const auto apart = [&](Long distance) {
    std::vector<float> points(8, 1);
    points[4] += static_cast<float>(4 * distance);
    return points;
  };
  const Long both = 2 * gamma_of(4 + 1);
  CHECK(excuses(small, quarters, apart(0.7L * both)));
  CHECK_FALSE(excuses(small, quarters, apart(2 * both)));
}

// The same of |b|² − 2·a·b, where the product's error counts twice: 0.59 of both bounds. Here the
// points' own values are equal in float32, so that the first one wins.
TEST_CASE("nearest: what a distance may be off is no less than float32 rounds, and not much more",
          "[reference]") {
  const int64_t D = 64;
  const Search s = {1, 2, D};
  std::vector<float> A(D, 0.25f), B(2 * D, 0.25f);
  A[0] = 1024;
  B[0] = B[D] = 1536;
  std::fill(B.begin() + D + 1, B.end(), -0.25f);
  CHECK(excuses(s, A, B));
  std::rotate(B.begin(), B.begin() + D, B.end());  // the nearer one second: float32 takes the other
  Problem p = {s, A, B};
  for (const auto& step : steps)
    if ((step.features & ROUNDED) != 0 && why_not_here(step.needs).empty())
      CHECK(check_step(step, p, Rounding::some).out[0] == 0);

  // A query far away, at a point; the other one is ever further from it.
  const Long length = 1024,
             both = 2 * (2 * gamma_of(4 + 4) * length * length + 4 * 0x1p-24L * length * length);
  const auto apart = [&](Long distance) {
    std::vector<float> points = {1024, 0, 0, 0, 1024, 0, 0, 0};
    points[5] = static_cast<float>(std::sqrt(distance));
    return points;
  };
  const Search small = {1, 2, 4};
  const std::vector<float> query = {1024, 0, 0, 0};
  CHECK(excuses(small, query, apart(0.9L * both)));
  CHECK_FALSE(excuses(small, query, apart(2 * both)));
}

}  // namespace tutorial::masked_bmm::nearest
