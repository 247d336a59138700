// What "equal" means, and what a report says. Its last line, the likely cause, has a test of its
// own.
#include "common/compare/compare.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <set>

#include "common/tests/compare/outcome.hpp"

using namespace tutorial;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

namespace {

/// Compares one element.
bool equal(float got, double want, double bound) {
  const std::vector<float> result = {got};
  return compare(result, {{want}, {bound}}, {}).ok;
}

}  // namespace

TEST_CASE("an element is right up to its bound") {
  CHECK(equal(1.0f, 1.0, 0.0));
  CHECK(equal(1.25f, 1.0, 0.25));
  CHECK(equal(0.75f, 1.0, 0.25));
  CHECK_FALSE(equal(std::nextafter(1.25f, 2.0f), 1.0, 0.25));
  CHECK_FALSE(equal(std::nextafter(0.75f, 0.0f), 1.0, 0.25));
  CHECK_FALSE(equal(0.0f, 1e-9, 1e-12));  // a zero is no result, however small the result
  CHECK(equal(-0.0f, 0.0, 0.0));
}

TEST_CASE("NaN and infinity are right only where they are wanted") {
  const double nan = NaN, infinity = Infinity;
  CHECK_FALSE(equal(NaN, 1.0, 10.0));
  CHECK_FALSE(equal(NaN, 1.0, infinity));
  CHECK_FALSE(equal(poison(), 0.0, 10.0));
  CHECK_FALSE(equal(1.0f, nan, 10.0));
  CHECK_FALSE(equal(1.0f, 1.0, nan));
  CHECK(equal(NaN, nan, 0.0));
  CHECK(equal(-NaN, nan, 0.0));

  CHECK(equal(-Infinity, -infinity, 0.0));
  CHECK_FALSE(equal(Infinity, -infinity, infinity));
  CHECK_FALSE(equal(-3e38f, -infinity, infinity));
  CHECK_FALSE(equal(Infinity, 1.0, infinity));
  CHECK_FALSE(equal(NaN, infinity, infinity));
  CHECK_FALSE(equal(Infinity, nan, 0.0));
}

TEST_CASE("an empty result is right") {
  CHECK(compare({}, {}, {.batch = 0, .rows = 3, .cols = 4}).ok);
  CHECK(compare({}, {}, {.rows = 3, .cols = 0}).ok);
  CHECK(compare_rows({}, {}, sample_rows(0, 5, 1), {.rows = 0, .cols = 4}).ok);
}

TEST_CASE("sizes that do not fit are a mistake of the caller") {
  const std::vector<float> got = {1, 2};
  CHECK_THROWS_AS(compare(got, {{1}, {0}}, {.cols = 2}), std::logic_error);
  CHECK_THROWS_AS(compare(got, {{1, 2}, {0, 0}}, {.cols = 3}), std::logic_error);
}

TEST_CASE("a comparison gives the largest error with its bound, also when all is right") {
  const std::vector<float> got = {1.5f, 2.25f, NaN};
  const double nan = NaN;
  const Comparison right = compare(got, {{1, 2, nan}, {0.5, 0.75, 0}}, {.cols = 3});
  CHECK(right.ok);
  CHECK(right.wrong == 0);
  CHECK(right.max_error == 0.5);
  CHECK(right.bound == 0.5);
  CHECK(right.report.empty());
  const Comparison wrong = compare(got, {{1, 2, 3}, {0.5, 0.125, 9}}, {.cols = 3});
  CHECK_FALSE(wrong.ok);
  CHECK(wrong.wrong == 2);
  // Exact results, which allow no error, have one, too; it is not the last one's.
  const Comparison exact = compare(got, {{-3, 2.25, nan}, {0, 0, 0}}, {.cols = 3});
  CHECK((exact.wrong == 1 && exact.max_error == 4.5 && exact.bound == 0));
}

TEST_CASE("gamma_bound is n·u / (1 - n·u)") {
  CHECK(gamma_bound(0) == 0);
  CHECK(gamma_bound(1) == 0x1p-24 / (1 - 0x1p-24));
  CHECK(gamma_bound(4, 0x1p-3) == 1.0);
  CHECK(std::isinf(gamma_bound(int64_t{1} << 24)));
}

TEST_CASE("in_bf16 allows for one rounding to bf16, and no more") {
  const Expected want = in_bf16({{1.00390625, 300, 0}, {0, 0, 0}});  // the first lies between two
  const Layout layout = {.rows = 1, .cols = 3};
  CHECK(compare(std::vector<float>{1, 300, 0}, want, layout).ok);
  CHECK(compare(std::vector<float>{1.0078125f, 300, 0}, want, layout).ok);
  CHECK_FALSE(compare(std::vector<float>{1, 302, 0}, want, layout).ok);  // bf16 has 300
  CHECK_FALSE(compare(std::vector<float>{1, 300, 1e-30f}, want, layout).ok);
  const Expected off = in_bf16({{100}, {1}});
  CHECK(compare(std::vector<float>{101.25f}, off, {.rows = 1, .cols = 1}).ok);
  CHECK_FALSE(compare(std::vector<float>{101.5f}, off, {.rows = 1, .cols = 1}).ok);
}

TEST_CASE("in_fp16 allows for one rounding to fp16, and wants infinity beyond its range") {
  const Expected want = in_fp16({{1 + 0x1p-11, 0, 65519, -65520}, {0, 0, 0, 0}});
  const Layout layout = {.rows = 1, .cols = 4};
  const auto is_right = [&](float a, float b, float c, float d) {
    return compare(std::vector<float>{a, b, c, d}, want, layout).ok;
  };
  CHECK(is_right(1, 0, 65504, -INFINITY));
  CHECK(is_right(1 + 0x1p-10f, 0, 65504, -INFINITY));
  CHECK_FALSE(is_right(1 + 0x1p-9f, 0, 65504, -INFINITY));
  CHECK_FALSE(is_right(1, 0x1p-24f, 65504, -INFINITY));
  CHECK_FALSE(is_right(1, 0, INFINITY, -INFINITY));
  CHECK_FALSE(is_right(1, 0, 65504, -65504));
}

TEST_CASE("a report names the worst element, the first few, the tiles, block and thread") {
  Outcome outcome(1, 130, 70, {.rows = 128, .cols = 128, .thread_rows = 8, .thread_cols = 8});
  for (int64_t col = 0; col < 70; ++col) outcome.got_at(0, 129, col) = poison();
  outcome.got_at(0, 129, 17) = -3.25f;
  outcome.want.value[outcome.index(0, 129, 17)] = 0.875;
  outcome.want.value[outcome.index(0, 129, 0)] = 0.5;
  const Comparison comparison = outcome.compare();
  CHECK(comparison.wrong == 70);
  CHECK_THAT(comparison.report,
             ContainsSubstring("  70 of 9100 elements are out of bound; the worst is C[129][17]: "
                               "got -3.25, want 0.875, bound 1e-05\n"
                               "  first: C[129][0] got nan (never written), want 0.5\n"
                               "         C[129][1] got nan (never written), want "));
  CHECK_THAT(comparison.report, ContainsSubstring("  all of them in row 129 of 130\n"));
  CHECK_THAT(comparison.report,
             ContainsSubstring("  tiles wrong (128×128):  .\n"
                               "                          #   ← only the last row of tiles\n"));
  CHECK_THAT(comparison.report,
             ContainsSubstring("  C[129][17] belongs to block (0,1), thread (2,0)\n"));
  CHECK_THAT(comparison.report, ContainsSubstring("\n  likely: "));
  CHECK(comparison.report.back() == '\n');
}

TEST_CASE("a report shows more digits when got and want would read the same") {
  const std::vector<float> got = {1.0000001f};
  CHECK_THAT(compare(got, {{1.0}, {0}}, {}).report,
             ContainsSubstring("got 1.00000012, want 1, bound 0"));
}

TEST_CASE("block and thread follow the tile's shape") {
  const auto owner = [](Tile tile, int64_t batch) {
    Outcome outcome(batch, 40, 50, tile);
    outcome.got_at(batch - 1, 33, 18) += 1;
    const std::string report = outcome.compare().report;
    const size_t begin = report.find("belongs to ");
    return begin == report.npos ? ""
                                : report.substr(begin + 11, report.find('\n', begin) - begin - 11);
  };
  CHECK(owner({}, 1) == "");
  CHECK(owner({.rows = 16, .cols = 16}, 1) == "block (1,2), thread (2,1)");
  CHECK(owner({.rows = 16, .cols = 16}, 3) == "block (1,2,2), thread (2,1)");
  CHECK(owner({.rows = 16, .cols = 16, .x_down = true}, 1) == "block (2,1), thread (1,2)");
  CHECK(owner({.rows = 16, .cols = 8, .thread_rows = 0}, 1) == "block (2,2)");
  CHECK(owner({.rows = 1, .cols = 0, .x_down = true}, 1) == "block (33,0)");  // a row a block
  CHECK(owner({.rows = 8, .cols = 1 << 30, .thread_cols = 1 << 30, .x_down = true}, 1) ==
        "block (4,0), thread (1,0)");  // a row a thread
  // Columns 0-3 and 16-19 of a tile belong to thread 0; 18 is in its second group.
  CHECK(owner({.rows = 8, .cols = 32, .thread_cols = 8, .thread_col_parts = 2}, 1) ==
        "block (0,4), thread (0,1)");
  CHECK(owner({.rows = 16, .cols = 16, .names_block = false}, 1) == "");
}

TEST_CASE("the map of a large output is drawn smaller") {
  Outcome outcome(1, 330, 410, {.rows = 10, .cols = 10});
  outcome.got_at(0, 0, 0) += 1;
  outcome.got_at(0, 329, 409) += 1;
  // 33×41 tiles: a mark for 3×2.
  const std::string report = outcome.compare().report;
  CHECK_THAT(report, ContainsSubstring("  tiles wrong (10×10):  #....................\n"));
  CHECK_THAT(report, ContainsSubstring("  ....................#   ← 2 of 1353 tiles; a mark stands "
                                       "for 3×2\n"));
  CHECK(std::count(report.begin(), report.end(), '#') == 2);
  Outcome wide(1, 10, 410, {.rows = 10, .cols = 10});
  wide.got_at(0, 0, 0) += 1;
  CHECK_THAT(wide.compare().report, ContainsSubstring("a mark stands for 1×2\n"));
}

TEST_CASE("without a tile the map shows parts of the output") {
  Outcome outcome(1, 32, 80);
  outcome.got_at(0, 31, 79) += 1;
  CHECK_THAT(outcome.compare().report, ContainsSubstring("tiles wrong (2×2)"));
}

TEST_CASE("the map of a batch shows the worst element's matrix") {
  Outcome outcome(3, 4, 4, {.rows = 2, .cols = 2});
  outcome.got_at(1, 0, 0) += 1;
  outcome.got_at(2, 3, 0) += 2;
  const std::string report = outcome.compare().report;
  CHECK_THAT(report, ContainsSubstring("the worst is C[2][3][0]"));
  CHECK_THAT(report, ContainsSubstring("all of them in batches 1–2 of 3"));
  CHECK_THAT(report, ContainsSubstring("tiles wrong in batch 2 (2×2):  ..\n"));
}

TEST_CASE("some rows are compared with the rows that they belong to") {
  Outcome outcome(2, 50, 8, {.rows = 16, .cols = 8});
  const std::vector<int64_t> rows = {0, 49, 60, 99};
  Expected want;
  for (int64_t row : rows)
    for (int64_t col = 0; col < 8; ++col) {
      want.value.push_back(outcome.want.value[row * 8 + col]);
      want.bound.push_back(1e-5);
    }
  CHECK(compare_rows(outcome.got, want, rows, outcome.layout).ok);

  outcome.got_at(0, 7, 3) = NaN;  // not among the rows
  CHECK(compare_rows(outcome.got, want, rows, outcome.layout).ok);

  outcome.got_at(1, 10, 5) += 1;
  const Comparison comparison = compare_rows(outcome.got, want, rows, outcome.layout);
  CHECK(comparison.wrong == 1);
  CHECK_THAT(comparison.report,
             ContainsSubstring("1 of 32 checked elements (4 of 100 rows) are out of bound; the "
                               "worst is C[1][10][5]"));
  CHECK_THAT(comparison.report, ContainsSubstring("tiles wrong in batch 1 (16×8):  #   ← "));
}

TEST_CASE("a report ends with who wrote the worst element, if that is known") {
  Outcome outcome(2, 50, 8, {.rows = 16, .cols = 8});
  outcome.got_at(1, 10, 5) += 1;
  std::vector<int64_t> asked;
  outcome.layout.writer = [&](int64_t element) {
    asked.push_back(element);
    return asked.size() == 1 ? "thread (5,10)  step2.cu:7" : "";
  };
  CHECK(compare(outcome.got, outcome.want, outcome.layout)
            .report.ends_with("\n  C[1][10][5] was written by thread (5,10)  step2.cu:7\n"));
  CHECK_THAT(compare(outcome.got, outcome.want, outcome.layout).report,
             !ContainsSubstring("written by"));
  CHECK(asked == std::vector<int64_t>(2, 50 * 8 + 10 * 8 + 5));
}

TEST_CASE("tiles without a checked row have a question mark on the map") {
  Outcome outcome(1, 64, 4, {.rows = 16, .cols = 4});
  outcome.got_at(0, 63, 1) += 1;
  const std::vector<int64_t> rows = {0, 63};
  Expected want;
  for (int64_t row : rows)
    for (int64_t col = 0; col < 4; ++col) want.value.push_back(outcome.want_at(0, row, col));
  want.bound.assign(8, 1e-5);
  CHECK_THAT(compare_rows(outcome.got, want, rows, outcome.layout).report,
             ContainsSubstring("(16×4):  .\n"
                               "                       ?\n"
                               "                       ?\n"
                               "                       #   ← only the last row of tiles"));
}

TEST_CASE("sampled rows are distinct, in order, with the first and the last") {
  for (const auto& [total, count] : {std::pair<int64_t, int64_t>{1000, 37},
                                     {10, 10},
                                     {10, 9},
                                     {5, 50},
                                     {1, 3},
                                     {int64_t{1} << 40, 100}}) {
    const std::vector<int64_t> rows = sample_rows(total, count, 3);
    CHECK(static_cast<int64_t>(rows.size()) == std::min(total, count));
    CHECK(rows.front() == 0);
    CHECK(rows.back() == total - 1);
    CHECK(std::is_sorted(rows.begin(), rows.end()));
    CHECK(std::set(rows.begin(), rows.end()).size() == rows.size());
    CHECK(rows == sample_rows(total, count, 3));
  }
  CHECK(sample_rows(1000, 37, 3) != sample_rows(1000, 37, 4));
  CHECK(sample_rows(0, 5, 1).empty());
  CHECK(sample_rows(5, 1, 1) == std::vector<int64_t>{0});
}
