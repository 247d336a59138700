// Every step of the part on shapes that their likely mistakes do not survive; what they ask for,
// and the program.
#include <algorithm>
#include <cmath>
#include <string>

#include "common/data/npy.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/folder.hpp"
#include "common/testing/program_run.hpp"
#include "fp8/tests/check_step.hpp"

namespace tutorial::tiled_matmul::fp8 {
namespace {

TEST_CASE("fp8: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (const Shape& shape : std::vector<Shape>{{256, 256, 128},  // whole tiles, one of K
                                               {128, 256, 512},  // stages again, with both parities
                                               {128, 128, 1024},
                                               {64, 256, 144},   // a tail of K
                                               {136, 264, 208},  // … and of M and N, of 8
                                               {257, 520, 16},   // … of 1, and K less than a step
                                               {1, 8, 16},
                                               {3, 40, 336},
                                               {300, 136, 272},
                                               {40, 41, 160},  // C's rows begin anywhere
                                               {0, 16, 16},
                                               {8, 0, 16},
                                               {0, 0, 0},
                                               {5, 40, 0}})
    check_step(step, shape);
}

// Rows that do not begin at multiples of 16 bytes, and matrices that do not.
TEST_CASE("fp8: every step takes what TMA does not take as well", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (const Shape& shape : {Shape{37, 45, 29}, {20, 36, 130}, {20, 40, 8}, {1, 1, 1}, {2, 3, 257}})
    check_step(step, shape);
  for (const int64_t offset : {1, 4, 8, 15}) {
    check_step(step, {12, 24, 144}, {.a = offset});
    check_step(step, {12, 24, 144}, {.b = offset});
    check_step(step, {12, 24, 144}, {.c = offset});
  }
  check_step(step, {12, 24, 32}, {16, 32, 24});  // multiples of 16 bytes, but of no more
}

// More tiles than pairs of multiprocessors, in two strips, and stages that begin with another one
// in each tile.
TEST_CASE("fp8: every step is right with several tiles a block") {
  const auto step = EACH_STEP(steps);
  const FewMultiprocessors few(6);
  check_step(step, {776, 776, 400});
}

// Each scale another one: by rows and by blocks of very different sizes.
TEST_CASE("fp8: every step multiplies by the right scales", "[shapes]") {
  const auto step = EACH_STEP(steps);
  const Shape shape = {140, 272, 400};
  std::vector<float> A = make_values({shape.M, shape.K}, Init::normal, 1);
  std::vector<float> B = make_values({shape.N, shape.K}, Init::normal, 2);
  for (int64_t i = 0; i < shape.M * shape.K; ++i)
    A[i] *= std::ldexp(1.0f, static_cast<int>((i / shape.K * 7 + i % shape.K / 128 * 3) % 11));
  for (int64_t i = 0; i < shape.N * shape.K; ++i)
    B[i] *= std::ldexp(1.0f, static_cast<int>((i / shape.K * 5 + i % shape.K / 128) % 13));
  check_step(step, shape, A, B);
}

TEST_CASE("fp8: every step gives NaN where a row has one, and zeros for zeros") {
  const auto step = EACH_STEP(steps);
  const Shape shape = {70, 16, 160};
  std::vector<float> A = make_values({shape.M, shape.K}, Init::normal, 1);
  const std::vector<float> B = make_values({shape.N, shape.K}, Init::normal, 2);
  std::fill(A.begin() + 3 * shape.K, A.begin() + 5 * shape.K, 0.0f);
  check_step(step, shape, A, B);
  A[66 * shape.K + 150] = NAN;
  check_step(step, shape, A, B);
}

TEST_CASE("fp8: short sums are more exact than long ones") {
  const auto step = EACH_STEP(steps);
  if (!device_has_clock()) SKIP("the simulator's tensor cores keep all of a sum");
  // The first product is 448 · 448, and 4095 others of 1 · 1 / 2 … are cut away beside it.
  const Shape shape = {128, 256, 4096};
  std::vector<float> A(shape.M * shape.K, 1), B(shape.N * shape.K, 1);
  for (int64_t m = 0; m < shape.M; ++m) A[m * shape.K] = 448;
  for (int64_t n = 0; n < shape.N; ++n) B[n * shape.K] = 448;
  const std::vector<float> got = launched(step, shape, A, B);
  const double want = 448.0 * 448 + 4095;
  CAPTURE(step.name, got[0], want);
  CHECK((std::abs(got[0] - want) < 0.006 * want) == ((step.features & SHORT_SUMS) != 0));
}

TEST_CASE("fp8: rounding divides by each group's largest number") {
  runnable(steps);  // ends the test where none can run
  const int64_t R = 130, K = 300;
  const std::vector<float> X = make_values({R, K}, Init::normal, 3);
  const DeviceBuffer<float> x(X);
  for (const Groups& groups :
       {Groups{R, K}, Groups{1, K}, Groups{1, SCALED}, Groups{SCALED, SCALED}}) {
    CAPTURE(groups.rows, groups.cols);
    const Operand got = Rounded(x.data(), R, K, groups).to_host();
    for (int64_t first_row = 0; first_row < R; first_row += groups.rows)
      for (int64_t first_k = 0; first_k < K; first_k += groups.cols) {
        const int64_t end_row = std::min(R, first_row + groups.rows);
        const int64_t end_k = std::min(K, first_k + groups.cols);
        float most = 0;
        for (int64_t row = first_row; row < end_row; ++row)
          for (int64_t k = first_k; k < end_k; ++k) most = std::max(most, std::abs(X[row * K + k]));
        const int64_t rows_of_groups = (R + groups.rows - 1) / groups.rows;
        const float scale =
            got.scales[first_k / groups.cols * rows_of_groups + first_row / groups.rows];
        REQUIRE(scale == most / 448);
        int wrong = 0;
        for (int64_t row = first_row; row < end_row; ++row)
          for (int64_t k = first_k; k < end_k; ++k) {
            const float exact = X[row * K + k] / scale;
            // Half of the distance to the next number: 2^-4 of it, or of 2^-6 below that.
            const float bound = std::max(std::abs(exact), 0x1p-6f) * 0x1p-4f;
            wrong += !(std::abs(got.values[row * K + k] - exact) <= bound);
          }
        CHECK(wrong == 0);
      }
  }
}

TEST_CASE("fp8: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  for (const auto& [M, N, K] : {Shape{130, 200, 144}, {37, 45, 29}}) {
    CAPTURE(step.name, M, N, K);
    const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1));
    const DeviceBuffer<float> b(make_values({N, K}, Init::normal, 2));
    const Fp8Product product = {M, N, K};
    const Operands of(a.data(), b.data(), product, scaling_of(step));
    CUDA_CHECK(cudaDeviceSynchronize());
    check_in_two_streams<bf16>(M * N,
                               workspace_bytes(product, of.A.values.data(), of.B.values.data()),
                               [&](bf16* C, Workspace workspace, cudaStream_t stream) {
                                 step.launch(product, of.A.values.data(), of.B.values.data(),
                                             of.scales(), C, workspace, stream);
                               });
  }
}

TEST_CASE("fp8: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const auto& [M, N, K] :
       {Shape{128, 256, 128}, {136, 264, 208}, {300, 520, 272}, {1, 8, 16}, {257, 41, 29}}) {
    CAPTURE(step.name, M, N, K);
    const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1));
    const DeviceBuffer<float> b(make_values({N, K}, Init::normal, 2));
    const Fp8Product product = {M, N, K};
    const Operands of(a.data(), b.data(), product, scaling_of(step));
    DeviceBuffer<bf16> c(M * N);
    const e4m3 *A = of.A.values.data(), *B = of.B.values.data();
    DeviceBuffer<std::byte> memory(workspace_bytes(product, A, B));
    check_no_conflicts(check_asked_for(step, [&](auto run) {
      return run(product, A, B, of.scales(), c.data(), workspace_in(memory), nullptr);
    }));
  }
}

TEST_CASE("fp8: a workspace that is too small, and sizes beyond 32 bits, are refused") {
  const auto step = EACH_STEP(steps);
  auto* const nowhere = reinterpret_cast<e4m3*>(uintptr_t{256});
  const auto launch = [&](const Fp8Product& product) {
    step.launch(product, nowhere, nowhere, {}, nullptr, {}, nullptr);
  };
  CHECK_THROWS_WITH(launch({20, 30, 7}), ContainsSubstring("needs a workspace of 800 bytes"));
  CHECK_THROWS_WITH(launch({int64_t{1} << 31, 8, 16}), ContainsSubstring("take smaller sizes"));
}

TEST_CASE("fp8: the program checks every step, and finds one wrong element", "[program]") {
  runnable(steps);
  const Words small = {"--m", "40", "--n", "32", "--k", "144"};
  const ProgramRun run = run_program(small);
  // 2·40·32·144 FLOP; 40·144 + 32·144 + 2·40·32 bytes
  check_all_right(run, names_of(steps), {.flop = 368640, .bytes = 12928});
  CHECK_THAT(run.out, ContainsSubstring("C[40×32] = A[40×144] · B[32×144]ᵀ, e4m3 in, bf16 out"));
  check_wrong(run_spoiled(small + Words{"--kernel", "row_scales"}, {"row_scales", 1279, 1, 1.0f}),
              {"1 of 1280 elements", "C[39][31]"});
}

TEST_CASE("fp8: the program says how far each way to multiply is off", "[program]") {
  runnable(steps);
  // Two of four rows of A are 1 and 1 + 2^-12 by turns, which bf16 and TF32 round to 1; of e4m3
  // both are one number, too, but the scale is (1 + 2^-12) / 448.
  const Folder folder;
  Tensor A = {{4, 16}, std::vector<float>(4 * 16, 1)};
  std::fill(A.values.begin() + 16, A.values.begin() + 3 * 16, 1 + 0x1p-12f);
  write_npy(folder / "a.npy", A);
  write_npy(folder / "b.npy", {{8, 16}, std::vector<float>(16 * 8, 1)});
  const ProgramRun run = run_program({"--m", "4", "--n", "8", "--k", "16", "--input",
                                      "a=" + folder / "a.npy", "b=" + folder / "b.npy"});
  CHECK_THAT(run.out, ContainsSubstring("error against double, of 4 rows"));
  for (const char* line :
       {"bf16, cuBLAS     1.7e-04\n", "TF32, one        1.7e-04\n", "fp32, cuBLAS     0.0e+00\n"})
    CHECK_THAT(run.out, ContainsSubstring(line));
}

TEST_CASE("fp8: with a scale for all, a large outlier takes the other rows with it", "[program]") {
  runnable(steps);
  const ProgramRun run =
      run_program({"--m", "64", "--n", "32", "--k", "512", "--outliers", "10000000"});
  const auto error_of = [&](const std::string& name) {
    const size_t at = run.out.find("\n  " + name + " ", run.out.find("error against double"));
    REQUIRE(at != std::string::npos);
    return std::stod(run.out.substr(at + 20));
  };
  CHECK(error_of("tensor_scale") > 0.5);
  for (const char* name : {"row_scales", "sums_in_fp32", "block_scales"})
    CHECK(error_of(name) < 0.05);
}

TEST_CASE("fp8: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--m", "40", "--n", "32", "--k", "24"});
}

}  // namespace
}  // namespace tutorial::tiled_matmul::fp8
