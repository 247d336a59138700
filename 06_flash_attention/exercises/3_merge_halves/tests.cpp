#include <algorithm>
#include <cmath>

#include "common/compare/softmax_error.hpp"
#include "common/testing/testing.hpp"
#include "exercise.hpp"

namespace tutorial::exercise {
namespace {

/// What two halves of the keys gave.
struct Halves {
  std::vector<float> O1, L1, O2, L2;
};

/// Log-sum-exps of each kind: near each other; near 300; near -300, 10 apart; 200 apart; the first
/// half without keys, the second, and both.
Halves every_kind(int64_t rows, int64_t HS) {
  Halves halves{make_values({rows, HS}, Init::normal, 1), make_values({rows}, Init::normal, 2),
                make_values({rows, HS}, Init::normal, 3), make_values({rows}, Init::normal, 4)};
  for (int64_t i = 0; i < rows; ++i) {
    float &a = halves.L1[i], &b = halves.L2[i];
    const int64_t kind = i % 7;
    if (kind != 0 && kind != 2) a += 300, b += 300;
    if (kind == 2) a -= 300, b -= 310;
    if (kind == 3) b -= 200;
    if (kind == 4 || kind == 6) {
      a = -INFINITY;
      std::fill_n(halves.O1.begin() + i * HS, HS, 0.0f);
    }
    if (kind == 5 || kind == 6) {
      b = -INFINITY;
      std::fill_n(halves.O2.begin() + i * HS, HS, 0.0f);
    }
  }
  return halves;
}

struct Merged {
  Expected O, L;
};

/// The weights are exponentials of a difference, either to the larger L or to the merged one, whose
/// own error is then theirs too.
Merged merged(const Halves& halves, int64_t HS) {
  constexpr double UNIT = 0x1p-24;
  Merged want;
  for (size_t i = 0; i < halves.L1.size(); ++i) {
    const double a = halves.L1[i], b = halves.L2[i], m = std::max(a, b);
    if (m == -INFINITY) {
      want.L.value.push_back(m);
      want.L.bound.push_back(0);
      want.O.value.insert(want.O.value.end(), HS, 0);
      want.O.bound.insert(want.O.bound.end(), HS, 0);
      continue;
    }
    const double L = m + std::log(std::exp(a - m) + std::exp(b - m));
    const double w1 = std::exp(a - L), w2 = std::exp(b - L);
    const double error1 = w1 == 0 ? 0 : exp_error(L - a), error2 = w2 == 0 ? 0 : exp_error(L - b);
    const double of_L = w1 * error1 + w2 * error2 + 4 * UNIT * (1 + std::abs(L));
    want.L.value.push_back(L);
    want.L.bound.push_back(of_L);
    for (size_t e = i * HS; e < (i + 1) * HS; ++e) {
      const double part1 = w1 * halves.O1[e], part2 = w2 * halves.O2[e];
      want.O.value.push_back(part1 + part2);
      want.O.bound.push_back(std::abs(part1) * (error1 + of_L + 4 * UNIT) +
                             std::abs(part2) * (error2 + of_L + 4 * UNIT) + SUBNORMAL_ERROR);
    }
  }
  return want;
}

}  // namespace

TEST_CASE("as if the keys had not been parted") {
  const int64_t rows = GENERATE(28, 29, 1, 0);
  const int64_t HS = GENERATE(64, 32, 31, 33, 1, 0);
  CAPTURE(rows, HS);
  const Halves halves = every_kind(rows, HS);
  const Merged want = merged(halves, HS);
  const DeviceBuffer<float> O1(halves.O1), L1(halves.L1), O2(halves.O2), L2(halves.L2);
  const auto merge = [&](float* O, float* L) {
    merge_halves(O1.data(), L1.data(), O2.data(), L2.data(), O, L, rows, HS);
  };
  const Tile four_rows{.rows = 4, .cols = 64, .thread_rows = 0, .x_down = true};
  DeviceBuffer<float> other(rows * std::max<int64_t>(HS, 1));  // the output that is not looked at
  check_launch([&](float* O) { merge(O, other.data()); }, want.O,
               {.name = "O", .rows = rows, .cols = HS, .tile = four_rows});
  check_launch([&](float* L) { merge(other.data(), L); }, want.L,
               {.name = "L", .rows = rows, .cols = 1, .tile = four_rows});
}

}  // namespace tutorial::exercise
