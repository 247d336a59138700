// Every kernel in the lists on shapes and inputs that its likely mistakes do not survive; then the
// counts of step 1; then the reference itself.
#include <catch2/catch_approx.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "06_flash_attention.hpp"
#include "common/testing/testing.hpp"

using namespace tutorial;
using namespace tutorial::flash;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr float INF = std::numeric_limits<float>::infinity();

struct Problem {
  Attention shape;
  std::vector<float> q, k, v;
};

Problem normal_problem(const Attention& shape) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal] = shape;
  return {shape, make_values({B, NH, Tq, HS}, Init::normal, 1),
          make_values({B, NH_kv, Tk, HS}, Init::normal, 2),
          make_values({B, NH_kv, Tk, HS}, Init::normal, 3)};
}

/// Adds `add(j)` to the score of key j, for all queries: q[0] = 1, and k[0] = √HS·add(j).
Problem with_scores(const Attention& shape, const std::function<float(int64_t)>& add) {
  Problem problem = normal_problem(shape);
  const auto HS = static_cast<size_t>(shape.HS);
  for (size_t i = 0; i < problem.q.size(); i += HS) problem.q[i] = 1;
  for (size_t j = 0; j < problem.k.size(); j += HS)
    problem.k[j] = std::sqrt(static_cast<float>(HS)) * add(static_cast<int64_t>(j / HS) % shape.Tk);
  return problem;
}

std::vector<int64_t> count_up(int64_t rows) {
  std::vector<int64_t> all(rows);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Reference reference(const Problem& problem) {
  return flash::reference(problem.shape, problem.q, problem.k, problem.v,
                          count_up(problem.shape.rows()));
}

std::string text(const Attention& s) {
  return "B=" + std::to_string(s.B) + " NH=" + std::to_string(s.NH) +
         " NH_kv=" + std::to_string(s.NH_kv) + " Tq=" + std::to_string(s.Tq) +
         " Tk=" + std::to_string(s.Tk) + " HS=" + std::to_string(s.HS) +
         (s.causal ? " causal" : " full");
}

/// Checks out and lse. `offset` moves all tensors by so many floats from a multiple of 256 bytes.
void check_step(const Step<Launcher>& step, const Problem& problem, int64_t offset = 0) {
  const Attention& shape = problem.shape;
  INFO(step.name << " " << text(shape) << " offset=" << offset);
  const DeviceBuffer<float> q(problem.q, offset), k(problem.k, offset), v(problem.v, offset);
  DeviceBuffer<float> lse(shape.rows(), offset), scratch(shape.rows(), offset);
  const Reference want = reference(problem);
  check_launch(
      [&](float* out) {
        step.launch(shape, q.data(), k.data(), v.data(), out, lse.data(), scratch.data());
      },
      want.out,
      {.name = "out",
       .batch = shape.B * shape.NH,
       .rows = shape.Tq,
       .cols = shape.HS,
       .tile = step.tile},
      offset);
  const Comparison sums = compare(lse.to_host(), want.lse,
                                  {.name = "lse", .batch = shape.B * shape.NH, .rows = shape.Tq});
  if (!sums.ok) FAIL_CHECK(sums.report);
  if (!lse.guards_intact()) FAIL_CHECK("the kernel wrote outside of lse");
  if (!scratch.guards_intact()) FAIL_CHECK("the kernel wrote outside of scratch");
}

void check_both(const Step<Launcher>& step, Attention shape,
                const std::function<Problem(const Attention&)>& make) {
  for (bool causal : {true, false}) {
    shape.causal = causal;
    check_step(step, make(shape));
  }
}

Step<Launcher> each_step() {
  const auto step = EACH_STEP(steps);
  return step;
}

}  // namespace

TEST_CASE("every step is right for every shape") {
  const auto step = each_step();
  const std::vector<Attention> shapes = {
      {.Tq = 1, .Tk = 1, .HS = 1},
      {.Tq = 5, .Tk = 3, .HS = 5},       // less than a tile; queries without keys
      {.Tq = 64, .Tk = 64, .HS = 64},    // whole tiles
      {.Tq = 32, .Tk = 97, .HS = 40},    // one key more than 3 tiles of 32
      {.Tq = 130, .Tk = 200, .HS = 33},  // tails everywhere, 4 tiles of keys
      {.Tq = 190, .Tk = 90, .HS = 8},    // the edge lies inside a tile of queries
      {.Tq = 1, .Tk = 150, .HS = 128},   // one query, as in decoding
      {.B = 2, .NH = 3, .NH_kv = 3, .Tq = 37, .Tk = 70, .HS = 72},
      {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 35, .Tk = 33, .HS = 96},  // grouped queries
      {.B = 2, .NH = 3, .NH_kv = 1, .Tq = 20, .Tk = 40, .HS = 128},
      {.Tq = 140, .Tk = 280, .HS = 100},  // more keys than two tiles of 128,
      {.Tq = 70, .Tk = 150, .HS = 101},   // and rows that do not begin at multiples of 16 bytes
  };
  for (const Attention& shape : shapes) check_both(step, shape, normal_problem);
}

TEST_CASE("every step takes scores of any size", "[values]") {
  const auto step = each_step();
  for (float shift : {200.0f, -200.0f, -2e4f, 2e4f}) {
    INFO("scores near " << shift);
    check_both(step, {.Tq = 70, .Tk = 130, .HS = 5}, [&](const Attention& shape) {
      return with_scores(shape, [&](int64_t) { return shift; });
    });
  }
}

TEST_CASE("every step rescales when the maximum rises, and when it falls", "[values]") {
  const auto step = each_step();
  const Attention shape = {.Tq = 33, .Tk = 260, .HS = 40};
  check_both(step, shape, [](const Attention& s) {
    return with_scores(s, [](int64_t j) { return 0.1f * static_cast<float>(j); });
  });
  check_both(step, shape, [](const Attention& s) {
    return with_scores(s, [](int64_t j) { return -0.1f * static_cast<float>(j); });
  });
}

// A key of −∞ is masked for every query, wherever its tile is.
TEST_CASE("every step survives tiles that are masked from end to end", "[values]") {
  const auto step = each_step();
  const Attention shape = {.B = 1, .NH = 2, .NH_kv = 2, .Tq = 140, .Tk = 200, .HS = 5};
  const auto masked = [&](int64_t first, int64_t last, float others) {
    INFO("keys " << first << " to " << last << " are masked, other scores near " << others);
    check_both(step, shape, [&](const Attention& s) {
      return with_scores(s, [&](int64_t j) { return j >= first && j <= last ? -INF : others; });
    });
  };
  masked(0, 63, 0);      // the first tiles
  masked(0, 150, -100);  // and what is left is small: 0 is not a maximum that may be kept
  masked(64, 127, -100);
  masked(130, 199, 0);  // the last ones
  masked(0, 199, 0);    // all
}

TEST_CASE("every step passes NaN and infinite scores on to their queries, and to no others",
          "[values]") {
  const auto step = each_step();
  Problem problem = normal_problem({.Tq = 40, .Tk = 40, .HS = 5});
  problem.q[3 * 5 + 1] = std::nanf("");  // query 3
  problem.k[30 * 5 + 2] = INF;           // key 30: +∞ or −∞ for the queries from 30 on
  check_step(step, problem);
}

TEST_CASE("every step takes any address that a float can have") {
  const auto step = each_step();
  for (int64_t offset : {1, 2, 3})
    check_step(step, normal_problem({.B = 1, .NH = 2, .NH_kv = 1, .Tq = 9, .Tk = 33, .HS = 64}),
               offset);
}

TEST_CASE("every step takes more heads than a grid has blocks in y", "[large]") {
  if (!device_has_clock()) SKIP("65538 blocks take the simulator minutes");
  const auto step = each_step();
  check_step(step, normal_problem({.B = 2, .NH = 32769, .NH_kv = 3, .Tq = 1, .Tk = 1, .HS = 1}));
}

TEST_CASE("every step does nothing when there is nothing to do") {
  const auto step = each_step();
  check_step(step, normal_problem({.B = 0}));
  check_step(step, normal_problem({.NH = 0}));
  check_step(step, normal_problem({.NH = 0, .NH_kv = 0}));
  check_step(step, normal_problem({.Tq = 0, .Tk = 5, .HS = 4}));
  check_step(step, normal_problem({.Tq = 5, .Tk = 0, .HS = 4}));  // zeros
  // Without columns out is empty, and a score without terms is no score: lse is left alone.
  const Attention no_columns = {.Tq = 5, .Tk = 5, .HS = 0};
  step.launch(no_columns, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
}

TEST_CASE("every step refuses what it cannot do, before it launches") {
  const auto step = each_step();
  const auto launch = [&](const Attention& shape) {
    step.launch(shape, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  };
  CHECK_THROWS_MATCHES(
      launch({.Tq = 8, .Tk = 8, .HS = 5000}), Error,
      MessageMatches(ContainsSubstring("head size 5000 needs ") &&
                     ContainsSubstring(" bytes of shared memory a block; this device allows ")));
  CHECK_THROWS_MATCHES(launch({.NH = 6, .NH_kv = 4}), Error,
                       MessageMatches(ContainsSubstring("--heads a multiple of --kv-heads")));
  CHECK_THROWS_AS(launch({.NH = 6, .NH_kv = 0}), Error);
  CHECK_THROWS_AS(launch({.Tq = -1}), Error);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("register_tiles refuses head sizes that its registers do not hold") {
  CHECK_THROWS_MATCHES(
      register_tiles({.HS = 129}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr), Error,
      MessageMatches(ContainsSubstring("head size 129 is too large for register_tiles")));
}

TEST_CASE("pipelined refuses head sizes that its registers do not hold") {
  CHECK_THROWS_MATCHES(
      pipelined({.HS = 129}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr), Error,
      MessageMatches(ContainsSubstring("head size 129 is too large for pipelined")));
}

TEST_CASE("outer_products refuses head sizes that its registers do not hold") {
  CHECK_THROWS_MATCHES(
      outer_products({.HS = 129}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr), Error,
      MessageMatches(ContainsSubstring("head size 129 is too large for outer_products")));
}

// ---- step 1

namespace {

struct JointShape {
  int64_t m, n, k;
};

struct JointProblem {
  explicit JointProblem(JointShape shape, int64_t offset = 0)
      : A(make_values({shape.m, shape.k}, Init::normal, 1)),
        B(make_values({shape.k, shape.n}, Init::normal, 2)),
        C(make_values({shape.n, shape.k}, Init::normal, 3)),
        a(A, offset),
        b(B, offset),
        c(C, offset),
        y(shape.m * shape.k, offset),
        y_tilde(shape.m * shape.n, offset) {}
  std::vector<float> A, B, C;
  DeviceBuffer<float> a, b, c, y, y_tilde;
};

void check_step(const Step<joint::Launcher>& step, JointShape shape, int64_t offset = 0) {
  const auto [m, n, k] = shape;
  INFO(step.name << " m=" << m << " n=" << n << " k=" << k << " offset=" << offset);
  JointProblem p(shape, offset);
  check_launch(
      [&](float* y) {
        step.launch(p.a.data(), p.b.data(), p.c.data(), y, p.y_tilde.data(), m, n, k);
      },
      joint::reference(p.A, p.B, p.C, n, k, count_up(m)),
      {.name = "y", .rows = m, .cols = k, .tile = step.tile}, offset);
  CHECK(p.y_tilde.guards_intact());
}

int64_t up_to(int64_t b, int64_t size) {
  return ceil_div(size, b) * b;
}

}  // namespace

TEST_CASE("joint tiling: every step is right for every shape") {
  std::vector<Step<joint::Launcher>> all = joint::steps;
  all.push_back({.name = "two_products", .launch = &joint::two_products, .idea = ""});
  const auto step = GENERATE_COPY(from_range(all));
  runnable(step);
  for (JointShape shape : std::vector<JointShape>{{64, 64, 64},
                                                  {1, 1, 1},
                                                  {130, 70, 45},
                                                  {1, 130, 7},
                                                  {130, 1, 7},
                                                  {17, 90, 16},
                                                  {20, 200, 32},
                                                  {33, 70, 100},
                                                  {20, 150, 200},
                                                  {0, 3, 4},
                                                  {3, 0, 4},
                                                  {3, 4, 0}})
    check_step(step, shape);
  for (int64_t offset : {1, 2, 3}) check_step(step, {9, 20, 8}, offset);
}

// What is loaded is counted element by element. Products are counted for whole tiles, because the
// kernels multiply the zeros past an edge as well.
TEST_CASE("joint tiling: the kernels do what the formulas say, rounded up where tiles are") {
  for (JointShape shape : std::vector<JointShape>{
           {128, 128, 64}, {130, 70, 45}, {64, 8, 64}, {1, 200, 64}, {70, 33, 128}, {3, 0, 4}}) {
    const auto [m, n, k] = shape;
    JointProblem p(shape);
    for (int64_t b : joint::TILES) {
      INFO("m=" << m << " n=" << n << " k=" << k << " b=" << b);
      const int64_t down = ceil_div(m, b), across = ceil_div(k, b), middle = ceil_div(n, b);
      const joint::Counts two =
          joint::count_two_products(p.a.data(), p.b.data(), p.c.data(), p.y.data(),
                                    p.y_tilde.data(), m, n, k, static_cast<int>(b));
      CHECK(two.flop == 2 * up_to(b, m) * (up_to(b, n) * up_to(b, k) * 2));
      CHECK(two.accesses ==
            m * k * middle + k * n * down + m * n + m * n * across + n * k * down + m * k);
      const joint::Counts one = joint::count_joint_tiling(p.a.data(), p.b.data(), p.c.data(),
                                                          p.y.data(), m, n, k, static_cast<int>(b));
      CHECK(one.flop == 2 * up_to(b, m) * up_to(b, n) * (k * across + up_to(b, k)));
      CHECK(one.accesses ==
            (n > 0 ? across * m * k : 0) + down * across * k * n + down * n * k + m * k);
      if (device_has_clock() || b != joint::tile_for(k)) continue;
      // The simulator sees every access, and counts what the kernel without a Count does.
      const Counts counts = counts_of([&] {
        joint::joint_tiling(p.a.data(), p.b.data(), p.c.data(), p.y.data(), nullptr, m, n, k);
      });
      CHECK(counts.loads.bytes + counts.stores.bytes == 4 * one.accesses);
    }
  }
}

TEST_CASE("joint tiling: the article's formulas, and where they differ from the counts") {
  JointProblem p({128, 256, 64});
  const auto one = [&](int64_t m, int64_t n, int64_t k, int b) {
    return joint::count_joint_tiling(p.a.data(), p.b.data(), p.c.data(), p.y.data(), m, n, k, b);
  };
  const auto two = [&](int64_t m, int64_t n, int64_t k, int b) {
    return joint::count_two_products(p.a.data(), p.b.data(), p.c.data(), p.y.data(),
                                     p.y_tilde.data(), m, n, k, b);
  };
  SECTION("whole tiles, b = k: they agree") {
    CHECK(one(128, 256, 64, 64) == joint::article_joint_tiling(128, 256, 64, 64));
    CHECK(two(128, 256, 64, 64) == joint::article_two_products(128, 256, 64, 64));
    CHECK(one(128, 256, 64, 64).flop == two(128, 256, 64, 64).flop);
  }
  SECTION("b = k/2 computes A·B twice, and so reads A and B twice, which the article left out") {
    const joint::Counts counts = one(128, 256, 64, 32);
    CHECK(counts.flop == 3 * 2 * int64_t{128} * 256 * 64);
    CHECK(counts.flop == joint::article_joint_tiling(128, 256, 64, 32).flop);
    const int64_t again = 128 * 64 + 128 / 32 * 64 * 256;
    CHECK(counts.accesses == joint::article_joint_tiling(128, 256, 64, 32).accesses + again);
  }
  SECTION("n < k/3: the article's formulas say that it does not pay, but it does") {
    const auto article_two = joint::article_two_products(128, 16, 64, 64);
    const auto article_one_unrounded = 2 * 128 * 16 + 2 * 128 * 64;  // ⌈⌉ ignored, as it does
    CHECK(article_one_unrounded > article_two.accesses);
    CHECK(one(128, 16, 64, 64).accesses < two(128, 16, 64, 64).accesses);
  }
}

// ---- the reference

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
  SECTION("some rows only: the same numbers as in all") {
    const Problem problem =
        normal_problem({.B = 2, .NH = 2, .NH_kv = 1, .Tq = 5, .Tk = 7, .HS = 3});
    const Reference all = reference(problem);
    const std::vector<int64_t> rows = {0, 7, 19};
    const Reference some = flash::reference(problem.shape, problem.q, problem.k, problem.v, rows);
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

TEST_CASE("the reference of (A·B)·C is right where it is known") {
  const int64_t m = 4, n = 3, k = 5;
  const std::vector<float> C = make_values({n, k}, Init::normal, 3);
  std::vector<float> A(m * k, 0.0f), B(k * n, 0.0f);
  for (int64_t i = 0; i < m; ++i) A[i * k + i] = 1;                // picks row i of B,
  for (int64_t x = 0; x < k; ++x) B[x * n + (2 * x + 1) % n] = 2;  // which picks a row of C, twice
  const Expected got = joint::reference(A, B, C, n, k, count_up(m));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t x = 0; x < k; ++x) CHECK(got.value[i * k + x] == 2.0 * C[(2 * i + 1) % n * k + x]);
}
