// All steps on shapes that their likely mistakes do not survive; values that are special; then what
// stands before a launch, the counts, the program, and the reference itself.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "common/kernel/error.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/program_run.hpp"
#include "common/testing/testing.hpp"
#include "nearest/nearest.hpp"

namespace tutorial::masked_bmm::nearest {
namespace {

constexpr float INF = std::numeric_limits<float>::infinity(), NOT = NAN;

/// What a step finds, and what the workspace has beside it.
struct Answer {
  std::vector<float> out, values;
};

struct Problem {
  Search search;
  std::vector<float> A, B;
  int64_t offset = 0;  // in floats, of everything, from an address that is a multiple of 256
};

Problem random_problem(Search s, Init init = Init::normal) {
  return {s, make_values({s.M, s.D}, init, 1), make_values({s.N, s.D}, init, 2)};
}

/// Whole numbers from -3 to 3: their products are exact in float32, and many are equal.
Problem whole_problem(Search s) {
  Problem p = random_problem(s, Init::uniform);
  for (auto* values : {&p.A, &p.B})
    for (float& value : *values) value = std::floor(value * 3.5f + 0.5f);
  return p;
}

/// Runs the step, and compares. EXACT: rounding is no excuse.
enum class Rounding { some, none };
Answer check_step(const Step<Launcher>& step, const Problem& p, Rounding rounding) {
  const Search& s = p.search;
  INFO(step.name << " M=" << s.M << " N=" << s.N << " D=" << s.D << " k=" << s.k
                 << (s.measure == Measure::product ? " product" : " distance") << " offset "
                 << p.offset);
  const DeviceBuffer<float> a(p.A, p.offset), b(p.B, p.offset);
  DeviceBuffer<float> out(s.M * s.k, p.offset);
  Workspace workspace(s);
  step.launch(s, a.data(), b.data(), workspace, out.data());
  const Answer got = {out.to_host(), workspace.values.to_host()};
  const Expected want =
      reference(s, p.A, p.B, all_rows(s.M),
                rounding == Rounding::some ? std::span(got.out) : std::span<const float>());
  const Comparison result =
      compare(got.out, want, {.name = "out", .rows = s.M, .cols = s.k, .tile = step.tile});
  if (!result.ok) FAIL_CHECK(result.report);
  CHECK(out.guards_intact());
  for (const auto* buffer : {&workspace.product, &workspace.norms, &workspace.values})
    CHECK(buffer->guards_intact());
  CHECK(workspace.keys.guards_intact());
  CHECK(workspace.doubtful.guards_intact());
  // The values are those of the points that were found.
  for (int64_t i = 0; i < s.M * s.k; ++i) {
    const auto point = static_cast<int64_t>(got.out[i]);
    if (point < 0) {
      CHECK(std::isnan(got.values[i]));
      continue;
    }
    double sum = 0, magnitude = 0;
    for (int64_t d = 0; d < s.D; ++d) {
      const double x = p.A[i / s.k * s.D + d], y = p.B[point * s.D + d];
      const double term = s.measure == Measure::product ? x * y : (x - y) * (x - y);
      sum += term, magnitude += std::abs(term);
    }
    if (std::isinf(sum) || std::abs(sum) > FLT_MAX)
      CHECK(std::isinf(got.values[i]));
    else
      CHECK(std::abs(got.values[i] - sum) <= gamma_bound(s.D + 1) * magnitude + 0x1p-149);
  }
  return got;
}

/// The step on all that it can do of these.
void check_all(const Step<Launcher>& step, const Problem& p, Rounding rounding = Rounding::some) {
  Problem each = p;
  for (const Measure measure : {Measure::product, Measure::distance}) {
    each.search.measure = measure;
    if (can_do(step, each.search)) check_step(step, each, rounding);
  }
}

bool is_too_large_here(const Step<Launcher>& step) {
  Search s = {.M = 0, .N = 1, .D = 1};
  if ((step.features & DISTANCE) == 0) s.measure = Measure::product;
  Workspace workspace(s);
  return is_device_too_small(step.name,
                             [&] { step.launch(s, nullptr, nullptr, workspace, nullptr); });
}

TEST_CASE("nearest: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (is_too_large_here(step)) return;
  for (const Search& s : std::vector<Search>{{128, 256, 8},
                                             {129, 257, 9},
                                             {1, 700, 17},
                                             {130, 1, 7},
                                             {1, 1, 1},
                                             {37, 300, 64},
                                             {5, 40, 0},
                                             {0, 5, 3},
                                             {3, 600, 100}})
    check_all(step, random_problem(s));
  for (int64_t offset : {1, 2, 3}) {
    Problem p = random_problem({9, 270, 8});
    p.offset = offset;
    check_all(step, p);
  }
  if ((step.features & MANY) == 0) return;
  for (const Search& s : std::vector<Search>{{20, 600, 24, 10},
                                             {3, 128, 5, 128},
                                             {4, 1500, 4, 33},
                                             {2, 530, 3, 128},
                                             {130, 300, 9, 2},
                                             {7, 12, 3, 12}})
    check_all(step, random_problem(s));
}

// Products of small whole numbers are exact, and most are equal to others: the smallest number must
// win, in a thread, between threads, tiles and blocks.
TEST_CASE("nearest: of equal ones the smaller number comes first", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (const Search& s :
       std::vector<Search>{{130, 700, 3}, {5, 1300, 1}, {20, 300, 2, 9}, {3, 600, 2, 128}})
    check_all(step, whole_problem(s), Rounding::none);
  // All points are the same; so are two that are far apart.
  Problem same = whole_problem({3, 600, 4, 1});
  for (float& value : same.B) value = 2;
  check_all(step, same, Rounding::none);
  same.search.k = 20;
  check_all(step, same, Rounding::none);
  for (const auto& [first, second] : std::vector<std::pair<int, int>>{
           {3, 4}, {3, 35}, {10, 200}, {255, 256}, {40, 599}, {256, 512}}) {
    Problem twins = random_problem({2, 600, 4});
    for (int d = 0; d < 4; ++d) {
      for (int query : {0, 1}) twins.A[query * 4 + d] = 100.0f;
      for (int twin : {first, second}) {
        twins.search.measure = Measure::distance;
        twins.B[twin * 4 + d] = 100.0f;  // the query itself
      }
    }
    if (can_do(step, twins.search)) check_step(step, twins, Rounding::none);
    twins.search.measure = Measure::product;
    for (int twin : {first, second})
      for (int d = 0; d < 4; ++d) twins.B[twin * 4 + d] = -50.0f;
    if (can_do(step, twins.search)) check_step(step, twins, Rounding::none);
  }
}

TEST_CASE("nearest: special values", "[values]") {
  const auto step = EACH_STEP(steps);
  const auto one_column = [](std::vector<float> A, std::vector<float> B, int64_t k = 1) {
    return Problem{{std::ssize(A), std::ssize(B), 1, k}, A, B};
  };
  const std::vector<Problem> problems = {
      // NaN never wins, wherever it stands; nothing is left of a row of NaN.
      one_column({1, -1, NOT}, {NOT, 3, 2, NOT, 2}),
      one_column({1, NOT, 2}, {NOT, NOT, NOT}),
      one_column({0, 1}, {INF, NOT, -INF}),  // 0·∞ is NaN, ∞ - ∞ too
      // -∞ wins, the first of several; +∞ wins where there is nothing else.
      one_column({1, -1}, {5, -INF, INF, -INF, INF}),
      one_column({INF, -INF}, {3, 1, 2}),
      one_column({INF, -INF}, {INF, INF, NOT, -INF}),
      one_column({1, 2}, {INF, INF, INF}),
      // 0 and -0 are equal, also where a product is too small for float32.
      one_column({1, -1}, {0.0f, -0.0f, 0.0f}),
      one_column({1, -1}, {-0.0f, 0.0f}),
      one_column({1e-30f, -1e-30f}, {1e-30f, -1e-30f}),
      // All signs and sizes.
      one_column({1, -1}, {1e-40f, -1e-40f, FLT_MAX, -FLT_MAX, 1, -1, FLT_MIN, -FLT_MIN}),
      one_column({1e-40f, 1e-22f, 0}, {1e-22f, 1.1e-22f, 1e-40f, -1e-40f, 2e-40f}),
      one_column({1e25f, 1e19f, 3}, {1e20f, -1e20f, 2e25f, 1.5e25f, 1}),
      one_column({-3, 3}, {-1, -2, 0, 1}),
  };
  for (const Problem& p : problems) check_all(step, p, Rounding::none);
  for (Problem p : problems) {
    p.search.k = p.search.N;
    check_all(step, p, Rounding::none);
  }
  // Beyond one tile: NaN, then -∞ in the last column.
  Problem late = random_problem({3, 515, 1});
  std::fill(late.B.begin(), late.B.end(), NOT);
  late.B[514] = -INF;
  check_all(step, late, Rounding::none);
  late.B[514] = 4;
  check_all(step, late, Rounding::none);
  // Beyond the last point nothing wins: all products are above 0, and what fills up a tile is not.
  Problem positive = random_problem({5, 259, 6});
  for (auto* values : {&positive.A, &positive.B})
    for (float& value : *values) value = std::abs(value) + 1;
  check_all(step, positive);
}

// |b|² - 2·a·b loses what |a - b|² has where the points lie together and far from 0.
TEST_CASE("nearest: distances are the true ones where the expansion has lost them", "[values]") {
  const auto step = EACH_STEP(steps);
  for (const float away : {100.0f, 4096.0f, 1e6f, 1e18f}) {
    Problem p = random_problem({4, 600, 8});
    for (auto* values : {&p.A, &p.B})
      for (float& value : *values) value += away;
    if (!can_do(step, p.search)) continue;
    check_step(step, p, Rounding::none);
    p.search.k = 7;
    if (can_do(step, p.search)) check_step(step, p, Rounding::none);
  }
  // One point in a thousand is a million times larger, and sets the margin for all.
  Problem outlier = random_problem({4, 600, 8});
  for (int d = 0; d < 8; ++d) outlier.B[77 * 8 + d] *= 1e6f;
  if (can_do(step, outlier.search)) check_step(step, outlier, Rounding::none);
  // Nearly twins: they differ by less than the expansion sees.
  Problem twins = random_problem({20, 300, 8});
  for (int query = 0; query < 20; ++query)
    for (int d = 0; d < 8; ++d) {
      const float a = twins.A[query * 8 + d];
      for (int twin = 0; twin < 12; ++twin)
        twins.B[(query * 13 + twin) % 300 * 8 + d] = a + 1e-4f * static_cast<float>(12 - twin);
    }
  if (can_do(step, twins.search)) check_step(step, twins, Rounding::none);
}

// Points that come nearer and nearer: every one of them is better than all before it.
TEST_CASE("nearest: the best come last", "[values]") {
  const auto step = EACH_STEP(steps);
  Problem p = random_problem({2, 1100, 1});
  for (const bool rising : {false, true}) {
    for (int point = 0; point < 1100; ++point)
      p.B[point] = static_cast<float>(rising ? point : 1100 - point);
    p.A = {1, -2};
    p.search.k = 1;
    check_all(step, p, Rounding::none);
    p.search.k = 40;
    check_all(step, p, Rounding::none);
  }
}

TEST_CASE("nearest: the same bits on every run, and in every cut", "[values]") {
  const auto step = EACH_STEP(steps);
  Problem p = random_problem({150, 800, 12});
  p.search.measure = step.features & DISTANCE ? Measure::distance : Measure::product;
  p.search.k = step.features & MANY ? 5 : 1;
  const Answer first = check_step(step, p, Rounding::some);
  const Answer again = check_step(step, p, Rounding::some);
  CHECK(first.out == again.out);
  CHECK(first.values == again.values);
}

// A small grid has blocks with several tiles, and with parts of several strips.
TEST_CASE("nearest: shares that begin and end within a strip", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (is_too_large_here(step)) return;
  for (const int64_t blocks : {1, 2, 3, 4, 7}) {
    const SmallGrid grid(blocks, 1);
    INFO("blocks " << blocks);
    check_all(step, random_problem({260, 900, 5}));
    check_all(step, whole_problem({140, 770, 2}), Rounding::none);
    if ((step.features & MANY) == 0) continue;
    check_all(step, random_problem({140, 1030, 3, 12}));
  }
}

TEST_CASE("nearest: the shares are equal, and have every tile") {
  struct Case {
    int64_t M, N, blocks, expected;
  };
  for (const Case& c : std::vector<Case>{{16384, 16384, 132, 132},
                                         {128, 16384, 132, 64},
                                         {1, 1, 132, 1},
                                         {0, 512, 132, 0},
                                         {300, 5, 1, 1},
                                         {1000, 100000, 132, 132},
                                         {20000, 300, 7, 7}}) {
    const Cut cut = cut_of({c.M, c.N, 1}, c.blocks);
    CAPTURE(c.M, c.N, c.blocks);
    CHECK(cut.blocks == c.expected);
    if (cut.blocks == 0) continue;
    const int64_t tiles = cut.strips * cut.tiles;
    CHECK(tiles == ceil_div(c.M, 128) * ceil_div(c.N, 256));
    CHECK(cut.first_tile(0) == 0);
    CHECK(cut.first_tile(cut.blocks) == tiles);
    int64_t most = 0;
    for (int64_t block = 0; block < cut.blocks; ++block) {
      const int64_t first = cut.first_tile(block), next = cut.first_tile(block + 1);
      CHECK((next - first == tiles / cut.blocks || next - first == tiles / cut.blocks + 1));
      CHECK(cut.block_of(first) == block);
      CHECK(cut.block_of(next - 1) == block);
    }
    for (int64_t strip = 0; strip < cut.strips; ++strip)
      most = std::max(
          most, 1 + cut.block_of((strip + 1) * cut.tiles - 1) - cut.block_of(strip * cut.tiles));
    CHECK(most <= cut.parts());
    CHECK(cut.parts() <= most + 1);
  }
}

std::string refusal(const Search& s, const Step<Launcher>& step) {
  Search nothing = {.M = 0, .N = 1, .D = 1};
  Workspace workspace(nothing);
  try {
    step.launch(s, nullptr, nullptr, workspace, nullptr);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("nearest: what cannot be done is refused in a sentence") {
  const auto step = EACH_STEP(steps);
  const Measure measure = step.features & DISTANCE ? Measure::distance : Measure::product;
  const auto says = [&](Search s) {
    s.measure = measure;
    return refusal(s, step);
  };
  CHECK(says({.M = 0, .N = 1, .D = 1}).empty());
  CHECK(says({.M = 0, .N = MOST_POINTS, .D = 1}).empty());
  CHECK_THAT(says({.M = 0, .N = MOST_POINTS + 1, .D = 1}),
             ContainsSubstring("16777217 points are too many"));
  CHECK_THAT(says({.M = 0, .N = 0, .D = 1}), ContainsSubstring("--neighbours is 1 of 0 points"));
  CHECK_THAT(says({.M = 0, .N = 4, .D = 1, .k = 5}),
             ContainsSubstring("--neighbours is 5 of 4 points"));
  CHECK_THAT(says({.M = 0, .N = 500, .D = 1, .k = 129}), ContainsSubstring("take 1 to 128"));
  CHECK_THAT(says({.M = 0, .N = 500, .D = 1, .k = 0}), ContainsSubstring("take 1 to 128"));
  if ((step.features & MANY) == 0) {
    CHECK_THAT(says({.M = 0, .N = 500, .D = 1, .k = 2}), ContainsSubstring("finds one neighbour"));
    Search other = {.M = 0, .N = 5, .D = 1};
    other.measure = measure == Measure::product ? Measure::distance : Measure::product;
    CHECK_THAT(refusal(other, step), ContainsSubstring("compares"));
  }
}

TEST_CASE("nearest: the program checks all steps, and finds one wrong element", "[program]") {
  const Words product = {"--part", "nearest", "--product", "--m", "20", "--n", "30", "--d", "8"};
  const ProgramRun run = run_program(product);
  // 2·20·30·8 FLOP; A and B, and 20 numbers
  const Cost least = {.flop = 9600, .bytes = 4 * (20 * 8 + 30 * 8 + 20)};
  check_all_right(run, {"product_then_minimum", "fused_minimum", "k_best", "cuBLAS + minimum"},
                  least);
  const ProgramRun near = run_program({"--part", "nearest", "--m", "20", "--n", "30", "--d", "8"});
  check_all_right(near, {"second_look", "k_best"}, least);
  CHECK_THAT(near.out, ContainsSubstring("out[20×1] = the 1 nearest of B[30×8] for each of "
                                         "A[20×8], by |a - b|, fp32"));
  check_wrong(run_stand_in(product, {.first = 19, .count = 1, .by = 1}), "fused_minimum",
              {"1 of 20 elements", "out[19][0]"});
}

TEST_CASE("nearest: the program compares some rows of a large result", "[program]") {
  check_wrong(run_stand_in({"--part", "nearest", "--product", "--kernel", "fused_minimum", "--m",
                            "200", "--n", "10000", "--d", "100"},
                           {.first = 199, .count = 1, .by = 1}),
              "fused_minimum", {"1 of 101 checked elements (101 of 200 rows)", "out[199][0]"});
}

TEST_CASE("the reference of the nearest is right where it is known") {
  const std::vector<float> A = {0, 10}, B = {3, -1, 9, 1, NAN};
  const auto of = [&](Search s) { return reference(s, A, B, all_rows(s.M)).value; };
  CHECK(of({2, 5, 1, 2}) == std::vector<double>{1, 3, 2, 0});  // |0 - -1| = |0 - 1|
  CHECK(of({2, 5, 1, 5}) == std::vector<double>{1, 3, 0, 2, -1, 2, 0, 3, 1, -1});
  CHECK(of({2, 5, 1, 2, Measure::product}) == std::vector<double>{0, 1, 1, 3});
  // Rounding is an excuse for one that is as good, and for no other; and not for one twice.
  const std::vector<float> close = {1, 1 + 0x1p-23f, 2};
  const Search s = {1, 3, 1, 2, Measure::product};
  const std::vector<float> one = {1};
  const auto with = [&](std::vector<float> got) {
    return reference(s, one, close, all_rows(1), got).value;
  };
  CHECK(with({0, 1}) == std::vector<double>{0, 1});
  CHECK(with({1, 0}) == std::vector<double>{1, 0});
  CHECK(with({1, 1}) == std::vector<double>{0, 1});
  CHECK(with({2, 1}) == std::vector<double>{0, 1});
  CHECK(with({0.5f, 7}) == std::vector<double>{0, 1});
}

}  // namespace
}  // namespace tutorial::masked_bmm::nearest
