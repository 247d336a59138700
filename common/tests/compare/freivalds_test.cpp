// Freivalds' check: passes a float32 product, and finds what is wrong in one.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/tests/compare/outcome.hpp"

using namespace tutorial;
using Catch::Matchers::ContainsSubstring;

namespace {

/// C = A·B, summed in float32 from left to right, as a kernel does.
struct Product {
  int64_t M, N, K;
  std::vector<float> A, B, C;

  Product(int64_t rows, int64_t cols, int64_t depth, Init init)
      : M(rows),
        N(cols),
        K(depth),
        A(make_values({M, K}, init, 1)),
        B(make_values({K, N}, init, 2)),
        C(static_cast<size_t>(M * N)) {
    multiply(K);
  }
  /// With the first `terms` of K only.
  void multiply(int64_t terms) {
    for (int64_t row = 0; row < M; ++row)
      for (int64_t col = 0; col < N; ++col) {
        float sum = 0;
        for (int64_t k = 0; k < terms; ++k) sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
      }
  }
  Comparison check(uint64_t seed = 5) const {
    return freivalds(A, B, C, M, N, K, seed,
                     {.rows = M, .cols = N, .tile = {.rows = 16, .cols = 16}});
  }
};

}  // namespace

TEST_CASE("Freivalds' check passes a right product") {
  for (const Init init :
       {Init::uniform, Init::normal, Init::outliers, Init::identity, Init::arange})
    for (const auto& [M, N, K] : {std::array<int64_t, 3>{130, 70, 45},
                                  {1, 130, 7},
                                  {130, 1, 300},
                                  {3, 5, 0},
                                  {0, 5, 3},
                                  {5, 0, 3}})
      for (uint64_t seed = 0; seed < 5; ++seed) {
        const Comparison comparison = Product(M, N, K, init).check(seed);
        INFO(M << " " << N << " " << K << " seed " << seed << "\n" << comparison.report);
        CHECK(comparison.ok);
      }
}

TEST_CASE("Freivalds' check finds one wrong element") {
  Product product(130, 70, 45, Init::normal);
  product.C[129 * 70 + 17] += 0.5f;
  const Comparison comparison = product.check();
  CHECK_FALSE(comparison.ok);
  CHECK(comparison.wrong == 1);
  CHECK(comparison.max_error > 0.49);
  CHECK(comparison.max_error > comparison.bound);
  CHECK_THAT(comparison.report, ContainsSubstring("1 of 130 rows are wrong"));
  CHECK_THAT(comparison.report, ContainsSubstring("  wrong: row 129\n"));
  CHECK_THAT(comparison.report, ContainsSubstring("blocks with blockIdx.y = 8"));
  CHECK_THAT(comparison.report, ContainsSubstring("only the last row of tiles"));
}

TEST_CASE("Freivalds' check finds NaN, infinity and a dropped last term") {
  Product product(40, 30, 20, Init::normal);
  product.C[7 * 30 + 3] = NaN;
  product.C[8 * 30 + 3] = Infinity;
  product.C[20 * 30] = poison();
  const Comparison comparison = product.check();
  CHECK(comparison.wrong == 3);
  CHECK_THAT(comparison.report, ContainsSubstring("wrong: rows 7–8, row 20\n"));

  product.multiply(19);
  CHECK(product.check().wrong == 40);
}

TEST_CASE("Freivalds' check names the first ranges of rows, and tiles where these are known") {
  Product product(40, 30, 20, Init::normal);
  for (int64_t row = 0; row < 40; row += 5) product.C[row * 30] += 1;
  const Comparison comparison =
      freivalds(product.A, product.B, product.C, 40, 30, 20, 5, {.rows = 40, .cols = 30});
  CHECK_THAT(comparison.report, ContainsSubstring("wrong: row 0, row 5, row 10, row 15, 4 more\n"));
  CHECK_THAT(comparison.report, !ContainsSubstring("belongs to"));
}

TEST_CASE("Freivalds' check: sizes that do not fit are a mistake of the caller") {
  const Product product(4, 3, 2, Init::normal);
  for (const auto& [M, N, K] : {std::array<int64_t, 3>{5, 3, 2}, {4, 4, 2}, {4, 3, 1}})
    CHECK_THROWS_AS(freivalds(product.A, product.B, product.C, M, N, K, 5, {}), std::logic_error);
  const std::vector<float> one(1);
  CHECK_THROWS_AS(freivalds(product.A, product.B, one, 4, 3, 2, 5, {}), std::logic_error);
}

TEST_CASE("two errors that cancel under one vector are found under another") {
  Product product(4, 2, 8, Init::normal);
  product.C[0] += 1;
  product.C[1] += 1;
  int found = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) found += !product.check(seed).ok;
  CHECK(found > 0);
  CHECK(found < 20);
}
