// Every step of the part on shapes that their likely mistakes do not survive, with both types of C;
// then what they ask for, what they leave to part tensor_cores, and the program. Part tensor_cores
// tests cuBLAS and the reference.
#include <algorithm>
#include <cmath>
#include <string>

#include "common/testing/program_run.hpp"
#include "hopper/hopper.hpp"
#include "tensor_cores/tests/check_step.hpp"

namespace tutorial::tiled_matmul::hopper {
namespace {

using tensor_cores::bf16_values, tensor_cores::check_step, tensor_cores::Shape;
using tensor_cores::check_step_asks, tensor_cores::check_step_in_two_streams;

constexpr int SMS = 132;  // of an H100 or H200, and of the simulator

Step<Launcher> step_named(const std::string& name) {
  const auto is_it = [&](const Step<Launcher>& step) { return step.name == name; };
  return runnable(*std::find_if(steps.begin(), steps.end(), is_it));
}

TEST_CASE("hopper: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (const Shape& shape : std::vector<Shape>{{256, 256, 64},   // whole tiles, one of K
                                               {128, 256, 256},  // each stage once
                                               {128, 256, 640},  // … and again, with both parities
                                               {64, 256, 72},    // a tail of K
                                               {136, 264, 104},  // … and of M and N, of 8
                                               {257, 520, 8},    // … of 1, and K less than a step
                                               {1, 8, 8},
                                               {3, 40, 328},
                                               {300, 64, 200},
                                               {0, 16, 8},
                                               {8, 0, 8},
                                               {0, 0, 0},
                                               {5, 40, 0}})
    check_step(step, shape);
}

// Rows that do not begin at multiples of 16 bytes, and matrices that do not.
TEST_CASE("hopper: every step takes what TMA does not, too", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (const Shape& shape : {Shape{37, 45, 29}, {20, 36, 16}, {20, 40, 20}, {1, 1, 1}})
    check_step(step, shape);
  for (int64_t offset : {1, 4, 7}) {
    check_step(step, {12, 24, 16}, {.a = offset});
    check_step(step, {12, 24, 16}, {.b = offset});
    check_step(step, {12, 24, 16}, {.c = offset});
  }
  check_step(step, {12, 24, 16}, {8, 16, 24});  // multiples of 16 bytes, but of no more
}

TEST_CASE("hopper: every step gives NaN for 0 times infinity, and infinity for others") {
  const auto step = EACH_STEP(steps);
  const auto [M, N, K] = Shape{70, 16, 72};
  std::vector<float> A = bf16_values({M, K}, 1), B = bf16_values({K, N}, 2);
  A[1 * K + 2] = 0, B[2 * N + 3] = INFINITY;      // C[1][3]; else infinite in column 3
  A[66 * K + 71] = -INFINITY, B[71 * N + 5] = 0;  // C[66][5]; else infinite in row 66
  check_step(step, {M, N, K}, A, B);
}

// More tiles of 128 × 256 than multiprocessors, and of 256 × 256 than pairs of them: some blocks
// have two, and use each stage in both. There are two strips, of 2048 rows and of fewer. K has no
// multiple of four tiles, so that the second tile of C begins with another stage than the first.
TEST_CASE("hopper: every step is right with several tiles a block") {
  const auto step = EACH_STEP(steps);
  {
    const FewMultiprocessors few(6);
    check_step(step, {776, 776, 264});
  }
  const FewMultiprocessors two(2);
  check_step(step, {264, 264, 200});  // K is as long as a ring of four stages
}

TEST_CASE("hopper: every step is right on both sides of the borders of its rules", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (step.launch != &narrow_tiles && step.launch != &by_shape && step.launch != &layouts) return;
  tensor_cores::check_borders(step, 8, {300, 100, 10}, 4, 3e7);
}

TEST_CASE("hopper: narrow_tiles takes wide ones where they keep half of the device busy") {
  CHECK(wide_tiles_are_enough(4096, 4096, SMS));
  CHECK(wide_tiles_are_enough(2048, 2048, SMS));
  CHECK(wide_tiles_are_enough(256, 34 * 256, SMS));
  CHECK_FALSE(wide_tiles_are_enough(256, 33 * 256, SMS));  // 66 blocks of 132
  CHECK_FALSE(wide_tiles_are_enough(1024, 1024, SMS));
  CHECK(wide_tiles_are_enough(100, 100, 1));  // whatever the device
}

// A narrow tile makes an odd number of boxes in bf16, so a block's second tile begins with the
// other box.
TEST_CASE("hopper: narrow_tiles is right with each tile") {
  const Step<Launcher> step = step_named("narrow_tiles");
  const FewMultiprocessors few(6);
  for (const auto& [shape, is_wide] :
       {std::pair{Shape{130, 1000, 72}, true},  // 4 tiles for 3 pairs
        {Shape{130, 256, 200}, false}}) {       // 8 tiles for 6 blocks
    REQUIRE(wide_tiles_are_enough(shape.M, shape.N, 6) == is_wide);
    check_step(step, shape);
  }
}

TEST_CASE("hopper: by_shape takes the tile with which the device is done first") {
  CHECK(columns_of_tile(8192, 8192, SMS) == 256);
  CHECK(columns_of_tile(4096, 4096, SMS) == 256);
  CHECK(columns_of_tile(16384, 512, SMS) == 256);
  CHECK(columns_of_tile(8192, 1024, SMS) == 256);
  CHECK(columns_of_tile(3000, 5000, SMS) == 192);
  CHECK(columns_of_tile(1536, 1408, SMS) == 128);
  CHECK(columns_of_tile(1024, 1024, SMS) == 64);
  CHECK(columns_of_tile(100, 100, 1) > 0);  // whatever the device
}

// Tiles of 192 and of 64 columns make an odd number of boxes in bf16, so a block's second tile
// begins with the other box.
TEST_CASE("hopper: by_shape is right with each tile") {
  const Step<Launcher> step = step_named("by_shape");
  for (const auto& [shape, columns] : {std::pair{Shape{130, 16888, 72}, 256},
                                       {Shape{130, 16904, 72}, 192},  // 89 tiles for 66 clusters
                                       {Shape{130, 8440, 72}, 128},
                                       {Shape{130, 200, 200}, 64},
                                       {Shape{100, 8520, 72}, 64}}) {  // 134 tiles for 132 blocks
    REQUIRE(columns_of_tile(shape.M, shape.N, SMS) == columns);
    check_step(step, shape);
  }
}

TEST_CASE("hopper: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  check_step_in_two_streams(step, {130, 200, 72});
  check_step_in_two_streams(step, {129, 131, 9});  // not for TMA, and with copies of A and of B
}

TEST_CASE("hopper: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Shape& shape :
       {Shape{128, 256, 64}, {136, 264, 72}, {300, 520, 200}, {1, 8, 8}, {257, 40, 16}})
    check_step_asks(step, shape, workspace_bytes, [](const Counts& counts, Output C) {
      CHECK(counts.shared_loads.conflicts == 0);
      // stmatrix has none; pairs of fp32 do collide.
      if (std::holds_alternative<tensor_cores::bf16*>(C))
        CHECK(counts.shared_stores.conflicts == 0);
    });
  const FewMultiprocessors few(4);
  for (const auto& [shape, columns] : {std::pair{Shape{129, 1000, 8}, 256},
                                       {Shape{129, 264, 8}, 192},
                                       {Shape{129, 136, 8}, 128}}) {
    REQUIRE(columns_of_tile(shape.M, shape.N, 4) == columns);
    check_step_asks(step, shape);
  }
}

TEST_CASE("hopper: bf16 comes into the boxes of each tile without bank conflicts", "[counts]") {
  const Step<Launcher> step = step_named("by_shape");
  const FewMultiprocessors two(2);
  for (const int columns : {64, 128, 192, 256}) {
    CAPTURE(columns);
    const Shape shape = {130, columns, 72};
    REQUIRE(columns_of_tile(shape.M, shape.N, 2) == columns);
    check_step_asks(step, shape, workspace_bytes, [](const Counts& counts, Output C) {
      if (std::holds_alternative<tensor_cores::bf16*>(C)) check_no_conflicts(counts);
    });
  }
}

TEST_CASE("hopper: the program checks every step, and finds one wrong element", "[program]") {
  const Words small = {"--m", "40", "--n", "32", "--k", "24"};
  // 2·40·32·24 FLOP; 2·(40·24 + 24·32) + 4·40·32 bytes
  const ProgramRun run = run_program(small);
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 61440, .bytes = 8576});
  check_counted(run.row("warpgroup"), {{"global_load_bytes", 2 * (40 * 24 + 24 * 32)},
                                       {"global_store_bytes", 4 * 40 * 32}});
  check_wrong(run_spoiled(small + Words{"--kernel", "warpgroup"}, {"warpgroup", 1279, 1, 0.01f}),
              {"1 of 1280 elements", "C[39][31]"});
}

TEST_CASE("hopper: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--m", "40", "--n", "32", "--k", "24"});
}

}  // namespace
}  // namespace tutorial::tiled_matmul::hopper
