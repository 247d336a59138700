// The CPU reference: all products or distances of a query, in double, and then the smallest.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {
namespace {

/// As a float32 has it.
double rounded(double value) {
  return std::abs(value) > FLT_MAX ? std::copysign(INFINITY, value) : static_cast<float>(value);
}

struct Row {
  std::vector<double> value;
  std::vector<double> bound;  // of a product's rounding, and of this one's; or of a ROUNDED step's
};

/// How far float32's |b|² - 2·a·b can be from the exact one (docs/03_nearest.md has the formula).
double rounding_of_distance(double norm_of_a, double norm_of_b, int64_t D) {
  const double a = std::sqrt(norm_of_a), b = std::sqrt(norm_of_b),
               terms = static_cast<double>(D) + 4;
  return 2 * gamma_bound(D + 4) * a * b + 4 * 0x1p-24 * norm_of_b + terms * 0x1p-147 +
         terms * 0x1p-52 * (a + b) * (a + b);
}

Row row_of(const Search& s, const float* a, std::span<const float> B) {
  Row row;
  for (int64_t point = 0; point < s.N; ++point) {
    const float* b = B.data() + point * s.D;
    double sum = 0, magnitude = 0, norm_of_a = 0, norm_of_b = 0;
    for (int64_t d = 0; d < s.D; ++d) {
      if (s.measure == Measure::distance) {
        const double apart = double{a[d]} - double{b[d]};
        sum = std::fma(apart, apart, sum);
        norm_of_a += double{a[d]} * a[d];
        norm_of_b += double{b[d]} * b[d];
      } else {
        const double product = double{a[d]} * b[d];
        sum += product;
        magnitude += std::abs(product);
      }
    }
    const double bound = s.measure == Measure::distance
                             ? rounding_of_distance(norm_of_a, norm_of_b, s.D)
                             : gamma_bound(s.D + 1) * magnitude;
    row.value.push_back(s.measure == Measure::distance ? sum : rounded(sum));
    row.bound.push_back(std::isfinite(bound) ? bound : 0);
  }
  return row;
}

/// The points of a row, best first, without those of NaN.
std::vector<int64_t> sorted(const Row& row, int64_t k) {
  std::vector<int64_t> points;
  for (size_t point = 0; point < row.value.size(); ++point)
    if (!std::isnan(row.value[point])) points.push_back(static_cast<int64_t>(point));
  const auto before = [&](int64_t x, int64_t y) {
    return row.value[x] < row.value[y] || (row.value[x] == row.value[y] && x < y);
  };
  const auto middle = points.begin() + std::min<int64_t>(k, std::ssize(points));
  std::partial_sort(points.begin(), middle, points.end(), before);
  points.erase(middle, points.end());
  return points;
}

}  // namespace

// A float32 product or distance is off by its bound at most. So the r-th smallest of the rounded
// ones is off from the r-th smallest of the exact ones by the largest bound, and the point that has
// it by its own bound more.
Expected reference(const Search& s, std::span<const float> A, std::span<const float> B,
                   std::span<const int64_t> rows, std::span<const float> got,
                   bool rounded_distances) {
  Expected want;
  want.bound.assign(rows.size() * s.k, 0);
  for (const int64_t r : rows) {
    const Row row = row_of(s, A.data() + r * s.D, B);
    std::vector<int64_t> best = sorted(row, s.k);
    const double largest = *std::ranges::max_element(row.bound);
    for (int64_t place = 0; place < s.k; ++place) {
      double answer = place < std::ssize(best) ? static_cast<double>(best[place]) : -1;
      if ((s.measure == Measure::product || rounded_distances) && !got.empty() && answer >= 0) {
        const std::span<const float> of_row = got.subspan(r * s.k, s.k);
        const float point = of_row[place];
        const bool is_point = point >= 0 && point < static_cast<float>(s.N) &&
                              point == std::floor(point) &&
                              std::count(of_row.begin(), of_row.end(), point) == 1;
        if (is_point) {
          const auto number = static_cast<size_t>(point);
          const double apart = std::abs(row.value[number] - row.value[best[place]]);
          if (apart <= largest + row.bound[number]) answer = point;
        }
      }
      want.value.push_back(answer);
    }
  }
  return want;
}

Expected values_reference(const Search& s, std::span<const float> A, std::span<const float> B,
                          std::span<const int64_t> rows, std::span<const float> out) {
  Expected want;
  for (const int64_t r : rows)
    for (const float point : out.subspan(r * s.k, s.k)) {
      double sum = 0, magnitude = 0;
      for (int64_t d = 0; d < s.D && point >= 0; ++d) {
        const double a = A[r * s.D + d], b = B[static_cast<int64_t>(point) * s.D + d];
        const double term = s.measure == Measure::product ? a * b : (a - b) * (a - b);
        sum += term, magnitude += std::abs(term);
      }
      want.value.push_back(point < 0 ? NAN : rounded(sum));
      want.bound.push_back(gamma_bound(s.D + 1) * magnitude + 0x1p-149);
    }
  return want;
}

}  // namespace tutorial::masked_bmm::nearest
