// Every step on shapes that likely mistakes do not survive; how exact it is; the program; then the
// reference itself.
#include <algorithm>
#include <cmath>

#include "common/data/device_buffer.hpp"
#include "common/data/npy.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/folder.hpp"
#include "common/testing/program_run.hpp"
#include "common/testing/testing.hpp"
#include "common/testing/two_streams.hpp"
#include "tf32/tf32.hpp"

namespace tutorial::tiled_matmul::tf32 {
namespace {

struct Shape {
  int64_t M, N, K;
};

// How far A, B and C begin, in floats, from an address that is a multiple of 256 bytes.
struct Offsets {
  int64_t a = 0, b = 0, c = 0;
};

void check_product(const Step<Launcher>& step, Shape shape, const std::vector<float>& A,
                   const std::vector<float>& B, Offsets offsets = {}) {
  if (!is_in_sample(step.name)) return;
  const auto [M, N, K] = shape;
  INFO(step.name << " M=" << M << " N=" << N << " K=" << K << " offsets " << offsets.a << ", "
                 << offsets.b << ", " << offsets.c);
  const bool rounds = step.features == ONE_PRODUCT;
  const Expected want = reference(rounds ? rounded_to_tf32(A) : A, rounds ? rounded_to_tf32(B) : B,
                                  N, K, all_rows(M), step.features);
  const DeviceBuffer<float> a(A, offsets.a), b(B, offsets.b);
  check_launch(
      [&](float* C) {
        step.launch({M, N, K}, a.data(), b.data(), C, nullptr);
      },
      want, {.rows = M, .cols = N, .tile = step.tile}, offsets.c);
}

void check_step(const Step<Launcher>& step, Shape shape, Offsets offsets = {}) {
  check_product(step, shape, make_values({shape.M, shape.K}, Init::normal, 1),
                make_values({shape.K, shape.N}, Init::normal, 2), offsets);
}

TEST_CASE("TF32: every step gives A·B for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (const Shape& shape : std::vector<Shape>{
           {128, 128, 32},  // whole tiles
           {37, 45, 29},    // no whole tile
           {130, 70, 45},   // more than one tile of 128 rows
           {129, 257, 9},   // … of 256 columns
           {132, 136, 20},  // no whole tile, but rows that allow 16-byte accesses
           {17, 20, 100},   // … of many tiles and a tail
           {18, 41, 100},   // rows of A allow them, rows of B do not
           {16, 12, 71},    // … the other way round
           {1, 130, 7},     // one row
           {130, 1, 7},     // one column
           {20, 24, 1},
           {1, 1, 1},
           {0, 5, 3},
           {5, 0, 3},
           {5, 35, 0},
           {0, 0, 0},
           {0, 8, 12},  // … with rows that allow 16-byte accesses
           {8, 0, 12},
       })
    check_step(step, shape);
}

TEST_CASE("TF32: every step takes any address that a float can have", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (int64_t offset : {1, 2, 3}) {
    const Shape shape = {12, 20, 8};  // rows that would allow 16-byte accesses
    check_step(step, shape, {.a = offset});
    check_step(step, shape, {.b = offset});
    check_step(step, shape, {.c = offset});
    check_step(step, {13, 19, 11}, {offset, offset, offset});
  }
}

// One product each: then the bound is that of the operands, and a lost bit of theirs shows.
TEST_CASE("TF32: a step keeps of its operands what it says", "[shapes]") {
  const auto step = EACH_STEP(steps);
  std::vector<float> numbers = make_values({64}, Init::normal, 5);
  for (int bit = 0; bit < 24; ++bit) {
    numbers.push_back(1 + std::ldexp(1.0f, -bit));            // each bit alone,
    numbers.push_back(-2 + std::ldexp(1.0f, -bit));           // with all others,
    numbers.push_back(std::ldexp(1.0f + 0x1p-12f, 2 * bit));  // at sizes from 2^-46 to 2^46
    numbers.push_back(std::ldexp(-1.0f - 0x1p-11f, -2 * bit));
  }
  const int64_t count = static_cast<int64_t>(numbers.size());
  check_product(step, {count, count, 1}, numbers, numbers);
}

// What the page says of the errors. A sum in fp32, one product after the other, is the yardstick.
TEST_CASE("TF32: three products are as exact as fp32, one is not") {
  const int64_t M = 64, N = 64, K = 512;
  const std::vector<float> A = make_values({M, K}, Init::normal, 1);
  const std::vector<float> B = make_values({K, N}, Init::normal, 2);
  const Expected exact = reference(A, B, N, K, all_rows(M), THREE_PRODUCTS);
  const auto squares = [&](const std::vector<float>& C) {
    double sum = 0;
    for (int64_t i = 0; i < M * N; ++i) sum += std::pow(C[i] - exact.value[i], 2);
    return sum;
  };
  std::vector<float> in_fp32(M * N);
  for (int64_t i = 0; i < M; ++i)
    for (int64_t k = 0; k < K; ++k)
      for (int64_t j = 0; j < N; ++j)
        in_fp32[i * N + j] = std::fma(A[i * K + k], B[k * N + j], in_fp32[i * N + j]);

  const auto step = EACH_STEP(steps);
  CAPTURE(step.name);
  const DeviceBuffer<float> a(A), b(B);
  DeviceBuffer<float> c(M * N);
  step.launch({M, N, K}, a.data(), b.data(), c.data(), nullptr);
  const double ratio = std::sqrt(squares(c.to_host()) / squares(in_fp32));
  if (step.features == ONE_PRODUCT) {
    CHECK(ratio > 100);
  } else if (step.launch == &three_products) {
    CHECK(ratio < 60);  // tensor cores cut where fp32 rounds; the simulator's do not
  } else {
    CHECK(ratio < 2);
  }
}

TEST_CASE("TF32: from deep_tiles on the steps add in the same order") {
  const int64_t M = 70, N = 90, K = 100;
  const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1));
  const DeviceBuffer<float> b(make_values({K, N}, Init::normal, 2));
  const auto bits_of = [&](Launcher* launch) {
    DeviceBuffer<float> c(M * N);
    launch({M, N, K}, a.data(), b.data(), c.data(), nullptr);
    return c.to_host();
  };
  runnable(steps);
  for (size_t i = 4; i < steps.size(); ++i) CHECK(bits_of(steps[i].launch) == bits_of(deep_tiles));
}

TEST_CASE("TF32: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  for (const auto& [M, N, K] : {Shape{70, 132, 36}, {37, 45, 29}}) {  // aligned rows, and others
    CAPTURE(step.name, M, N, K);
    const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1));
    const DeviceBuffer<float> b(make_values({K, N}, Init::normal, 2));
    check_in_two_streams<float>(M * N, 0, [&](float* C, Workspace, cudaStream_t stream) {
      step.launch({M, N, K}, a.data(), b.data(), C, stream);
    });
  }
}

TEST_CASE("TF32: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const auto& [M, N, K] :
       std::vector<Shape>{{128, 256, 32}, {130, 70, 45}, {132, 68, 20}, {1, 300, 7}}) {
    CAPTURE(step.name, M, N, K);
    const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1));
    const DeviceBuffer<float> b(make_values({K, N}, Init::normal, 2));
    DeviceBuffer<float> c(M * N);
    const Tf32Product product = {M, N, K};
    check_no_conflicts(check_asked_for(
        step, [&](auto run) { return run(product, a.data(), b.data(), c.data(), nullptr); }));
  }
}

TEST_CASE("TF32: the program checks every step, and finds one wrong element", "[program]") {
  runnable(steps);  // ends the test where none can run
  const Words small = {"--m", "40", "--n", "30", "--k", "20"};
  const ProgramRun run = run_program(small);
  // 2·40·30·20 FLOP; 4·(40·20 + 20·30 + 40·30) bytes
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 48000, .bytes = 10400});
  CHECK_THAT(run.out, ContainsSubstring("C[40×30] = A[40×20] · B[20×30], fp32 as one or three "
                                        "products of TF32\n48.0 kFLOP, at least 10.4 kB"));
  CHECK_THAT(run.out, ContainsSubstring("error against double, of 40 rows"));
  // A tile of 128×128 copies what is beyond the edges, too.
  check_counted(run.row("one_product"),
                {{"global_load_bytes", 4 * (128 + 128) * 20}, {"global_store_bytes", 4 * 40 * 30}});
  check_wrong(
      run_spoiled(small + Words{"--kernel", "three_products"}, {"three_products", 1199, 1, 0.01f}),
      {"1 of 1200 elements", "C[39][29]"});
}

TEST_CASE("TF32: the program says how far each way to multiply is off", "[program]") {
  runnable(steps);
  // TF32 and bf16 round 1 + 2^-12 to 1. Two of four rows of A have it in each of 16 columns, and
  // with a B of ones C is 16 or 16 + 2^-8: an error of 2^-12 of C at most, and √½ of that as rms.
  const Folder folder;
  Tensor A = {{4, 16}, std::vector<float>(4 * 16, 1)};
  std::fill(A.values.begin() + 16, A.values.begin() + 3 * 16, 1 + 0x1p-12f);
  write_npy(folder / "a.npy", A);
  write_npy(folder / "b.npy", {{16, 8}, std::vector<float>(16 * 8, 1)});
  const ProgramRun run = run_program({"--m", "4", "--n", "8", "--k", "16", "--input",
                                      "a=" + folder / "a.npy", "b=" + folder / "b.npy"});
  check_all_right(run, names_of(steps) + Words{"cuBLAS"},
                  {.flop = 1024, .bytes = 4 * (4 * 16 + 16 * 8 + 4 * 8)});
  CHECK_THAT(run.out, ContainsSubstring("error against double, of 4 rows"));
  for (const char* line :
       {"bf16, cuBLAS     1.7e-04  2.4e-04\n", "one_product      1.7e-04  2.4e-04\n",
        "three_products   0.0e+00  0.0e+00\n", "fp32, cuBLAS     0.0e+00  0.0e+00\n"})
    CHECK_THAT(run.out, ContainsSubstring(line));
}

// Of a large product 16 rows are compared, and the others' sums.
TEST_CASE("TF32: the program checks a large product by rows and sums", "[program]") {
  runnable(steps);
  const Words sizes = {"--m", "110", "--n",      "20",
                       "--k", "10",  "--kernel", "one_product,three_products"};
  const auto wrong = [&](int64_t row, int64_t count) {
    return run_as_large(sizes, 20000, {"three_products", row * 20, count, 1});
  };
  check_all_right(wrong(0, 0), {"one_product", "three_products"}, {.flop = 44000, .bytes = 14000});
  check_wrong(wrong(0, 1), {"1 of 320 checked elements (16 of 110 rows)", "C[0][0]"});
  check_wrong(wrong(row_not_compared(110, 16), 1), {"1 of 110 rows are wrong (Freivalds"});
}

TEST_CASE("TF32: rounding is to nearest, ties away from zero") {
  const std::vector<float> values = {
      1, 1 + 0x1p-10f, 1 + 0x1p-11f, 1 + 0x1p-12f, -1 - 0x1p-11f, 1 + 0x1.8p-10f, 0, INFINITY};
  const std::vector<float> want = {1, 1 + 0x1p-10f, 1 + 0x1p-10f, 1, -1 - 0x1p-10f, 1 + 0x1p-9f,
                                   0, INFINITY};
  CHECK(rounded_to_tf32(values) == want);
}

TEST_CASE("the reference of a product on tensor cores is right where it is known") {
  const int64_t M = 3, N = 4, K = 5;
  std::vector<float> A(M * K, 0.0f);
  const std::vector<float> B = make_values({K, N}, Init::normal, 3);
  for (int64_t i = 0; i < M; ++i) A[i * K + i + 1] = 2;  // picks row i + 1 of B, twice
  for (unsigned products : {ONE_PRODUCT, THREE_PRODUCTS}) {
    const Expected got = reference(A, B, N, K, all_rows(M), products);
    for (int64_t i = 0; i < M * N; ++i) CHECK(got.value[i] == 2.0 * B[i + N]);
  }
  CHECK(relative_bound(8, ONE_PRODUCT) < 1.01 * 12 * 0x1p-23);
  CHECK(relative_bound(0, THREE_PRODUCTS) > 0x1p-21);
}

TEST_CASE("TF32: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--m", "40", "--n", "30", "--k", "20"});
}

}  // namespace
}  // namespace tutorial::tiled_matmul::tf32
