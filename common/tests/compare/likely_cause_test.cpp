// Each mistake that the report knows by its pattern: the mistake is made, and the report must name
// it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/tests/compare/outcome.hpp"

using namespace tutorial;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr Tile kTile = {.rows = 16, .cols = 16};

/// The report's line "likely: …".
std::string cause(const Outcome& outcome) {
  const std::string report = outcome.compare().report;
  const size_t begin = report.find("likely: ");
  return begin == report.npos ? "" : report.substr(begin + 8);
}

/// Sets each element for which `damaged` holds to `value`.
template <class Where>
Outcome damage(Outcome outcome, Where damaged, float value) {
  outcome.compute(
      [&](auto b, auto r, auto c) { return damaged(b, r, c) ? value : outcome.want_at(b, r, c); });
  return outcome;
}

/// Adds 1 to each element for which `damaged` holds.
template <class Where>
Outcome disturb(Outcome outcome, Where damaged) {
  outcome.compute([&](auto b, auto r, auto c) {
    return outcome.want_at(b, r, c) +
           (damaged(b, r, c) ? 1 + 0.01f * static_cast<float>(r + c) : 0);
  });
  return outcome;
}

const auto everywhere = [](int64_t, int64_t, int64_t) { return true; };

}  // namespace

// ---- from the values

TEST_CASE("cause: nothing written") {
  CHECK_THAT(cause(damage({1, 40, 40, kTile}, everywhere, poison())),
             ContainsSubstring("nothing was written: the kernel has no store yet, the launch"));
}

TEST_CASE("cause: the kernel adds to an output that nothing set") {
  CHECK_THAT(cause(damage({1, 40, 40, kTile}, everywhere, NaN)), ContainsSubstring("+= for ="));
}

TEST_CASE("cause: NaN in whole rows") {
  CHECK_THAT(cause(damage(
                 {1, 40, 40}, [](auto, auto r, auto) { return r == 5; }, NaN)),
             ContainsSubstring("a row that is masked in full"));
}

TEST_CASE("cause: NaN where infinity is wanted") {
  Outcome outcome(1, 40, 40);
  for (int64_t col = 8; col < 40; ++col) {
    outcome.want.value[outcome.index(0, 3, col)] = -double{Infinity};
    outcome.got_at(0, 3, col) = NaN;
  }
  CHECK_THAT(cause(outcome), ContainsSubstring("NaN where infinity is wanted"));
}

TEST_CASE("cause: the mask") {
  Outcome outcome(1, 40, 40);
  outcome.compute([&](auto, auto r, auto c) {
    if (c > r) outcome.want.value[outcome.index(0, r, c)] = -double{Infinity};
    return c > r ? -Infinity : outcome.got_at(0, r, c);
  });
  const Outcome right = outcome;
  REQUIRE(right.compare().ok);

  outcome.compute([&](auto, auto r, auto c) { return c > r ? 0 : right.want_at(0, r, c); });
  CHECK_THAT(cause(outcome), ContainsSubstring("the fill value is missing"));

  outcome.compute(
      [&](auto, auto r, auto c) { return c >= r ? -Infinity : right.want_at(0, r, c); });
  CHECK_THAT(cause(outcome), ContainsSubstring("too much is masked"));

  outcome.compute([&](auto, auto r, auto c) { return r > c ? -Infinity : 0.5f; });
  for (int64_t i = 0; i < 40; ++i) outcome.got_at(0, i, i) = right.want_at(0, i, i);
  CHECK_THAT(cause(outcome), ContainsSubstring("inverted, transposed"));
}

TEST_CASE("cause: every wrong element is 0") {
  CHECK_THAT(cause(damage({1, 40, 40, kTile}, everywhere, 0)), ContainsSubstring("is 0"));
}

TEST_CASE("cause: the result is transposed") {
  Outcome square(1, 40, 40, kTile);
  square.compute([&](auto, auto r, auto c) { return square.want_at(0, c, r); });
  CHECK_THAT(cause(square), ContainsSubstring("transposed"));

  Outcome wide(2, 20, 33, kTile);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t r = 0; r < 20; ++r)
      for (int64_t c = 0; c < 33; ++c) wide.got[(b * 33 + c) * 20 + r] = wide.want_at(b, r, c);
  CHECK_THAT(cause(wide), ContainsSubstring("transposed"));
}

TEST_CASE("cause: a scale is missing") {
  Outcome outcome(1, 40, 40, kTile);
  outcome.compute([&](auto, auto r, auto c) { return 8 * outcome.want_at(0, r, c); });
  CHECK_THAT(cause(outcome), ContainsSubstring("is 8 times what it should be (a factor of 0.125"));
  outcome.compute([&](auto, auto r, auto c) { return -outcome.want_at(0, r, c); });
  CHECK_THAT(cause(outcome), ContainsSubstring("wrong sign"));
}

TEST_CASE("no cause: a factor near 1, near 0, or of what is hardly known is no scale") {
  Outcome outcome(1, 40, 40, kTile);
  outcome.compute([&](auto, auto r, auto c) { return 1.0002f * outcome.want_at(0, r, c); });
  CHECK_THAT(cause(outcome), ContainsSubstring("every error is small"));
  const auto is_scaled = ContainsSubstring("times what it should be");
  outcome.compute([&](auto, auto r, auto c) { return r + c == 0 ? 1e-6f : 0; });
  CHECK_THAT(cause(outcome), !is_scaled);
  outcome.compute([&](auto, auto r, auto c) { return 8 * outcome.want_at(0, r, c); });
  CHECK_THAT(cause(outcome), is_scaled);
  outcome.want.bound.assign(outcome.got.size(), 1);
  CHECK_THAT(cause(outcome), !is_scaled);
}

TEST_CASE("cause: what belongs elsewhere") {
  Outcome outcome(2, 40, 40, kTile);
  const auto got_from = [&](auto source) {
    outcome.compute([&](auto b, auto r, auto c) {
      const auto [from_b, from_r, from_c] = source(b, r, c);
      if (from_r >= 40 || from_c < 0) return 0.25f;
      return outcome.want_at(from_b, from_r, from_c);
    });
    return cause(outcome);
  };
  using Index = std::tuple<int64_t, int64_t, int64_t>;
  CHECK_THAT(got_from([](auto, auto r, auto c) { return Index(0, r, c); }),
             ContainsSubstring("the batch offset is left out where an input is read"));
  CHECK_THAT(got_from([](auto b, auto, auto c) { return Index(b, 0, c); }),
             ContainsSubstring("row 0's result"));
  CHECK_THAT(got_from([](auto b, auto r, auto) { return Index(b, r, 0); }),
             ContainsSubstring("column 0's result"));
  CHECK_THAT(got_from([](auto b, auto r, auto c) { return Index(b, r % 16, c % 16); }),
             ContainsSubstring("the first tile's result"));
  CHECK_THAT(got_from([](auto b, auto r, auto c) { return Index(b, r + 1, c); }),
             ContainsSubstring("one row further down"));
  CHECK_THAT(got_from([](auto b, auto r, auto c) { return Index(b, r, c - 1); }),
             ContainsSubstring("one column to the left"));
}

TEST_CASE("cause: what belongs elsewhere, where few elements say so, or some rows are known") {
  // The last row holds nothing that belongs elsewhere, and only two elements do.
  Outcome few = disturb({1, 40, 40, kTile}, [](auto, auto r, auto) { return r == 39; });
  for (const int64_t col : {4, 8}) few.got_at(0, 3, col) = few.want_at(0, 4, col);
  CHECK_THAT(cause(few), !ContainsSubstring("one row further down"));

  Outcome down(1, 40, 40, kTile);
  down.compute([&](auto, auto r, auto c) { return r < 39 ? down.want_at(0, r + 1, c) : 0.25f; });
  Expected want;
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < 40; ++row) {
    if (row == 1) continue;
    rows.push_back(row);
    for (int64_t col = 0; col < 40; ++col) want.value.push_back(down.want_at(0, row, col));
  }
  want.bound.assign(want.value.size(), 1e-5);
  CHECK_THAT(compare_rows(down.got, want, rows, down.layout).report,
             ContainsSubstring("one row further down"));
}

// ---- from the places

TEST_CASE("cause: the batch offset") {
  const auto later = [](auto b, auto, auto) { return b > 0; };
  CHECK_THAT(cause(disturb({3, 40, 40, kTile}, later)),
             ContainsSubstring("batch offset or stride"));
  CHECK_THAT(cause(damage({3, 40, 40, kTile}, later, poison())),
             ContainsSubstring("the grid's z size"));
}

TEST_CASE("cause: blockIdx left out") {
  const auto later = [](auto, auto r, auto c) { return r >= 16 || c >= 16; };
  CHECK_THAT(cause(damage({1, 64, 64, kTile}, later, poison())),
             ContainsSubstring("only the first tile is right"));
}

TEST_CASE("cause: the last rows") {
  const auto last = [](auto, auto r, auto) { return r >= 48; };
  CHECK_THAT(cause(damage({1, 50, 64, kTile}, last, poison())),
             ContainsSubstring("the last rows are never written: the grid's y size"));
  CHECK_THAT(cause(disturb({1, 50, 64, kTile}, last)), ContainsSubstring("the row guard"));
  CHECK_THAT(cause(disturb({1, 64, 64, kTile}, last)), ContainsSubstring("the grid's y size"));
  Tile tile = kTile;
  tile.x_down = true;
  CHECK_THAT(cause(damage({1, 50, 64, tile}, last, poison())), ContainsSubstring("grid's x size"));
}

TEST_CASE("cause: the last columns") {
  const auto last = [](auto, auto, auto c) { return c >= 48; };
  CHECK_THAT(cause(damage({1, 64, 50, kTile}, last, poison())),
             ContainsSubstring("the last columns are never written: the grid's x size"));
  Tile tile = kTile;
  tile.x_down = true;
  CHECK_THAT(cause(damage({1, 64, 50, tile}, last, poison())), ContainsSubstring("grid's y size"));
  CHECK_THAT(cause(disturb({1, 64, 50, kTile}, last)), ContainsSubstring("the column guard"));
}

TEST_CASE("cause: both edges, and the corner") {
  const auto edges = [](auto, auto r, auto c) { return r >= 48 || c >= 48; };
  CHECK_THAT(cause(disturb({1, 50, 50, kTile}, edges)),
             ContainsSubstring("the tiles at the edge are wrong"));
  CHECK_THAT(cause(damage({1, 50, 50, kTile}, edges, poison())),
             ContainsSubstring("the tiles at the edge are never written"));
  const auto corner = [](auto, auto r, auto c) { return r >= 48 && c >= 48; };
  CHECK_THAT(cause(disturb({1, 50, 50, kTile}, corner)), ContainsSubstring("only the last tile"));
}

TEST_CASE("no cause: half of a single row or column of tiles is no edge") {
  const auto half = [](auto, auto r, auto c) { return r >= 32 || c >= 32; };
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{16, 64}, {64, 16}})
    CHECK_THAT(cause(disturb({1, rows, cols, kTile}, half)), !ContainsSubstring("at the edge"));
}

TEST_CASE("no cause: tiles off the diagonal are not the edge's, as the corner is right") {
  const Outcome swapped = disturb({1, 64, 64, {.rows = 32, .cols = 32}},
                                  [](auto, auto r, auto c) { return r / 32 != c / 32; });
  CHECK_THAT(cause(swapped), !ContainsSubstring("the tiles at the edge"));
}

TEST_CASE("cause: a part is never written") {
  const auto tiles = [](auto, auto r, auto c) { return r >= 32 || c >= 48; };
  CHECK_THAT(cause(damage({1, 64, 64, kTile}, tiles, poison())),
             ContainsSubstring("whole tiles are never written: the grid is too small"));
  const auto odd = [](auto, auto, auto c) { return c % 2 == 1; };
  CHECK_THAT(cause(damage({1, 64, 64, kTile}, odd, poison())),
             ContainsSubstring("the threads of a block do not cover the tile"));
  Outcome mixed = damage({1, 64, 64, kTile}, odd, poison());
  mixed.got_at(0, 0, 0) += 1;
  CHECK_THAT(cause(mixed), ContainsSubstring("sends results to the wrong place"));
}

TEST_CASE("cause: whole rows, whole columns") {
  CHECK_THAT(cause(disturb({1, 64, 64}, [](auto, auto r, auto) { return r % 9 == 4; })),
             ContainsSubstring("whole rows are wrong"));
  CHECK_THAT(cause(disturb({1, 64, 64}, [](auto, auto, auto c) { return c % 9 == 4; })),
             ContainsSubstring("whole columns are wrong"));
}

TEST_CASE("cause: the same part of every tile") {
  const auto part = [](auto, auto r, auto c) { return r % 16 >= 8 && c % 16 >= 12; };
  CHECK_THAT(cause(disturb({1, 64, 64, kTile}, part)),
             ContainsSubstring("(rows 8–15, columns 12–15)"));
  const auto columns = [](auto, auto r, auto c) { return (r + c) % 2 == 0 && c % 16 >= 12; };
  CHECK_THAT(cause(disturb({1, 64, 64, kTile}, columns)), ContainsSubstring("(columns 12–15)"));
  CHECK_THAT(cause(disturb({1, 16, 16, kTile}, part)), !ContainsSubstring("of every tile"));
  // Two matrices that are smaller than a tile: all of a tile that there is.
  const auto half = [](auto, auto r, auto c) { return (r + c) % 2 == 0; };
  CHECK_THAT(cause(disturb({2, 5, 9, kTile}, half)), !ContainsSubstring("the same part"));
}

TEST_CASE("cause: rounding, or the last terms dropped") {
  Outcome outcome(1, 64, 64, kTile);
  outcome.compute([&](auto, auto r, auto c) {
    return outcome.want_at(0, r, c) + ((r * 7 + c) % 3 == 0 ? 5e-5f : -2e-5f);
  });
  CHECK_THAT(cause(outcome), ContainsSubstring("the last terms of a sum are dropped"));
}

TEST_CASE("cause: a race") {
  const auto few = [](auto, auto r, auto c) { return (r * 131 + c * 37) % 101 == 0; };
  CHECK_THAT(cause(disturb({1, 64, 64, kTile}, few)), ContainsSubstring("a race"));
}

TEST_CASE("cause: wrong everywhere") {
  CHECK_THAT(cause(disturb({1, 64, 64, kTile}, everywhere)),
             ContainsSubstring("nearly everything"));
}

TEST_CASE("cause: none is named when the pattern is not known") {
  const auto third = [](auto, auto r, auto c) { return (r * 64 + c) % 3 == 0; };
  CHECK(cause(disturb({1, 64, 64, kTile}, third)) == "");
}
