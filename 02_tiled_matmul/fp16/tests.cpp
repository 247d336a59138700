// Every step of the part, and cuBLAS beside them, on shapes that their likely mistakes do not
// survive, with both types of C; then what fp16 cannot hold, what the steps ask for, the program,
// and what rounding costs.
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <cmath>

#include "common/kernel/error.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/program_run.hpp"
#include "common/testing/two_streams.hpp"
#include "fp16/rounding.hpp"
#include "fp16/tests/check_step.hpp"

namespace tutorial::tiled_matmul::fp16 {
namespace {

using Catch::Matchers::Message;

std::vector<Step<Launcher>> steps_and_cublas() {
  std::vector<Step<Launcher>> all = steps;
  all.push_back({.name = "cuBLAS", .launch = &cublas, .idea = ""});
  return all;
}

TEST_CASE("fp16: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps_and_cublas());
  for (const Shape& shape : std::vector<Shape>{
           {128, 128, 32},   // whole tiles
           {256, 256, 160},  // several, and each buffer more than once
           {37, 45, 29},     // all different, no whole tile
           {257, 129, 65},   // more than one in all directions
           {136, 264, 72},   // … with rows that allow 16-byte accesses
           {130, 266, 74},   // … that allow 4-byte ones
       })
    check_step(step, shape);
  for (const Shape& shape : shapes_at_edges) check_step(step, shape);
}

TEST_CASE("fp16: every step takes any address that its types can have", "[shapes]") {
  const auto step = EACH_STEP(steps_and_cublas());
  check_addresses([&](Shape shape, Offsets offsets) { check_step(step, shape, offsets); });
}

TEST_CASE("fp16: every step gives NaN for 0 times infinity, and infinity for others") {
  const auto step = EACH_STEP(steps_and_cublas());
  check_zero_times_infinity<__half>(
      [&](Shape shape, auto& A, auto& B) { check_step(step, shape, A, B); });
}

TEST_CASE("fp16: every step rounds to fp16 once, and to nearest even") {
  const auto step = EACH_STEP(steps_and_cublas());
  // 1 and 2^-11 and 2^-22, of which fp16 keeps 1: a sum that is exact in fp32, and just above, at
  // and just below the middle between two fp16 numbers. Then what fp16's subnormals keep.
  const std::vector<float> A = {1, 1, 1, 1, 1, 0, 1, 1, -1, 0x1.004p0f, 1, 0, 0, 0x1p-13f, 0};
  const std::vector<float> B = {1, 0x1p-11f, 0x1p-22f};
  const std::vector<float> want = {0x1.004p0f, 1, 1, 0x1.008p0f, 0x1p-24f};
  const DeviceBuffer<__half> a(narrowed<__half>(A)), b(narrowed<__half>(B));
  DeviceBuffer<__half> c(5);
  step.launch({5, 1, 3}, a.data(), b.data(), c.data(), {}, nullptr);
  CHECK(widened<__half>(c.to_host()) == want);
}

// fp32 holds these sums, and fp16 ends at 65504. Half way to the next number that it would have,
// 65536, it rounds to infinity.
TEST_CASE("fp16: a sum from 65520 on is infinite in fp16, and right in fp32") {
  const auto step = EACH_STEP(steps_and_cublas());
  const std::vector<float> A = {65504, 15, 65504, 16, -65504, -16, 65504, 65504, 65504, -65504};
  const std::vector<float> B = {1, 1};
  const std::vector<float> sums = {65519, 65520, -65520, 131008, 0};
  const std::vector<float> rounded = {65504, INFINITY, -INFINITY, INFINITY, 0};
  const DeviceBuffer<__half> a(narrowed<__half>(A)), b(narrowed<__half>(B));
  DeviceBuffer<float> c(5);
  DeviceBuffer<__half> half_c(5);
  step.launch({5, 1, 2}, a.data(), b.data(), c.data(), {}, nullptr);
  step.launch({5, 1, 2}, a.data(), b.data(), half_c.data(), {}, nullptr);
  CHECK(c.to_host() == sums);
  CHECK(widened<__half>(half_c.to_host()) == rounded);
}

TEST_CASE("fp16: every step is right where most of C overflows") {
  const auto step = EACH_STEP(steps_and_cublas());
  const int64_t M = 40, N = 50, K = 70;
  std::vector<float> A = make_values({M, K}, Init::normal, 1);
  std::vector<float> B = make_values({K, N}, Init::normal, 2);
  for (std::vector<float>* X : {&A, &B}) {
    for (float& x : *X) x *= 300;
    *X = rounded_to<__half>(*X);
  }
  const Expected want = in_fp16(reference(A, B, N, K, all_rows(M)));
  const auto infinite = std::ranges::count_if(want.value, [](double x) { return std::isinf(x); });
  CHECK((infinite > M * N / 2 && infinite < M * N));
  check_step(step, {M, N, K}, A, B);
}

TEST_CASE("fp16: a step refuses a size below 0") {
  const auto step = EACH_STEP(steps);
  for (const HalfProduct& product : {HalfProduct{-1, 2, 3}, {1, -1, 3}, {1, 2, -1}})
    CHECK_THROWS_MATCHES(step.launch(product, nullptr, nullptr, HalfOutput(), {}, nullptr), Error,
                         Message(std::string(step.name) + " takes sizes from 0 on, and one is -1"));
}

TEST_CASE("fp16: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  const int64_t M = 129, N = 131, K = 41;
  const DeviceBuffer<__half> a(narrowed<__half>(half_values({M, K}, 1)));
  const DeviceBuffer<__half> b(narrowed<__half>(half_values({K, N}, 2)));
  const auto launch = [&](HalfOutput C, Workspace workspace, cudaStream_t stream) {
    step.launch({M, N, K}, a.data(), b.data(), C, workspace, stream);
  };
  check_in_two_streams<float>(M * N, 0, launch);
  check_in_two_streams<__half>(M * N, 0, launch);
}

TEST_CASE("fp16: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const auto& [M, N, K] : {Shape{128, 256, 64}, {136, 264, 72}, {130, 70, 45}, {1, 130, 7}}) {
    CAPTURE(step.name, M, N, K);
    const DeviceBuffer<__half> a(narrowed<__half>(half_values({M, K}, 1)));
    const DeviceBuffer<__half> b(narrowed<__half>(half_values({K, N}, 2)));
    DeviceBuffer<float> c(M * N);
    DeviceBuffer<__half> half_c(M * N);
    const HalfProduct product = {M, N, K};
    for (HalfOutput C : {HalfOutput(c.data()), HalfOutput(half_c.data())}) {
      const Counts counts = check_asked_for(
          step, [&](auto run) { return run(product, a.data(), b.data(), C, {}, nullptr); });
      if (step.launch != wmma) check_no_conflicts(counts);
    }
  }
}

TEST_CASE("fp16: the program checks every step, and finds one wrong element", "[program]") {
  const Words small = {"--m", "40", "--n", "30", "--k", "20"};
  const ProgramRun run = run_program(small);
  // 2·40·30·20 FLOP; 2·(40·20 + 20·30) + 4·40·30 bytes
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 48000, .bytes = 7600});
  CHECK_THAT(run.out, ContainsSubstring("C[40×30] = A[40×20] · B[20×30], fp16 in, fp32 out\n"));
  CHECK_THAT(run.out, ContainsSubstring("A and B are rounded to fp16, to nearest even"));
  CHECK_THAT(run.out, ContainsSubstring("to round A and B moves C by "));
  // One tile loads all once.
  check_counted(run.row("fragments"), {{"global_load_bytes", 2 * (40 * 20 + 20 * 30)},
                                       {"global_store_bytes", 4 * 40 * 30}});
  check_wrong(run_spoiled(small + Words{"--kernel", "wmma"}, {"wmma", 1199, 1, 0.01f}),
              {"1 of 1200 elements", "C[39][29]"});
}

TEST_CASE("fp16: the program writes C in fp16, too", "[program]") {
  const ProgramRun run = run_program({"--fp16-out", "--m", "40", "--n", "30", "--k", "20"});
  // 2·(40·20 + 20·30 + 40·30) bytes
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 48000, .bytes = 5200});
  CHECK_THAT(run.out, ContainsSubstring(", fp16 in, fp16 out\n"));
  check_counted(run.row("fragments"), {{"global_load_bytes", 2 * (40 * 20 + 20 * 30)},
                                       {"global_store_bytes", 2 * 40 * 30}});
}

TEST_CASE("fp16: the program checks a large product by rows and sums", "[program]") {
  const Words sizes = {"--m", "210", "--n", "20", "--k", "10", "--kernel", "wmma"};
  const auto wrong = [&](int64_t first, int64_t count) {
    return run_as_large(sizes, 40000, {"wmma", first, count, 1});
  };
  check_all_right(wrong(0, 0), {"wmma"}, {.flop = 84000, .bytes = 21400});
  check_wrong(wrong(0, 1), {"1 of 320 checked elements (16 of 210 rows)", "C[0][0]"});
  check_wrong(wrong(row_not_compared(210, 16) * 20, 1), {"1 of 210 rows are wrong (Freivalds"});
}

// fp16 has 11 bits and bf16 has 8: the errors of normal numbers are about 8 times as large.
TEST_CASE("fp16: rounding normal numbers to fp16 costs an eighth of what bf16 costs") {
  const int64_t M = 16, N = 40, K = 500;
  const std::vector<float> A = make_values({M, K}, Init::normal, 1);
  const std::vector<float> B = make_values({K, N}, Init::normal, 2);
  const RoundingErrors errors = rounding_errors(A, B, N, K, all_rows(M));
  CHECK((errors.fp16 > 0x1p-14 && errors.fp16 < 0x1p-11));
  CHECK((errors.bf16 > 7 * errors.fp16 && errors.bf16 < 9 * errors.fp16));
  const std::vector<float> zeros(K, 0.0f);  // nothing to be a part of
  CHECK(rounding_errors(zeros, std::vector<float>(K * N, 1.0f), N, K, all_rows(1)).bf16 == 0);
}

TEST_CASE("fp16: the program's note counts numbers that are too large") {
  CHECK(count_overflows<__half>(std::vector<float>{65504, 65519, 65520, -1e6f, INFINITY}) == 2);
  CHECK(rounding_line({1}, {1e5f}, {1, 1, 1}).starts_with("1 element of A and B is beyond"));
  CHECK(rounding_line({-1e5f}, {1e5f}, {1, 1, 1}).starts_with("2 elements of A and B are beyond"));
  CHECK(rounding_line({1}, {2}, {1, 1, 1}) ==
        "to round A and B moves C by 0 of its root mean square in fp16, by 0 in bf16");
  // fp16 has 1 + 2^-9, which bf16 rounds to 1, half of C: √½·2^-9 of it.
  CHECK(rounding_line({1 + 0x1p-9f, 1}, {1}, {2, 1, 1}) ==
        "to round A and B moves C by 0 of its root mean square in fp16, by 0.0014 in bf16");
  // 2^-12 is too small for both. Two columns are off by it, and two are not.
  CHECK(rounding_line({1}, {1 + 0x1p-12f, 1, 1, -1 - 0x1p-12f}, {1, 4, 1}) ==
        "to round A and B moves C by 0.00017 of its root mean square in fp16, by 0.00017 in bf16");
  CHECK(rounding_line({}, {}, {1, 1, 0}).empty());
}

TEST_CASE("fp16: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--m", "40", "--n", "30", "--k", "20"});
}

}  // namespace
}  // namespace tutorial::tiled_matmul::fp16
