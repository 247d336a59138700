// Every kernel in the list, and cuBLAS beside them, on every shape; then the reference itself.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <set>

#include "01_naive_matmul.hpp"
#include "common/kernel/grid.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::naive_matmul {
namespace {

struct Shape {
  int64_t M, N, K;
};

const std::vector<Shape> shapes = {
    {64, 64, 64},                            // square, whole blocks
    {37, 45, 29}, {130, 70, 45},             // all different, no whole blocks
    {1, 130, 7},  {130, 1, 7},               // one row, one column
    {33, 40, 1},  {9, 33, 257},              // K short and long
    {1, 1, 1},    {31, 7, 2},                // less than one block
    {0, 5, 3},    {5, 0, 3},     {0, 0, 0},  // no element of C
    {5, 35, 0},                              // no product: zeros
};

// How far A, B and C begin, in floats, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t a = 0, b = 0, c = 0;
};

void cublas(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K) {
  static const CublasHandle handle;
  row_major_gemm(handle, M, N, K, 1, A, B, 0, C);
}

std::vector<Step<Launcher>> steps_and_cublas() {
  std::vector<Step<Launcher>> all = steps;
  all.push_back({.name = "cuBLAS", .launch = &cublas, .idea = ""});
  return all;
}

void check_product(const Step<Launcher>& step, Shape shape, const std::vector<float>& A,
                   const std::vector<float>& B, Offsets offsets = {}) {
  const auto [M, N, K] = shape;
  INFO(step.name << " M=" << M << " N=" << N << " K=" << K << " offsets " << offsets.a << ", "
                 << offsets.b << ", " << offsets.c);
  const DeviceBuffer<float> a(A, offsets.a), b(B, offsets.b);
  check_launch([&](float* C) { step.launch(a.data(), b.data(), C, M, N, K); },
               reference(A, B, N, K, all_rows(M)), {.rows = M, .cols = N, .tile = step.tile},
               offsets.c);
}

void check_step(const Step<Launcher>& step, Shape shape, Offsets offsets = {}) {
  check_product(step, shape, make_values({shape.M, shape.K}, Init::normal, 1),
                make_values({shape.K, shape.N}, Init::normal, 2), offsets);
}

TEST_CASE("every step gives A·B for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps_and_cublas());
  for (const Shape& shape : shapes) check_step(step, shape);
}

TEST_CASE("every step takes any address that a float can have") {
  const auto step = EACH_STEP(steps_and_cublas());
  const Shape shape = {12, 20, 8};  // rows that would allow 16-byte accesses
  for (int64_t offset : {1, 2, 3}) {
    check_step(step, shape, {.a = offset});
    check_step(step, shape, {.b = offset});
    check_step(step, shape, {.c = offset});
    check_step(step, shape, {offset, offset, offset});
  }
}

// Whoever leaves out the products with 0 gives a number here.
TEST_CASE("every step gives NaN for 0 times infinity") {
  const auto step = EACH_STEP(steps_and_cublas());
  const Shape shape = {5, 6, 4};
  std::vector<float> A = make_values({shape.M, shape.K}, Init::normal, 1);
  std::vector<float> B = make_values({shape.K, shape.N}, Init::normal, 2);
  A[1 * shape.K + 2] = 0, B[2 * shape.N + 3] = INFINITY;   // C[1][3]; else infinite in column 3
  A[4 * shape.K + 0] = -INFINITY, B[0 * shape.N + 5] = 0;  // C[4][5]
  check_product(step, shape, A, B);
  const Expected want = reference(A, B, shape.N, shape.K, all_rows(shape.M));
  for (int64_t i = 0; i < shape.M * shape.N; ++i)
    CHECK(std::isnan(want.value[i]) == (i == 1 * shape.N + 3 || i == 4 * shape.N + 5));
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const auto& [M, N, K] : {Shape{64, 64, 64}, {37, 45, 29}, {1, 130, 7}, {130, 1, 7}}) {
    CAPTURE(M, N, K);
    const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1));
    const DeviceBuffer<float> b(make_values({K, N}, Init::normal, 2));
    DeviceBuffer<float> c(M * N);
    check_asked_for(step, [&](auto run) { return run(a.data(), b.data(), c.data(), M, N, K); });
  }
}

// "32 sectors … 1 sector", and of step 2 "4 sectors, all of it used": lane by lane, also where a
// warp reaches over an edge or rows do not begin with a sector.
TEST_CASE("a warp's requests touch the sectors that the headers say", "[counts]") {
  if (device_has_clock()) SKIP("only the simulator counts sectors");
  const auto step = EACH_STEP(steps);
  const bool down = step.tile.x_down;  // the lanes of a warp stand below each other
  for (const auto& [M, N, K] : {Shape{64, 64, 8}, {37, 45, 29}, {1, 130, 7}, {130, 1, 7}}) {
    CAPTURE(step.name, M, N, K);
    const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1));
    const DeviceBuffer<float> b(make_values({K, N}, Init::normal, 2));
    DeviceBuffer<float> c(M * N);
    const Counts counts = counts_of([&] { step.launch(a.data(), b.data(), c.data(), M, N, K); });
    int64_t warps = 0, loads = 0, stores = 0;
    for (int64_t along = 0; along < (down ? N : M); ++along)
      for (int64_t first = 0; first < (down ? M : N); first += 32, ++warps) {
        std::set<int64_t> of_c;
        for (int64_t k = 0; k <= K; ++k) {  // the last time for C
          std::set<int64_t> of_a, of_b;
          for (int64_t i = first; i < std::min(first + 32, down ? M : N); ++i) {
            const int64_t row = down ? i : along, col = down ? along : i;
            of_a.insert((row * K + k) / 8), of_b.insert((k * N + col) / 8);
            of_c.insert((row * N + col) / 8);
          }
          if (k < K) loads += std::ssize(of_a) + std::ssize(of_b);
        }
        stores += std::ssize(of_c);
      }
    CHECK(counts.loads.requests == 2 * K * warps);
    CHECK(counts.loads.sectors == loads);
    CHECK(counts.stores.requests == warps);
    CHECK(counts.stores.sectors == stores);
    if (M < 64 || N < 64) continue;
    CHECK(2 * counts.loads.sectors == (down ? 32 + 1 : 1 + 4) * counts.loads.requests);
    CHECK(counts.stores.sectors == (down ? 32 : 4) * counts.stores.requests);
  }
}

TEST_CASE("every step takes as many rows and columns as a grid covers, and refuses more") {
  using Catch::Matchers::Message;
  const auto step = EACH_STEP(steps);
  const int64_t in_y = grid_limit.y * 8, in_x = grid_limit.x * 32;
  const bool rows_in_y = !step.tile.x_down;
  check_step(step, rows_in_y ? Shape{in_y, 1, 1} : Shape{1, in_y, 1});

  // Refused before anything is read or launched: so no memory is needed.
  const auto refusal = [&](int64_t count, const std::string& rows_or_columns, int64_t covered) {
    return Message(std::string(step.name) + ": C has " + std::to_string(count) + " " +
                   rows_or_columns + ", and one grid covers " + std::to_string(covered) +
                   "; make C smaller, or go on to chapter 02, which shows the way around");
  };
  const auto launch = [&](int64_t M, int64_t N) {
    step.launch(nullptr, nullptr, nullptr, M, N, 1);
  };
  const int64_t rows = rows_in_y ? in_y : in_x, cols = rows_in_y ? in_x : in_y;
  CHECK_THROWS_MATCHES(launch(rows + 1, 1), Error, refusal(rows + 1, "rows", rows));
  CHECK_THROWS_MATCHES(launch(1, cols + 1), Error, refusal(cols + 1, "columns", cols));
  // The program asks before it has any elements.
  CHECK_THROWS_AS(launch(rows + 1, 0), Error);
  CHECK_THROWS_AS(launch(0, cols + 1), Error);
}

// 9 GB, so it must be asked for by its tag.
TEST_CASE("every step takes an A with more than 2^31 elements", "[.large]") {
  const auto step = EACH_STEP(steps);
  const int64_t M = 65537, K = 32769;  // A is zero but for its last row
  const std::vector<float> row = make_values({1, K}, Init::normal, 1);
  const std::vector<float> B = make_values({K, 1}, Init::normal, 2);
  DeviceBuffer<float> a(M * K);
  CUDA_CHECK(cudaMemset(a.data(), 0, M * K * sizeof(float)));
  CUDA_CHECK(
      cudaMemcpy(a.data() + (M - 1) * K, row.data(), K * sizeof(float), cudaMemcpyHostToDevice));
  const DeviceBuffer<float> b(B);
  const Expected last = reference(row, B, 1, K, all_rows(1));
  Expected want{std::vector<double>(M), std::vector<double>(M)};
  want.value.back() = last.value[0];
  want.bound.back() = last.bound[0];
  check_launch([&](float* C) { step.launch(a.data(), b.data(), C, M, 1, K); }, want,
               {.rows = M, .cols = 1, .tile = step.tile});
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
    for (int64_t i = 0; i < M; ++i) {
      for (int64_t j = 0; j < N; ++j) {
        const double want = static_cast<double>(K * (i + 1) * (j - 2));
        CHECK(got.value[i * N + j] == want);
        CHECK(got.bound[i * N + j] == Catch::Approx(gamma_bound(K) * std::abs(want)));
      }
    }
  }
  SECTION("some rows only: the same numbers as in the full product") {
    const std::vector<float> A = make_values({M, K}, Init::normal, 1);
    const Expected full = reference(A, B, N, K, all_rows(M));
    const std::vector<int64_t> rows = {0, 3, 6};
    const Expected some = reference(A, B, N, K, rows);
    REQUIRE(some.value.size() == rows.size() * N);
    for (size_t i = 0; i < rows.size(); ++i)
      for (int64_t j = 0; j < N; ++j) {
        CHECK(some.value[i * N + j] == full.value[rows[i] * N + j]);
        CHECK(some.bound[i * N + j] == full.bound[rows[i] * N + j]);
      }
  }
  SECTION("K = 0 gives zeros") {
    const Expected got = reference({}, {}, N, 0, all_rows(M));
    CHECK(got.value == std::vector<double>(M * N, 0.0));
    CHECK(got.bound == std::vector<double>(M * N, 0.0));
  }
}

}  // namespace
}  // namespace tutorial::naive_matmul
