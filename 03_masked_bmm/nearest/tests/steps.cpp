// All steps on shapes that their likely mistakes do not survive; then values that are special.
#include <algorithm>
#include <array>
#include <utility>

#include "common/testing/for_now.hpp"
#include "common/testing/same_bits.hpp"
#include "common/testing/two_streams.hpp"
#include "nearest/tests/problem.hpp"

namespace tutorial::masked_bmm::nearest {
namespace {

TEST_CASE("nearest: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (is_too_large_here(step)) return;
  for (const Search& s : std::vector<Search>{{128, 256, 8},
                                             {129, 257, 9},
                                             {1, 520, 17},
                                             {130, 1, 7},
                                             {1, 1, 1},
                                             {37, 300, 24},
                                             {5, 40, 0},
                                             {0, 5, 3}})
    check_all(step, random_problem(s));
  for (int64_t offset : {1, 2, 3}) {
    Problem p = random_problem({9, 270, 8});
    p.offset = offset;
    check_all(step, p);
  }
  if ((step.features & MANY) == 0) return;
  for (const Search& s : std::vector<Search>{{20, 520, 9, 10},
                                             {3, 780, 9, 6},
                                             {130, 1285, 5, 12},
                                             {4, 300, 4, 33},
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
       std::vector<Search>{{20, 300, 3}, {5, 515, 1}, {10, 300, 2, 9}, {2, 300, 2, 128}})
    check_all(step, whole_problem(s), Rounding::none);
  // All points are the same; so are two that are far apart.
  Problem same = whole_problem({2, 300, 4, 1});
  for (float& value : same.B) value = 2;
  check_all(step, same, Rounding::none);
  same.search.k = 20;
  check_all(step, same, Rounding::none);
  for (const auto& [first, second] :
       std::vector<std::pair<int, int>>{{3, 4}, {3, 35}, {255, 256}, {40, 519}}) {
    Problem twins = random_problem({2, 520, 4});
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
  const Rounding rounding = none_but_of_distances(step);
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
  for (const Problem& p : problems) check_all(step, p, rounding);
  for (Problem p : problems) {
    p.search.k = p.search.N;
    check_all(step, p, rounding);
  }
  // Beyond one tile: NaN, then -∞ in the last column.
  Problem late = random_problem({3, 515, 1});
  std::fill(late.B.begin(), late.B.end(), NOT);
  late.B[514] = -INF;
  check_all(step, late, rounding);
  late.B[514] = 4;
  check_all(step, late, rounding);
  // Beyond the last point nothing wins: all products are above 0, and what fills up a tile is not.
  Problem positive = random_problem({5, 259, 6});
  for (auto* values : {&positive.A, &positive.B})
    for (float& value : *values) value = std::abs(value) + 1;
  check_all(step, positive);
}

// |b|² - 2·a·b loses what |a - b|² has where the points lie together and far from 0.
TEST_CASE("nearest: distances are the true ones where the expansion has lost them", "[values]") {
  const auto step = EACH_STEP(steps);
  const Rounding rounding = none_but_of_distances(step);
  const auto check = [&](const Problem& p) {
    if (answers(step, p) && is_in_sample(step.name)) check_step(step, p, rounding);
  };
  for (const float away : {100.0f, 1e6f, 1e18f}) {
    Problem p = random_problem({2, 300, 8});
    for (auto* values : {&p.A, &p.B})
      for (float& value : *values) value += away;
    check(p);
    p.search.k = 7;
    check(p);
  }
  // One point in a thousand is a million times larger, and sets the margin for all.
  Problem outlier = random_problem({2, 300, 8});
  for (int d = 0; d < 8; ++d) outlier.B[77 * 8 + d] *= 1e6f;
  check(outlier);
  // Queries so far away, or points so small, that even the definition's doubles round more than
  // float32's |b|² - 2·a·b does.
  for (const auto& [away, size] : std::vector<std::pair<float, float>>{
           {1e10f, 1}, {1e14f, 1}, {1e17f, 1}, {1, 1e-12f}, {1, 1e-20f}, {1, 1e-30f}}) {
    Problem far = random_problem({4, 300, 8});
    for (float& value : far.A) value *= away;
    for (float& value : far.B) value *= size;
    check(far);
    far.search.k = 7;
    check(far);
  }
  // Each query has three points that are as near but for what the expansion's rounding hides: then
  // the candidates alone would often leave out the nearest.
  Problem triples = random_problem({80, 300, 8});
  for (int query = 0; query < 80; ++query)
    for (int twin = 0; twin < 3; ++twin)
      for (int d = 0; d < 8; ++d) {
        const float apart = d == (query + twin) % 8 ? 0.5f + 4e-7f * static_cast<float>(twin) : 0;
        const int place = 100 * ((twin + query / 3) % 3);  // the nearest is first, last, between
        triples.B[(query + place) * 8 + d] = triples.A[query * 8 + d] + apart;
      }
  check(triples);
}

// Every query has twins that are an ulp apart: in a thread, in a tile, across tiles, strips and
// shares. And all sizes of numbers that float32 has.
TEST_CASE("nearest: near ties, and numbers of every size", "[values]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & DISTANCE) == 0 || (step.features & ROUNDED) != 0) return;
  Problem twins = random_problem({131, 531, 6});
  for (int query = 0; query < 131; ++query)
    for (int twin = 0; twin < 4; ++twin)
      for (int d = 0; d < 6; ++d) {
        const int place = query + std::array{131, 0, 262, 393}[(twin + query) % 4];
        const float a = twins.A[query * 6 + d], apart = a + 0.25f;
        twins.B[place * 6 + d] = d != query % 6 ? a : twin < 2 ? apart : std::nextafter(apart, INF);
      }
  const auto check = [&](const Problem& p) {
    if (is_in_sample(step.name)) check_step(step, p, Rounding::none);
  };
  const SmallGrid grid(5, 1);
  check(twins);
  for (const auto& [of_a, of_b] : std::vector<std::pair<float, float>>{{1e30f, 1e30f},
                                                                       {1e-30f, 1e-30f},
                                                                       {1e30f, 1e-30f},
                                                                       {1e-30f, 1e17f},
                                                                       {1e17f, 1e17f},
                                                                       {1e-18f, 1e-18f},
                                                                       {1e-9f, 1e9f}}) {
    Problem p = random_problem({2, 260, 8});
    for (float& value : p.A) value *= of_a;
    for (float& value : p.B) value *= of_b;
    check(p);
    for (int point = 0; point < 260; point += 7)  // norms that are far apart
      for (int d = 0; d < 8; ++d) p.B[point * 8 + d] *= point % 2 == 0 ? 1e-6f : 1e6f;
    check(p);
  }
}

// So many that their minima would take too much memory.
TEST_CASE("nearest: queries in parts", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & DISTANCE) == 0 || (step.features & ROUNDED) != 0) return;
  const Problem p = random_problem({300, 270, 5});
  const bool has_candidates = !found_by(step, p).candidates.empty();
  const int64_t all = workspace_bytes(p.search, step.launch);
  const ForNow little_room(most_minima, int64_t{128 * 8});
  CHECK((workspace_bytes(p.search, step.launch) < all) == has_candidates);
  if (has_candidates) check_step(step, p, Rounding::none);
}

// Each number lies in the middle of two of fp16, and is rounded in the direction that hurts: the
// nearest point's product comes out as much too small as E allows, and that of others too large.
TEST_CASE("nearest: the margin of fp16 is needed, and is enough", "[values]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & DISTANCE) == 0 || (step.features & ROUNDED) != 0) return;
  constexpr int D = 64, NEAREST = 200;
  for (const float size : {1.0f, 0x1p-40f, 0x1p30f}) {
    Problem p = random_problem({1, 300, D});
    for (int d = 0; d < D; ++d) {
      // 1 + 2^-11 and 1 + 5·2^-11 are rounded down, 1 + 3·2^-11 up: ties go to even.
      const bool is_up = d % 2 == 0;
      const float a = size * (1 + static_cast<float>(is_up ? 3 : d % 4 == 1 ? 1 : 5) * 0x1p-11f);
      p.A[d] = a;
      for (int point = 0; point < 300; ++point)
        p.B[point * D + d] = point == NEAREST    ? (is_up ? -a : a)
                             : point % 100 == 37 ? (is_up ? a : -a)
                                                 : -0.5f * a;
    }
    const Answer got = check_step(step, p, Rounding::none);
    CHECK(got.out[0] == NEAREST);
  }
}

// The second kernel of step 1, alone: cuBLAS's product comes to it, too.
TEST_CASE("nearest: the minimum of a matrix", "[values]") {
  const std::vector<std::vector<float>> rows = {
      {0.0f, -0.0f, 0.0f, 1, 2},       {3, NOT, -1, NOT, -1}, {NOT, NOT, NOT, NOT, NOT},
      {INF, NOT, INF, INF, INF},       {5, -INF, 0, -INF, 1}, {-FLT_MIN, -1e-45f, 0, -FLT_MAX, 3},
      {1e-45f, -0.0f, 0.0f, 2e-45f, 1}};
  const std::vector<float> want = {0, 2, -1, 0, 1, 3, 1};
  for (const int64_t row_floats : {5, 8}) {
    std::vector<float> C;
    for (const auto& row : rows) {
      C.insert(C.end(), row.begin(), row.end());
      C.insert(C.end(), row_floats - 5, -INF);  // not of the row
    }
    const Search s = {std::ssize(rows), 5, 1, 1, Measure::product};
    const DeviceBuffer<float> c(C);
    DeviceBuffer<float> values(s.M);
    check_launch(
        [&](float* out) { row_minimum(s, c.data(), row_floats, out, values.data(), nullptr); },
        {.value = {want.begin(), want.end()}, .bound = std::vector<double>(want.size())},
        {.name = "out", .rows = s.M, .cols = 1});
  }
}

// A row in doubt costs much: on random points there must be few.
TEST_CASE("nearest: hardly any row is in doubt", "[values]") {
  const auto step = EACH_STEP(steps);
  const Problem p = random_problem({150, 300, 16});
  if (!can_do(step, p.search) || (step.features & ROUNDED) != 0) return;
  const Found found = found_by(step, p);
  if (found.candidates.empty()) {
    CHECK(found.doubtful <= 3);
    return;
  }
  CHECK(found.doubtful == 0);
  for (const int candidates : found.candidates) CHECK((candidates >= 1 && candidates <= 20));
}

// Of equal points more are within the limit than there is room for, in a row and in a warp.
TEST_CASE("nearest: more candidates than room, and fewer than neighbours", "[values]") {
  const auto step = EACH_STEP(steps);
  if ((step.features & DISTANCE) == 0 || (step.features & ROUNDED) != 0) return;
  Problem p = random_problem({5, 520, 3});
  for (int query = 1; query < 5; ++query) std::copy_n(p.A.begin(), 3, p.A.begin() + query * 3);
  for (int point = 100; point < 260; ++point) std::copy_n(p.A.begin(), 3, p.B.begin() + point * 3);
  check_step(step, p, Rounding::none);
  if ((step.features & MANY) == 0) return;
  p.search.k = 4;
  check_step(step, p, Rounding::none);
  // Only two points are ordinary: the others are farther than float32 can say, and one is NaN.
  Problem large = random_problem({2, 300, 2, 4});
  for (int i = 4; i < 600; ++i) large.B[i] *= i == 77 ? NOT : 1e25f;
  check_step(step, large, Rounding::none);
}

// Points that come nearer and nearer: every one of them is better than all before it.
TEST_CASE("nearest: the best come last", "[values]") {
  const auto step = EACH_STEP(steps);
  Problem p = random_problem({2, 520, 1});
  for (const bool rising : {false, true}) {
    for (int point = 0; point < 520; ++point)
      p.B[point] = static_cast<float>(rising ? point : 520 - point);
    p.A = {1, -2};
    p.search.k = 1;
    check_all(step, p, Rounding::none);
    p.search.k = 40;
    check_all(step, p, Rounding::none);
  }
}

TEST_CASE("nearest: the same bits on every run", "[values]") {
  const auto step = EACH_STEP(steps);
  if (is_too_large_here(step) || !is_in_sample(step.name)) return;
  CAPTURE(step.name);
  // Most points are as near as others: in which order blocks find them must not matter.
  Problem p = whole_problem({3, 270, 2});
  Search& s = p.search;
  s.measure = step.features & DISTANCE ? Measure::distance : Measure::product;
  s.k = step.features & MANY ? 5 : 1;
  const DeviceBuffer<float> a(p.A), b(p.B);
  check_same_bits(
      [&] {
        DeviceBuffer<float> out(2 * s.M * s.k);
        DeviceBuffer<std::byte> memory(workspace_bytes(s, step.launch));
        step.launch(s, a.data(), b.data(), out.data(), out.data() + s.M * s.k, workspace_in(memory),
                    nullptr);
        return out.to_host();
      },
      step.launch == &atomic_lists || (step.features & MANY) != 0 ? 20 : 2);
}

// out, and behind it values. The points are so far from 0 that all rows are in doubt: every kernel
// has work.
TEST_CASE("nearest: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  if (is_too_large_here(step)) return;
  for (const Measure measure : {Measure::product, Measure::distance}) {
    Problem p = random_problem({4, 260, 3});
    for (auto* values : {&p.A, &p.B})
      for (float& value : *values) value += 1e6f;
    Search& s = p.search;
    s.measure = measure;
    s.k = step.features & MANY ? 3 : 1;
    if (!can_do(step, s) || !is_in_sample(step.name)) continue;
    const DeviceBuffer<float> a(p.A), b(p.B);
    const int64_t of_out = s.M * s.k;
    check_in_two_streams<float>(2 * of_out, workspace_bytes(s, step.launch),
                                [&](float* out, Workspace workspace, cudaStream_t stream) {
                                  step.launch(s, a.data(), b.data(), out, out + of_out, workspace,
                                              stream);
                                });
  }
}

// A small grid has blocks with several tiles, and with parts of several strips.
TEST_CASE("nearest: shares that begin and end within a strip", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (is_too_large_here(step)) return;
  for (const int64_t blocks : {1, 2}) {
    const SmallGrid grid(blocks, 1);
    INFO("blocks " << blocks);
    check_all(step, random_problem({130, 300, 9}));
    if (blocks == 1) continue;
    check_all(step, whole_problem({12, 520, 2}), Rounding::none);
    if (step.features & MANY) check_all(step, random_problem({129, 300, 3, 5}));
  }
}

}  // namespace
}  // namespace tutorial::masked_bmm::nearest
