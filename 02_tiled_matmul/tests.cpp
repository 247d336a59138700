// Every kernel in the list, and cuBLAS beside them, on every shape; then the reference itself.
#include <cmath>

#include "02_tiled_matmul.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/testing.hpp"
#include "tests/products.hpp"

namespace tutorial::tiled_matmul {
namespace {

void cublas(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  static const CublasHandle handle;
  row_major_gemm(handle, M, N, K, 1, A, B, 0, C);
}

std::vector<Step<Launcher>> steps_and_cublas() {
  std::vector<Step<Launcher>> all = steps;
  all.push_back({.name = "cuBLAS", .launch = &cublas, .idea = ""});
  return all;
}

PlainStep plain(const Step<Launcher>& step) {
  return {step.name, step.tile, step.launch};
}

}  // namespace

TEST_CASE("every step gives A·B for every shape", "[shapes]") {
  check_every_shape(plain(EACH_STEP(steps_and_cublas())));
}

TEST_CASE("every step takes any address that a float can have") {
  check_every_address(plain(EACH_STEP(steps_and_cublas())));
}

TEST_CASE("every step gives NaN for 0 times infinity, and infinity for others") {
  check_infinities(plain(EACH_STEP(steps_and_cublas())));
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
    DeviceBuffer<float> c(M * N);
    const Counts counts =
        check_asked_for(step, [&](auto run) { return run(a.data(), b.data(), c.data(), M, N, K); });
    if (step.launch != register_tile) check_no_conflicts(counts);
    if (M % 128 != 0) continue;
    // The page's sectors of a load, where a warp's lanes load one float or 16 bytes.
    if (step.launch == conflict_free) CHECK(counts.loads.sectors == 4 * counts.loads.requests);
    if (step.launch == vectorised) CHECK(counts.loads.sectors == 16 * counts.loads.requests);
  }
}

TEST_CASE("every step takes more rows than a grid has blocks in y", "[large]") {
  check_more_rows_than_a_grid_has(plain(EACH_STEP(steps)));
}

// 9 GB, so it must be asked for by its tag.
TEST_CASE("every step takes an A with more than 2^31 elements", "[.large]") {
  check_large_a(plain(EACH_STEP(steps)));
}

TEST_CASE("the reference is right where the product is known") {
  const int64_t M = 7, N = 5, K = 6;
  const std::vector<float> B = make_values({K, N}, Init::normal, 2);

  SECTION("identity: I·B is B") {
    const Expected got = reference(make_values({K, K}, Init::identity, 1), B, N, K, all_rows(K));
    for (int64_t i = 0; i < K * N; ++i) CHECK(got.value[i] == B[i]);
  }
  SECTION("one 1 in each row of A picks a row of B") {
    std::vector<float> A(M * K, 0.0f);
    for (int64_t i = 0; i < M; ++i) A[i * K + (5 * i + 2) % K] = 1;
    const Expected got = reference(A, B, N, K, all_rows(M));
    for (int64_t i = 0; i < M; ++i)
      for (int64_t j = 0; j < N; ++j) CHECK(got.value[i * N + j] == B[(5 * i + 2) % K * N + j]);
  }
  SECTION("constant rows times constant columns") {
    std::vector<float> A(M * K), constant(K * N);
    for (int64_t i = 0; i < M * K; ++i) A[i] = static_cast<float>(i / K + 1);
    for (int64_t i = 0; i < K * N; ++i) constant[i] = static_cast<float>(i % N - 2);
    const Expected got = reference(A, constant, N, K, all_rows(M));
    for (int64_t i = 0; i < M * N; ++i) {
      const double product = static_cast<double>(K * (i / N + 1) * (i % N - 2));
      CHECK(got.value[i] == product);
      CHECK(std::abs(got.bound[i] - gamma_bound(K) * std::abs(product)) < 1e-15);
    }
  }
  SECTION("some rows only: the same numbers as in the full product") {
    const std::vector<float> A = make_values({M, K}, Init::normal, 1);
    const Expected full = reference(A, B, N, K, all_rows(M));
    const std::vector<int64_t> rows = {0, 3, 6};
    const Expected some = reference(A, B, N, K, rows);
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

}  // namespace tutorial::tiled_matmul
