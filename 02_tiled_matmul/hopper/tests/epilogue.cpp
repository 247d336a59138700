// Step epilogue: C = act(alpha·A·B + beta·C + bias), and the same by two kernels.
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <cmath>

#include "common/testing/program_run.hpp"
#include "hopper/hopper.hpp"
#include "tensor_cores/tests/layouts.hpp"

namespace tutorial::tiled_matmul::hopper {
namespace {

using tensor_cores::bf16_values, tensor_cores::check_layouts, tensor_cores::Gapped;
using tensor_cores::Inputs, tensor_cores::Shape, tensor_cores::text_of;

Step<Launcher> epilogue_step() {
  return runnable(steps.back());
}

/// Is C written twice, so that in bf16 the sums are rounded before the epilogue, too?
enum class Rounded { once, twice };

/// Launches with a bias of N numbers if asked, on a C that held other numbers, or NaN for beta = 0.
/// C begins `offset` elements from an address that is a multiple of 256 bytes.
void check_epilogue(Launcher* launcher, const char* name, Bf16Product product, bool has_bias,
                    Rounded rounded = Rounded::once, int64_t offset = 0) {
  if (!tutorial::is_in_sample(name)) return;
  const std::vector<float> bias_values = make_values({product.N}, Init::normal, 3);
  const DeviceBuffer<float> bias(bias_values);
  if (has_bias) product.bias = bias.data();
  const Bf16Product p = spelled_out(product);
  INFO(name << " " << text_of(p) << ", alpha " << p.alpha << ", beta " << p.beta
            << (has_bias ? ", bias" : "") << (p.act == Activation::gelu ? ", gelu" : "")
            << ", C at " << offset);
  Inputs inputs(p, {});
  const std::vector<float> before = bf16_values({p.batch, p.M, p.N}, 4);
  Expected sums = inputs.want();
  const auto want = [&] {
    return with_epilogue(sums, p, has_bias ? bias_values : std::vector<float>(), before);
  };
  const auto launch = [&]<class Out>(Out* dense) {
    Gapped<Out> c(p.batch, p.stride_c, p.M, p.N, p.ldc, offset);  // NaN
    if constexpr (std::is_same_v<Out, float>) {
      if (p.beta != 0) c.fill(before);
    } else {
      if (p.beta != 0) c.fill(narrowed<bf16>(before));
    }
    launcher(product, inputs.A(), inputs.B(), c.data(), {}, nullptr);
    CUDA_CHECK_LAUNCH();
    c.copy_to(dense);
    if (!c.gaps_intact()) FAIL_CHECK("the kernel wrote between the rows of C, or around them");
  };
  const Layout layout = {.batch = p.batch, .rows = p.M, .cols = p.N};
  check_launch([&](float* C) { launch(C); }, want(), layout);
  if (rounded == Rounded::twice) sums = in_bf16(sums);
  INFO("C in bf16");
  check_launch([&](bf16* C) { launch(C); }, in_bf16(want()), layout);
}

TEST_CASE("hopper: epilogue without one is layouts", "[shapes]") {
  check_layouts(epilogue_step(), {{136, 72, 200}, {37, 45, 29}, {5, 9, 0}});
}

TEST_CASE("hopper: epilogue is right for any alpha and beta, with a bias and GELU", "[shapes]") {
  const Step<Launcher> step = epilogue_step();
  const auto check = [&](const Bf16Product& product, bool has_bias) {
    check_epilogue(step.launch, step.name, product, has_bias);
  };
  const Bf16Product plain = {.M = 136, .N = 72, .K = 104};
  for (const auto& [alpha, beta] :
       {std::pair(0.5f, 0.0f), {1.0f, 1.0f}, {-2.0f, 0.25f}, {0.0f, 3.0f}}) {
    Bf16Product p = plain;
    p.alpha = alpha, p.beta = beta;
    check(p, false);
    p.act = Activation::gelu;
    check(p, true);
  }
  // Odd sizes in rows with gaps, several products.
  Bf16Product odd = {.M = 131,
                     .N = 64,
                     .K = 75,
                     .b_transposed = true,
                     .lda = 80,
                     .ldb = 80,
                     .ldc = 72,
                     .batch = 2,
                     .alpha = 0.125f,
                     .beta = 0.5f,
                     .act = Activation::gelu};
  check(odd, true);
  odd.beta = 0;
  check(odd, true);
}

TEST_CASE("hopper: epilogue is right with each tile") {
  const Step<Launcher> step = epilogue_step();
  const FewMultiprocessors few(6);
  for (const auto& [N, batch, columns] : {std::tuple<int64_t, int64_t, int>{64, 9, 64},
                                          {248, 6, 256},
                                          {184, 6, 192},
                                          {128, 6, 128}}) {
    REQUIRE(columns_of_tile(130, N, 6, batch) == columns);
    check_epilogue(step.launch, step.name,
                   {.M = 130,
                    .N = N,
                    .K = 72,
                    .ldb = 256,
                    .ldc = 256,
                    .batch = batch,
                    .act = Activation::gelu},
                   true);
  }
}

// Rows that TMA does not take, and no products at all.
TEST_CASE("hopper: epilogue takes two kernels where TMA does not take the matrices") {
  const Step<Launcher> step = epilogue_step();
  for (const Shape& shape : {Shape{37, 45, 29}, {20, 24, 0}, {5, 1, 3}})
    for (bool has_bias : {false, true})
      check_epilogue(step.launch, step.name,
                     {.M = shape.M,
                      .N = shape.N,
                      .K = shape.K,
                      .batch = 2,
                      .alpha = 0.5f,
                      .act = Activation::gelu},
                     has_bias, Rounded::twice);
  CHECK_THROWS_AS(
      step.launch({.M = 3, .N = 5, .K = 7, .beta = 1}, nullptr, nullptr, Output(), {}, nullptr),
      Error);
}

// Pairs of numbers where C, its rows and its matrices all begin at some; else one by one.
TEST_CASE("hopper: the second kernel takes rows of C that begin anywhere") {
  const Step<Launcher> step = epilogue_step();
  for (const auto& [ldc, stride_c, offset] :
       {std::tuple<int64_t, int64_t, int64_t>{8, 40, 2}, {8, 40, 1}, {9, 46, 0}, {8, 41, 0}})
    check_epilogue(step.launch, step.name,
                   {.M = 5,
                    .N = 7,
                    .K = 3,
                    .ldc = ldc,
                    .batch = 2,
                    .stride_c = stride_c,
                    .act = Activation::gelu},
                   true, Rounded::twice, offset);
}

TEST_CASE("hopper: two_kernels is right, too") {
  runnable(steps.back());
  check_epilogue(two_kernels, "two_kernels",
                 {.M = 136, .N = 72, .K = 104, .alpha = 0.5f, .act = Activation::gelu}, true,
                 Rounded::twice);
}

// Sums so large and so small that exp overflows, or a quotient becomes 0.
TEST_CASE("hopper: GELU of large numbers, and of infinities") {
  const Step<Launcher> step = epilogue_step();
  const int64_t N = 16;
  const std::vector<float> inputs = {0,   1,    -1,    4,    -4,    8,        -8,        10,
                                     -10, 13.5, -13.5, 1e13, -1e13, INFINITY, -INFINITY, NAN};
  const DeviceBuffer<float> bias(inputs);
  const DeviceBuffer<bf16> a(std::vector<bf16>(8 * 8, bf16(0.0f))),
      b(std::vector<bf16>(8 * N, bf16(0.0f)));
  const Bf16Product p = {.M = 8, .N = N, .K = 8, .bias = bias.data(), .act = Activation::gelu};
  const Expected zeros = {std::vector<double>(8 * N), std::vector<double>(8 * N)};
  check_launch([&](float* C) { step.launch(p, a.data(), b.data(), C, {}, nullptr); },
               with_epilogue(zeros, p, inputs), {.rows = 8, .cols = N});
}

TEST_CASE("hopper: epilogue stays in its stream, and two launches share nothing") {
  const Step<Launcher> step = epilogue_step();
  const DeviceBuffer<float> bias(make_values({136}, Init::normal, 3));
  tensor_cores::check_layout_in_two_streams(
      step, {.M = 70, .N = 136, .K = 72, .batch = 2, .bias = bias.data(), .act = Activation::gelu});
  tensor_cores::check_layout_in_two_streams(
      step, {.M = 70, .N = 131, .K = 72, .batch = 2, .bias = bias.data(), .act = Activation::gelu});
}

TEST_CASE("hopper: epilogue asks for what its header says", "[counts]") {
  const Step<Launcher> step = epilogue_step();
  const DeviceBuffer<float> bias(make_values({136}, Init::normal, 3));
  const Bf16Product p = {.M = 140, .N = 136, .K = 72, .batch = 2, .act = Activation::gelu};
  tensor_cores::check_layout_asks(step, p);
  Bf16Product other = p;
  other.bias = bias.data();
  tensor_cores::check_layout_asks(step, other);
  other.beta = 2;  // C is read
  other.bias = nullptr;
  tensor_cores::check_layout_asks(step, other);
  other.beta = 0;
  other.N = 131;  // not for TMA
  tensor_cores::check_layout_asks(step, other);
  const FewMultiprocessors few(4);  // wide tiles, whose blocks read the bias for 256 rows
  other.N = 136;
  other.bias = bias.data();
  REQUIRE(columns_of_tile(other.M, other.N, 4, other.batch) > 64);
  tensor_cores::check_layout_asks(step, other);
}

TEST_CASE("hopper: the reference's epilogue is right where the sums are known") {
  const Expected sums = {{1, -2, 3, 0}, {0, 0, 0, 0}};
  const Bf16Product p = {.M = 2, .N = 2, .alpha = 2, .beta = 3};
  const std::vector<float> bias = {10, 20}, before = {1, 1, 2, 2};
  CHECK(with_epilogue(sums, p, bias, before).value == std::vector<double>{15, 19, 22, 26});
  CHECK(with_epilogue(sums, {.M = 2, .N = 2}, {}).value == sums.value);
  const Expected gelu = with_epilogue(sums, {.M = 2, .N = 2, .act = Activation::gelu}, {});
  // PyTorch's gelu(x, approximate='tanh') in float64
  const double want[] = {0.8411919906082768, -0.04540230591222494, 2.996362607918227, 0};
  for (size_t i = 0; i < 4; ++i) CHECK(std::abs(gelu.value[i] - want[i]) < 1e-12);
}

TEST_CASE("hopper: the program fuses an epilogue, and has two kernels beside it", "[program]") {
  const Words small = {"--m", "40", "--n", "32", "--k", "24"};
  for (const char* which : {"bias", "gelu", "bias_gelu"}) {
    const ProgramRun run = run_program(small + Words{"--epilogue", which, "--kernel", "epilogue"});
    check_all_right(run, {"epilogue", "two_kernels"}, {.flop = 61440, .bytes = 8576});
  }
  const ProgramRun all = run_program(small + Words{"--epilogue", "bias_gelu", "--bf16-out"});
  CHECK(all.status == 0);
  CHECK_THAT(all.out, ContainsSubstring("gelu(A[40×24] · B[24×32] + bias)"));
  CHECK(run_program({"--epilogue", "relu"}).status == 2);
  // A large C's rows are compared in part, and all of them: the sums of the others are not a
  // product's.
  CHECK(run_as_large(
            {"--m", "70", "--n", "32", "--k", "24", "--epilogue", "gelu", "--kernel", "epilogue"},
            64 * 32 * 24)
            .status == 0);
  check_every_row_can_fail(TUTORIAL_TESTS,
                           small + Words{"--epilogue", "bias_gelu", "--kernel", "epilogue"});
}

}  // namespace
}  // namespace tutorial::tiled_matmul::hopper
