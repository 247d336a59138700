// Every step of the part, and cuBLAS beside them, on every shape, with alpha and beta; then the
// reference itself.
#include <cmath>

#include "common/measure/row_major_blas.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/testing.hpp"
#include "faster/faster.hpp"
#include "faster/tests/check_step.hpp"

namespace tutorial::tiled_matmul::faster {
namespace {

void cublas(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K, float alpha,
            float beta) {
  static const CublasHandle handle;
  row_major_gemm(handle, M, N, K, alpha, A, B, beta, C);
}

std::vector<Step<Launcher>> steps_and_cublas() {
  std::vector<Step<Launcher>> all = steps;
  all.push_back({.name = "cuBLAS", .launch = &cublas, .idea = ""});
  return all;
}

}  // namespace

TEST_CASE("every step gives A·B for every shape", "[shapes]") {
  check_every_shape(plain(EACH_STEP(steps)));
}

TEST_CASE("every step takes any address that a float can have") {
  check_every_address(plain(EACH_STEP(steps)));
}

TEST_CASE("every step gives NaN for 0 times infinity, and infinity for others") {
  check_infinities(plain(EACH_STEP(steps)));
}

TEST_CASE("every step takes more rows than a small grid has blocks in y") {
  check_small_grid(plain(EACH_STEP(steps)));
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const auto& [M, N, K] :
       {Shape{128, 256, 32}, {130, 70, 45}, {132, 68, 20}, {30, 41, 101}, {1, 130, 7}}) {
    CAPTURE(step.name, M, N, K);
    const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1));
    const DeviceBuffer<float> b(make_values({K, N}, Init::normal, 2));
    DeviceBuffer<float> c(make_values({M, N}, Init::normal, 3));
    for (const auto& [alpha, beta] : {std::pair(1.0f, 0.0f), {0.0f, 2.0f}}) {
      const auto call = [&](auto run) {
        return run(a.data(), b.data(), c.data(), M, N, K, alpha, beta);
      };
      check_no_conflicts(check_asked_for(step, call));
    }
  }
}

TEST_CASE("every step takes any alpha and beta") {
  check_alpha_and_beta(EACH_STEP(steps_and_cublas()));
}

TEST_CASE("alpha = 0 does not read A and B") {
  check_alpha_0(EACH_STEP(steps_and_cublas()));
}

TEST_CASE("every step takes more rows than a grid has blocks in y", "[large]") {
  check_more_rows_than_a_grid_has(plain(EACH_STEP(steps)));
}

// 9 GB, so it must be asked for by its tag.
TEST_CASE("every step takes an A with more than 2^31 elements", "[.large]") {
  check_large_a(plain(EACH_STEP(steps)));
}

TEST_CASE("the reference with alpha and beta is right where the product is known") {
  const int64_t M = 7, N = 5, K = 6;
  const std::vector<float> B = make_values({K, N}, Init::normal, 2);

  SECTION("constant rows times constant columns, with alpha and beta") {
    std::vector<float> A(M * K), constant(K * N), before(M * N);
    for (int64_t i = 0; i < M * K; ++i) A[i] = static_cast<float>(i / K + 1);
    for (int64_t i = 0; i < K * N; ++i) constant[i] = static_cast<float>(i % N - 2);
    for (int64_t i = 0; i < M * N; ++i) before[i] = static_cast<float>(i);
    const Expected got = reference(A, constant, N, K, all_rows(M), 0.5f, -3, before);
    for (int64_t i = 0; i < M * N; ++i) {
      const double product = 0.5 * static_cast<double>(K * (i / N + 1) * (i % N - 2));
      const double old = -3 * static_cast<double>(i);
      CHECK(got.value[i] == product + old);
      CHECK(std::abs(got.bound[i] - gamma_bound(K + 2) * (std::abs(product) - old)) < 1e-15);
    }
  }
  SECTION("alpha = 1 and beta = 0: the road's") {
    const std::vector<float> A = make_values({M, K}, Init::normal, 1);
    const Expected got = reference(A, B, N, K, all_rows(M));
    CHECK(got.value == tiled_matmul::reference(A, B, N, K, all_rows(M)).value);
  }
  SECTION("some rows only: the same numbers as in the full product") {
    const std::vector<float> A = make_values({M, K}, Init::normal, 1);
    const std::vector<float> before = make_values({M, N}, Init::normal, 3);
    const Expected full = reference(A, B, N, K, all_rows(M), 2, 3, before);
    const std::vector<int64_t> rows = {0, 3, 6};
    const Expected some = reference(A, B, N, K, rows, 2, 3, before);
    REQUIRE(some.value.size() == rows.size() * N);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (int64_t j = 0; j < N; ++j) {
        CHECK(some.value[i * N + j] == full.value[rows[i] * N + j]);
        CHECK(some.bound[i * N + j] == full.bound[rows[i] * N + j]);
      }
    }
  }
  SECTION("K = 0 gives zeros") {
    const Expected got = reference({}, {}, N, 0, all_rows(M));
    CHECK(got.value == std::vector<double>(M * N, 0.0));
    CHECK(got.bound == std::vector<double>(M * N, 0.0));
  }
}

}  // namespace tutorial::tiled_matmul::faster
