// Every step of the part, and cuBLAS beside them, on shapes that their likely mistakes do not
// survive, with both types of C; then what they ask for, the program, and the reference itself.
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <cmath>
#include <stdexcept>

#include "common/testing/program_run.hpp"
#include "tensor_cores/operands.hpp"
#include "tensor_cores/tests/check_step.hpp"

namespace tutorial::tiled_matmul::tensor_cores {
namespace {

using Catch::Matchers::Message;

std::vector<Step<Launcher>> steps_and_cublas() {
  std::vector<Step<Launcher>> all = steps;
  all.push_back({.name = "cuBLAS", .launch = &cublas, .idea = ""});
  return all;
}

Step<Launcher> step_named(const std::string& name) {
  for (const auto& step : steps)
    if (step.name == name) return step;
  throw std::logic_error("no step " + name);
}

/// Of a step in the list, from 1.
int64_t number_of(const Step<Launcher>& step) {
  return 1 + std::ranges::find(steps, step.launch, &Step<Launcher>::launch) - steps.begin();
}

TEST_CASE("tensor cores: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps_and_cublas());
  for (const Shape& shape : std::vector<Shape>{
           {128, 128, 64},   // whole tiles
           {256, 256, 256},  // several, and each stage more than once
           {37, 45, 29},     // all different, no whole tile
           {257, 129, 65},   // more than one in all directions
           {136, 264, 72},   // … with rows that allow 16-byte accesses
           {132, 268, 76},   // … 8-byte accesses
           {130, 266, 74},   // … 4-byte accesses
       })
    check_step(step, shape);
  for (const Shape& shape : shapes_at_edges) check_step(step, shape);
}

TEST_CASE("tensor cores: every step takes any address that its types can have", "[shapes]") {
  const auto step = EACH_STEP(steps_and_cublas());
  check_addresses([&](Shape shape, Offsets offsets) { check_step(step, shape, offsets); });
}

TEST_CASE("tensor cores: every step gives NaN for 0 times infinity, and infinity for others") {
  const auto step = EACH_STEP(steps_and_cublas());
  check_zero_times_infinity<bf16>(
      [&](Shape shape, auto& A, auto& B) { check_step(step, shape, A, B); });
}

TEST_CASE("tensor cores: every step rounds to bf16 once, and to nearest even") {
  const auto step = EACH_STEP(steps_and_cublas());
  if (is_too_large_here(step)) return;
  // 1 and 2^-8 and 2^-16, of which bf16 keeps 1: a sum that is exact in fp32, and just above, at
  // and just below the middle between two bf16 numbers.
  const std::vector<float> A = {1, 1, 1, 1, 1, 0, 1, 1, -1, 0x1.02p0f, 1, 0};
  const std::vector<float> B = {1, 0x1p-8f, 0x1p-16f};
  const std::vector<float> want = {0x1.02p0f, 1, 1, 0x1.04p0f};
  const DeviceBuffer<bf16> a(narrowed<bf16>(A)), b(narrowed<bf16>(B));
  DeviceBuffer<bf16> c(4);
  step.launch({4, 1, 3}, a.data(), b.data(), c.data(), {}, nullptr);
  CHECK(widened<bf16>(c.to_host()) == want);
}

// Of the steps with a tile of 128 × 256. More than fits is an error, and a GPU says what a block
// has.
TEST_CASE("tensor cores: as many stages as fit") {
  const auto step = EACH_STEP(steps);
  if (step.tile.cols != 256) return;
  constexpr int64_t STAGE = 48 * 1024;
  const DeviceBuffer<bf16> a(narrowed<bf16>(bf16_values({8, 8}, 1)));
  DeviceBuffer<bf16> c(8 * 8);
  for (int64_t limit : {3 * STAGE, 3 * STAGE - 1, 2 * STAGE}) {
    const SmallSharedMemory small(limit);
    start_profile();
    step.launch({8, 8, 8}, a.data(), a.data(), c.data(), {}, nullptr);
    const int64_t bytes = take_profile(false).back().takes.shared_bytes;
    CAPTURE(step.name, limit, bytes);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    if (device_has_clock()) CHECK(bytes / STAGE == (shared_memory_limit() >= 3 * STAGE ? 3 : 2));
  }
}

TEST_CASE("tensor cores: a step says how much shared memory it needs, for an empty C too") {
  const auto step = EACH_STEP(steps);
  constexpr int64_t NEEDED = 96 * 1024;  // of all steps from stages on
  const auto launch = [&] { step.launch({}, nullptr, nullptr, Output(), {}, nullptr); };
  const SmallSharedMemory enough(NEEDED);
  CHECK_NOTHROW(launch());
  const SmallSharedMemory too_little(NEEDED - 1);
  if (step.launch == wmma || step.launch == fragments || step.launch == swizzled)
    CHECK_NOTHROW(launch());
  else
    CHECK_THROWS_MATCHES(launch(), DeviceTooSmall,
                         Message(std::string(step.name) +
                                 " needs 98304 bytes of shared memory a block; this device allows "
                                 "98303: take --kernel swizzled."));
}

// Copies of every width, and each stage more than once.
TEST_CASE("tensor cores: every step is right in 99 KB of shared memory", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (step.tile.cols == 128) return;  // the same tile as everywhere
  const SmallSharedMemory small(99 * 1024);
  for (const Shape& shape : {Shape{37, 45, 301}, {130, 24, 200}, {20, 28, 204}, {20, 26, 202}})
    check_step(step, shape);
}

TEST_CASE("tensor cores: A and B are taken as they are where the workspace is too small") {
  const Step<Launcher> step =
      runnable(step_named(GENERATE("padded_rows", "small_tiles", "by_shape")));
  const int64_t M = 129, N = 131, K = 9;
  const std::vector<float> A = bf16_values({M, K}, 1), B = bf16_values({K, N}, 2);
  const DeviceBuffer<bf16> a(narrowed<bf16>(A)), b(narrowed<bf16>(B));
  const int64_t needed = workspace_bytes({M, N, K}, a.data(), b.data());
  CHECK(needed == 2 * (129 * 16 + 9 * 136));
  for (int64_t bytes : {int64_t{0}, int64_t{129 * 16 * 2}, needed - 1}) {
    CAPTURE(step.name, bytes);
    DeviceBuffer<unsigned char> memory(bytes);
    const auto launch = [&](float* C) {
      step.launch({M, N, K}, a.data(), b.data(), C, workspace_in(memory), nullptr);
    };
    check_launch(launch, reference(A, B, N, K, all_rows(M)), {.rows = M, .cols = N});
    CHECK(memory.to_host() == std::vector<unsigned char>(bytes, 0xff));  // still poison
  }
}

TEST_CASE("tensor cores: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  check_step_in_two_streams(step, {129, 131, 9});  // with copies of A and of B
}

// One operand is copied, or both; rows_are_aligned() is true for one of them only by its address.
TEST_CASE("tensor cores: padded_rows is right with copies of A, of B and of both", "[shapes]") {
  const Step<Launcher> step = runnable(step_named("padded_rows"));
  check_step(step, {129, 136, 9});             // A
  check_step(step, {130, 133, 16});            // B
  check_step(step, {140, 133, 11});            // both
  check_step(step, {128, 136, 16}, {.a = 1});  // A for its address
  check_step(step, {4100, 128, 3}, {.b = 3});  // more rows than blocks
}

// All other shapes here are so small that the last two steps take their small tiles. On one
// multiprocessor these take the large ones, with copies of every width.
TEST_CASE("tensor cores: small_tiles and by_shape are right with large tiles", "[shapes]") {
  const Step<Launcher> step = runnable(step_named(GENERATE("small_tiles", "by_shape")));
  const FewMultiprocessors one(1);
  const auto check_large = [&](const Shape& shape) {
    REQUIRE(!large_tiles_are_few(shape.M, shape.N, 1));
    REQUIRE(!takes_small_tiles(shape.M, shape.N, 1, shared_memory_limit()));
    check_step(step, shape);
  };
  for (const Shape& shape :
       {Shape{200, 504, 200}, {65, 504, 72}, {65, 508, 12}, {65, 510, 10}, {65, 509, 9}})
    check_large(shape);
  const SmallSharedMemory small(99 * 1024);  // for the large tile of two stages
  check_large({65, 504, 136});
}

TEST_CASE("tensor cores: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  if (is_too_large_here(step)) return;
  for (const Shape& shape : {Shape{128, 256, 64},
                             {136, 264, 72},
                             {130, 70, 45},
                             {20, 20, 132},
                             {1, 130, 7},
                             {129, 136, 9},
                             {129, 131, 16}}) {
    check_step_asks(step, shape, workspace_bytes, [&](const Counts& counts, Output C) {
      if (step.launch == wmma) return;
      // Of a small tile a warp has 32 columns of C, and of two rows of 80 bytes, in bf16, which
      // lanes read together on C's way out, some lie in the same banks.
      const bool collides = number_of(step) >= 14 && std::holds_alternative<bf16*>(C);
      CHECK(counts.shared_loads.conflicts <= (collides ? 4 * counts.stores.requests : 0));
      CHECK(counts.shared_stores.conflicts == 0);
      if (number_of(step) >= 10 && shape.N % 16 == 0 && shape.K % 8 == 0)
        check_stores_fill_sectors(counts);
    });
  }
}

TEST_CASE("tensor cores: the large tiles have no bank conflicts in any step that takes them",
          "[counts]") {
  const auto step = EACH_STEP(steps);
  if (number_of(step) < 14 || is_too_large_here(step)) return;
  const auto check = [&](const Shape& shape) {
    check_step_asks(step, shape, workspace_bytes,
                    [](const Counts& counts, Output) { check_no_conflicts(counts); });
  };
  const FewMultiprocessors one(1);
  check({65, 504, 72});
  const SmallSharedMemory small(99 * 1024);  // the large tile of two stages
  check({65, 500, 64});
}

TEST_CASE("tensor cores: the program checks every step, and finds one wrong element", "[program]") {
  const Words small = {"--m", "40", "--n", "30", "--k", "20"};
  const ProgramRun run = run_program(small);
  // 2·40·30·20 FLOP; 2·(40·20 + 20·30) + 4·40·30 bytes
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 48000, .bytes = 7600});
  CHECK_THAT(run.out, ContainsSubstring("C[40×30] = A[40×20] · B[20×30], bf16 in, fp32 out\n"));
  CHECK_THAT(run.out, ContainsSubstring("A and B are rounded to bf16, to nearest even"));
  // One tile loads all once.
  check_counted(run.row("swizzled"), {{"global_load_bytes", 2 * (40 * 20 + 20 * 30)},
                                      {"global_store_bytes", 4 * 40 * 30},
                                      {"shared_load_conflicts", 0},
                                      {"shared_store_conflicts", 0}});
  check_wrong(run_spoiled(small + Words{"--kernel", "wmma"}, {"wmma", 1199, 1, 0.01f}),
              {"1 of 1200 elements", "C[39][29]"});
}

TEST_CASE("tensor cores: the program writes C in bf16, too", "[program]") {
  const ProgramRun run = run_program({"--bf16-out", "--m", "40", "--n", "30", "--k", "20"});
  // 2·(40·20 + 20·30 + 40·30) bytes
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 48000, .bytes = 5200});
  CHECK_THAT(run.out, ContainsSubstring(", bf16 in, bf16 out\n"));
  check_counted(run.row("swizzled"), {{"global_load_bytes", 2 * (40 * 20 + 20 * 30)},
                                      {"global_store_bytes", 2 * 40 * 30}});
}

TEST_CASE("tensor cores: the program checks a large product by rows and sums", "[program]") {
  const Words sizes = {"--m", "210", "--n", "20", "--k", "10", "--kernel", "wmma"};
  const auto wrong = [&](int64_t first, int64_t count) {
    return run_as_large(sizes, 40000, {"wmma", first, count, 1});
  };
  check_all_right(wrong(0, 0), {"wmma"}, {.flop = 84000, .bytes = 21400});
  check_wrong(wrong(0, 1), {"1 of 320 checked elements (16 of 210 rows)", "C[0][0]"});
  check_wrong(wrong(row_not_compared(210, 16) * 20, 1), {"1 of 210 rows are wrong (Freivalds"});
}

TEST_CASE("tensor cores: the reference is right where the product is known") {
  const int64_t M = 7, N = 5, K = 6;
  const std::vector<float> B = bf16_values({K, N}, 2);
  SECTION("one 1 in each row of A picks a row of B") {
    std::vector<float> A(M * K, 0.0f);
    for (int64_t i = 0; i < M; ++i) A[i * K + (5 * i + 2) % K] = 1;
    const Expected got = reference(A, B, N, K, all_rows(M));
    for (int64_t i = 0; i < M; ++i)
      for (int64_t j = 0; j < N; ++j) {
        CHECK(got.value[i * N + j] == B[(5 * i + 2) % K * N + j]);
        CHECK(got.bound[i * N + j] == gamma_bound(3 * K + 4) * std::abs(got.value[i * N + j]));
      }
  }
  SECTION("some rows only: the same numbers as in the full product") {
    const std::vector<float> A = bf16_values({M, K}, 1);
    const Expected full = reference(A, B, N, K, all_rows(M));
    const std::vector<int64_t> rows = {0, 3, 6};
    const Expected some = reference(A, B, N, K, rows);
    REQUIRE(some.value.size() == rows.size() * N);
    for (size_t i = 0; i < rows.size(); ++i)
      for (int64_t j = 0; j < N; ++j) CHECK(some.value[i * N + j] == full.value[rows[i] * N + j]);
  }
  SECTION("K = 0 gives zeros") {
    const Expected got = reference({}, {}, N, 0, all_rows(M));
    CHECK(got.value == std::vector<double>(M * N, 0.0));
    CHECK(got.bound == std::vector<double>(M * N, 0.0));
  }
}

TEST_CASE("tensor cores: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--m", "40", "--n", "30", "--k", "20"});
}

}  // namespace
}  // namespace tutorial::tiled_matmul::tensor_cores
