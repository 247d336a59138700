// The reference itself, and its bound.
#include <catch2/catch_approx.hpp>
#include <cmath>

#include "fp8/tests/check_step.hpp"

namespace tutorial::flash_attention::fp8 {
namespace {

constexpr int64_t HS = 16;

Operand ones(int64_t T, float scale = 1) {
  return {std::vector<float>(T * HS, 1.0f), {scale}};
}

TEST_CASE("fp8 attention: the reference is right where it is known") {
  // Scores 2·4·16/4 = 32 of all keys: the mean of the values.
  Operand v = ones(3, 0.5f);
  v.values[0] = 3, v.values[HS] = 5, v.values[2 * HS] = 7;
  const Attention shape = {.Tq = 2, .Tk = 3, .HS = HS};
  const Reference got = reference(shape, ones(2, 2), ones(3, 4), v, all_rows(2), 128);
  CHECK(got.out.value[0] == Catch::Approx(0.5 * 4));   // query 0 sees keys 0 and 1
  CHECK(got.out.value[HS] == Catch::Approx(0.5 * 5));  // query 1 all three
  CHECK(got.out.value[HS + 1] == Catch::Approx(0.5));
  CHECK(got.lse.value[0] == Catch::Approx(32 + std::log(2)));
  CHECK(got.lse.value[1] == Catch::Approx(32 + std::log(3)));
  CHECK(reference({.Tq = 1, .Tk = 0, .HS = HS}, ones(1), ones(0), ones(0), all_rows(1), 128)
            .lse.value[0] == -INF);
}

// A row in another tile of queries, of another head, of another sequence.
TEST_CASE("fp8 attention: the reference is the chapter's of the numbers times their scales") {
  const Attention shape = {.B = 2, .NH = 4, .NH_kv = 2, .Tq = 5, .Tk = 7, .HS = HS};
  const Problem p = normal_problem(shape);
  Operand q = {p.q, {1, 2, 0.5f, 1, 3, 1, 1, 2}}, k = {p.k, {1, 2, 3, 0.5f}},
          v = {p.v, {2, 1, 4, 8}};
  const auto times = [](const Operand& x) {
    std::vector<float> all = x.values;
    for (size_t i = 0; i < all.size(); ++i) all[i] *= x.scales[i / (all.size() / x.scales.size())];
    return all;
  };
  const std::vector<int64_t> rows = {3, 17, 39};
  const Reference got = reference(shape, q, k, v, rows, 128),
                  want = flash_attention::reference(shape, times(q), times(k), times(v), rows);
  for (size_t i = 0; i < want.out.value.size(); ++i)
    CHECK(got.out.value[i] == Catch::Approx(want.out.value[i]).epsilon(1e-5));
  for (size_t i = 0; i < rows.size(); ++i)
    CHECK(got.lse.value[i] == Catch::Approx(want.lse.value[i]).epsilon(1e-5));
}

// One key, one product a score: nothing is cut, and a weight of 1 is rounded by 2^-4 at most.
TEST_CASE("fp8 attention: the bound is a weight's rounding, and the cuts of 14 bits") {
  Operand q = ones(1), k = ones(1);
  for (Operand* x : {&q, &k}) std::fill(x->values.begin() + 1, x->values.end(), 0.0f);
  const auto bound_of = [&](int64_t Tk, const Operand& keys, int tile) {
    const Attention shape = {.Tq = 1, .Tk = Tk, .HS = HS, .causal = false};
    return reference(shape, q, keys, ones(Tk), all_rows(1), tile);
  };
  const double rounding = 0x1p-8 * (1 + 0x1p-4);  // of out to bf16
  const Reference one = bound_of(1, k, 128);
  CHECK(one.out.bound[0] == Catch::Approx(0x1p-4 + 0x1p-16 + rounding).epsilon(1e-3));
  CHECK(one.lse.bound[0] < 1e-5);
  // 32 keys: 31 products and the sum are cut, by 2^-13 of the largest and of the sum, and each may
  // be larger by the weights' errors.
  Operand many = ones(32);
  for (size_t i = 0; i < many.values.size(); ++i) many.values[i] = i % HS == 0;
  const double p = 1.0 / 32, weights = 0x1p-4 + 0x1p-16 / 32 * 32;
  const double cut = 0x1p-13 * (31 * (p + weights) + 1 + weights);
  const double want = weights + cut + 0x1p-8 * (1 + weights + cut);
  CHECK(bound_of(32, many, 128).out.bound[0] == Catch::Approx(want).epsilon(2e-3));
  // A score of 16 equal products: 15 are cut, and the sum.
  q = ones(1);
  const Reference scored = bound_of(1, ones(1), 128);
  const double score_error = 0x1p-13 * (15 + 16) / 4;
  CHECK(scored.lse.bound[0] == Catch::Approx(score_error).epsilon(5e-3));
}

TEST_CASE("fp8 attention: of 32 keys each has its place") {
  std::vector<int> times(32);
  // Lane t of a quad has the keys 8·j + 2·t and 8·j + 2·t + 1, and four places side by side.
  for (int place = 0; place < 32; ++place) {
    const int t = place % 16 / 4, half = place / 16, n = place % 4;
    CHECK(key_of_place(place) == 8 * (2 * half + n / 2) + 2 * t + n % 2);
    ++times[key_of_place(place)];
  }
  CHECK(times == std::vector<int>(32, 1));
}

}  // namespace
}  // namespace tutorial::flash_attention::fp8
