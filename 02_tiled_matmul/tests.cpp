// Every kernel in the list, and cuBLAS beside them, on every shape; then the reference itself.
#include <algorithm>
#include <cmath>

#include "02_tiled_matmul.hpp"
#include "common/measure/row_major_blas.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/testing.hpp"
#include "tests/check_step.hpp"

namespace tutorial::tiled_matmul {
namespace {

const std::vector<Shape> shapes = {
    {128, 128, 32},                 // square, whole tiles
    {256, 128, 8},                  // several whole tiles
    {37, 45, 29},                   // all different, no whole tile
    {130, 70, 45},                  // more than one tile of 128 rows
    {257, 129, 33},                 // more than one in both directions
    {132, 68, 20},                  // no whole tile, but rows that allow 16-byte accesses
    {129, 261, 9},                  // more than one tile of 128 × 256, in both directions
    {130, 260, 12},                 // … and 16-byte accesses
    {1, 130, 7},    {130, 1, 7},    // one row, one column
    {33, 40, 3},    {20, 24, 1},    // K shorter than a tile
    {30, 41, 101},  {18, 44, 100},  // K of many tiles and a tail
    {28, 41, 100},                  // rows of A allow 16-byte accesses, rows of B and C do not
    {1, 1, 1},      {0, 5, 3},     {5, 0, 3}, {0, 0, 0}, {5, 35, 0},
};

void cublas(const float* A, const float* B, float* C, int64_t M, int64_t N, int64_t K, float alpha,
            float beta) {
  static const CublasHandle handle;
  row_major_gemm(handle, M, N, K, alpha, A, B, beta, C);
}

std::vector<Step<Launcher>> steps_and_cublas() {
  std::vector<Step<Launcher>> all = steps;
  all.push_back({.name = "cuBLAS", .launch = &cublas, .idea = "", .features = ALPHA_BETA});
  return all;
}

}  // namespace

TEST_CASE("every step gives A·B for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps_and_cublas());
  for (const Shape& shape : shapes) check_step(step, shape);
}

TEST_CASE("every step takes any address that a float can have") {
  const auto step = EACH_STEP(steps_and_cublas());
  for (int64_t offset : {1, 2, 3}) {
    const Shape shape = {12, 20, 8};  // rows that would allow 16-byte accesses
    check_step(step, shape, {.a = offset});
    check_step(step, shape, {.b = offset});
    check_step(step, shape, {.c = offset});
    check_step(step, {13, 19, 11}, {offset, offset, offset});
  }
}

// The products are those of A and B alone: not of what fills up a tile, nor are any left out.
TEST_CASE("every step gives NaN for 0 times infinity, and infinity for others") {
  const auto step = EACH_STEP(steps_and_cublas());
  const int64_t M = 5, N = 6, K = 11;
  std::vector<float> A = make_values({M, K}, Init::normal, 1);
  std::vector<float> B = make_values({K, N}, Init::normal, 2);
  A[1 * K + 2] = 0, B[2 * N + 3] = INFINITY;     // C[1][3]; else infinite in column 3
  A[4 * K + 10] = -INFINITY, B[10 * N + 5] = 0;  // C[4][5]; else infinite in row 4
  const Expected want = reference(A, B, N, K, all_rows(M));
  for (int64_t i = 0; i < M * N; ++i)
    CHECK(std::isfinite(want.value[i]) == (i / N != 4 && i % N != 3));
  const DeviceBuffer<float> a(A), b(B);
  check_launch([&](float* C) { step.launch(a.data(), b.data(), C, M, N, K, 1, 0); }, want,
               {.rows = M, .cols = N, .tile = step.tile});
}

// Smaller than a GPU's, so that it does not take a large problem.
TEST_CASE("every step takes more rows than a small grid has blocks in y") {
  const auto step = EACH_STEP(steps);
  const SmallGrid grid(1000, 2);
  const int64_t rows = std::max(step.tile.rows, 16);  // of a tile; 0 where the step has several
  check_step(step, {4 * rows + 3, 20, 9});            // the third grid has what is left
  check_step(step, {4 * rows, 20, 9});
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  const bool cuts_k =
      step.launch == &split_k || step.launch == &thin_tiles || step.launch == &few_rows;
  for (const auto& [M, N, K] : {Shape{128, 256, 32},
                                {130, 70, 45},
                                {132, 68, 20},
                                {30, 41, 101},
                                {1, 130, 7},
                                {65, 25600, 1},
                                {3, 42, 600},
                                {66, 20, 300}}) {
    if (N > 1000 && step.launch != &tile_by_size) continue;  // with its large tile
    if (K > 200 && !cuts_k) continue;                        // in parts
    CAPTURE(step.name, M, N, K);
    const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1));
    const DeviceBuffer<float> b(make_values({K, N}, Init::normal, 2));
    DeviceBuffer<float> c(M * N);
    check_asked_for(symbols_of(step.launch, b.data(), M, N, K),
                    [&] { step.launch(a.data(), b.data(), c.data(), M, N, K, 1, 0); });
  }
}

TEST_CASE("a step takes any alpha and beta, or refuses them") {
  const auto step = EACH_STEP(steps_and_cublas());
  const std::vector<std::pair<float, float>> factors = {
      {2.5f, 0}, {1, 1}, {-0.5f, -3}, {0, 2}, {0, 0.0f}};
  for (const auto& [alpha, beta] : factors) {
    if ((step.features & ALPHA_BETA) == 0) {
      INFO(step.name << " is not marked ALPHA_BETA in the list");
      DeviceBuffer<float> x(64), c(64);
      CHECK_THROWS_AS(step.launch(x.data(), x.data(), c.data(), 8, 8, 8, alpha, beta), Error);
      continue;
    }
    check_step(step, {130, 140, 12}, {}, alpha, beta);
    check_step(step, {37, 45, 29}, {1, 2, 3}, alpha, beta);
    check_step(step, {9, 11, 0}, {}, alpha, beta);
  }
}

TEST_CASE("alpha = 0 does not read A and B") {
  const auto step = EACH_STEP(steps_and_cublas());
  if ((step.features & ALPHA_BETA) == 0) return;
  const DeviceBuffer<float> nan(64);  // as it is allocated
  const std::vector<float> before = make_values({8, 8}, Init::normal, 3);
  check_launch([&](float* C) { step.launch(nan.data(), nan.data(), C, 8, 8, 8, 0, 3); },
               reference({}, {}, 8, 0, all_rows(8), 0, 3, before),
               {.rows = 8, .cols = 8, .tile = step.tile}, 0, before);
}

TEST_CASE("every step takes more rows than a grid has blocks in y", "[large]") {
  const auto step = EACH_STEP(steps);
  if (!device_has_clock()) SKIP("65536 blocks would take the simulator too long");
  const int64_t rows = std::max(step.tile.rows, 128);  // of a tile; 0 where the step has several
  check_step(step, {65535 * rows + 3, 1, 1});
}

// tile_by_size chooses its tile by the number of blocks and multiprocessors (its launcher says
// how). All other shapes here are so small that they get the small tile. These get the large one on
// a device of 132 multiprocessors: 10 × 10 blocks of 128 × 256, the last ones not whole.
TEST_CASE("tile_by_size's large tile is right", "[shapes]") {
  const Step<Launcher> step = step_of(&tile_by_size);
  check_step(step, {1270, 2500, 9});                        // 16-byte accesses
  check_step(step, {1270, 2501, 19}, {1, 2, 3}, 2.5f, -3);  // single floats
}

// It copies B unless C is more than 32 times as wide as it is high.
TEST_CASE("padded_rows is right with a copy of B and without", "[shapes]") {
  const Step<Launcher> step = step_of(&padded_rows);
  check_step(step, {19, 601, 5});  // with the copy: its rows are longer than a block
  check_step(step, {18, 601, 5});  // without
  check_step(step, {2, 1, 4100});  // with more rows than blocks
  check_step(step, {37, 45, 0}, {}, 1, 2);
}

TEST_CASE("padded_rows takes B as it is where there is no memory for the copy") {
  const Step<Launcher> step = step_of(&padded_rows);
  if (device_has_clock()) SKIP("only the simulator's memory can be made small");
  const int64_t M = 5, N = 7, K = 9;
  const std::vector<float> A = make_values({M, K}, Init::normal, 1);
  const std::vector<float> B = make_values({K, N}, Init::normal, 2);
  const DeviceBuffer<float> a(A), b(B);
  const auto launch = [&](float* C) {
    setenv("SIMULATOR_MEMORY", "1", 1);
    step.launch(a.data(), b.data(), C, M, N, K, 1, 0);
    unsetenv("SIMULATOR_MEMORY");
  };
  check_launch(launch, reference(A, B, N, K, all_rows(M)), {.rows = M, .cols = N});
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
  check_launch([&](float* C) { step.launch(a.data(), b.data(), C, M, 1, K, 1, 0); }, want,
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

}  // namespace tutorial::tiled_matmul
