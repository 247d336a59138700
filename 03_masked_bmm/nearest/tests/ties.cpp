// Ties and near ties, for every pair of places that the steps tell apart: in a thread, in groups of
// 64 points, in tiles of 256.
#include <algorithm>
#include <array>
#include <cmath>

#include "nearest/tests/problem.hpp"

namespace tutorial::masked_bmm::nearest {
namespace {

/// Eight stretches of seven points: a point of each for one of each other. The third and the fourth
/// meet where a group ends, the fifth and the sixth where a tile does.
constexpr std::array<int, 8> STRETCHES = {0, 8, 57, 64, 180, 249, 256, 263};
constexpr int PAIRS = 28, CLUSTERS = 14, N = 270, D = 8;

/// Points of two stretches.
std::pair<int, int> pair_of(int number) {
  int first = 0, second = 1;
  for (int i = 0; i < number; ++i)
    if (++second == 8) second = ++first + 1;
  // The seven others of a stretch, without itself.
  return {STRETCHES[static_cast<size_t>(first)] + second - 1,
          STRETCHES[static_cast<size_t>(second)] + first};
}

enum class Nearer { both, first, second };

/// Half of the pairs: each lies near 8 or -8 on an axis of its own, and a query there sees it; all
/// other points are near 0. Points of distances differ beside the axis, so that |b|² is half a unit
/// in the last place of 64 larger; points of products on it, in the last place.
Problem near_ties(int half, int shift, Measure measure) {
  Problem p = random_problem({CLUSTERS, N, D, 1, measure});
  for (float& x : p.B) x *= 0.25f;
  std::fill(p.A.begin(), p.A.end(), 0.0f);
  for (int cluster = 0; cluster < CLUSTERS; ++cluster) {
    const auto [one, other] = pair_of(2 * cluster + half);
    const auto nearer = static_cast<Nearer>((cluster + shift) % 3);
    const int axis = cluster / 2;
    const float side = cluster % 2 == 0 ? 1.0f : -1.0f;
    for (const int place : {one, other}) {
      float* const b = p.B.data() + place * D;
      std::fill(b, b + D, 0.0f);
      const bool is_near = nearer == Nearer::both || (place == one) == (nearer == Nearer::first);
      if (measure == Measure::product) {
        b[axis] = side * (is_near ? 8 + 0x1p-20f : 8);
      } else {
        b[axis] = side * 8;
        b[axis + 1] = is_near ? 0.25f : 0.25f + 0x1p-17f;
      }
    }
    // Of the products one term is not 0: they are exact.
    p.A[cluster * D + axis] = measure == Measure::product ? -side : 8 * side;
  }
  return p;
}

}  // namespace

TEST_CASE("nearest: ties and near ties at every pair of places", "[values]") {
  const auto step = EACH_STEP(steps);
  if (is_too_large_here(step)) return;
  for (const Measure measure : {Measure::distance, Measure::product})
    for (int half : {0, 1})
      for (int shift : {0, 1, 2}) {
        Problem p = near_ties(half, shift, measure);
        p.search.k = (step.features & MANY) != 0 ? 3 : 1;
        CAPTURE(half, shift);
        if (answers(step, p) && is_in_sample(step.name))
          check_step(step, p, none_but_of_distances(step));
      }
}

TEST_CASE("nearest: near ties are half a unit apart, and each stretch meets each") {
  std::vector<int> places;
  for (int number = 0; number < PAIRS; ++number) {
    const auto [one, other] = pair_of(number);
    CHECK(one < other);
    places.push_back(one);
    places.push_back(other);
  }
  std::ranges::sort(places);
  CHECK(std::ranges::adjacent_find(places) == places.end());
  for (size_t i = 0; i < places.size(); ++i)
    CHECK(places[i] == STRETCHES[i / 7] + static_cast<int>(i % 7));

  const Problem p = near_ties(0, 1, Measure::distance);  // of cluster 0 the first is nearer
  const auto [one, other] = pair_of(0);
  const auto norm = [&](int place) {
    double sum = 0;
    for (int d = 0; d < D; ++d) sum += std::pow(double{p.B[place * D + d]}, 2);
    return sum;
  };
  CHECK(std::abs((norm(other) - norm(one)) / 0x1p-18 - 1) < 0.01);
}

}  // namespace tutorial::masked_bmm::nearest
