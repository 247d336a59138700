#include <algorithm>
#include <cmath>

#include "common/testing/budget.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

/// Queries without a negative number, and keys that grow: so the last key that a query sees gives
/// its largest score, and one tile too few shows in every row that needs it.
std::vector<float> queries(int64_t Tq) {
  std::vector<float> q = make_values({Tq, HS}, Init::uniform, 1);
  for (float& value : q) value = std::abs(value);
  return q;
}
std::vector<float> growing_keys(int64_t Tk) {
  std::vector<float> k = make_values({Tk, HS}, Init::uniform, 2);
  for (size_t i = 0; i < k.size(); ++i) k[i] += static_cast<float>(i / HS) - 20.0f;
  return k;
}

/// A maximum is off by at most the largest error of a score, that of a dot product of HS terms.
Expected maxima(const std::vector<float>& q, const std::vector<float>& k, int64_t Tq, int64_t Tk) {
  Expected want;
  for (int64_t i = 0; i < Tq; ++i) {
    double max = -INFINITY, magnitude = 0;
    for (int64_t j = 0; j < Tk && j <= i + (Tk - Tq); ++j) {
      double dot = 0, sum = 0;
      for (int64_t d = 0; d < HS; ++d) {
        const double product = double{q[i * HS + d]} * k[j * HS + d];
        dot += product;
        sum += std::abs(product);
      }
      max = std::max(max, dot);
      magnitude = std::max(magnitude, sum);
    }
    want.value.push_back(max);
    want.bound.push_back(gamma_bound(HS) * magnitude);
  }
  return want;
}

}  // namespace

TEST_CASE("as many keys as queries, more and fewer") {
  struct Shape {
    int64_t Tq, Tk;
  };
  const auto [Tq, Tk] = GENERATE(Shape{64, 64}, Shape{1, 1}, Shape{65, 65}, Shape{63, 63},
                                 Shape{127, 131}, Shape{1, 100}, Shape{100, 1}, Shape{37, 70},
                                 Shape{70, 37}, Shape{150, 20}, Shape{0, 5}, Shape{5, 0});
  CAPTURE(Tq, Tk);
  const std::vector<float> Q = queries(Tq), K = growing_keys(Tk);
  const DeviceBuffer<float> q(Q), k(K);
  check_launch(
      [&](float* m) { largest_scores(q.data(), k.data(), m, Tq, Tk); }, maxima(Q, K, Tq, Tk),
      {.name = "m", .rows = Tq, .cols = 1, .tile = {.rows = 64, .cols = 1, .x_down = true}});
}

TEST_CASE("the budget: a block reads no tile that none of its queries sees") {
  struct Shape {
    int64_t Tq, Tk, tiles, keys;  // the sums over all blocks: tiles, and the keys in them
  };
  // Blocks have 64 queries, tiles 32 keys; the last tile may have fewer. Of 200 queries and 40 keys
  // the blocks' last queries see 0, 0, 32 and 40 keys.
  const auto [Tq, Tk, tiles, keys] =
      GENERATE(Shape{192, 192, 2 + 4 + 6, 384}, Shape{80, 40, 1 + 2, 32 + 40},
               Shape{200, 40, 0 + 0 + 1 + 2, 32 + 40}, Shape{70, 134, 4 + 5, 128 + 134});
  CAPTURE(Tq, Tk);
  const DeviceBuffer<float> q(queries(Tq)), k(growing_keys(Tk));
  DeviceBuffer<float> m(Tq);
  const Counts counts =
      counts_for_budget([&] { largest_scores(q.data(), k.data(), m.data(), Tq, Tk); });
  check_budget("bytes loaded", counts.loads.bytes, (Tq + keys) * HS * 4);
  check_budget("barriers (two a tile)", counts.barriers, 2 * tiles);
}

}  // namespace tutorial::exercise
