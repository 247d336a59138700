// Every step of the part on shapes that their likely mistakes do not survive, with both types of C;
// then the rules by which K is cut, what the steps ask for and leave to other parts, and the
// program. Part tensor_cores tests cuBLAS and the reference.
#include <algorithm>
#include <cmath>
#include <string>

#include "common/testing/program_run.hpp"
#include "common/testing/same_bits.hpp"
#include "few_rows/few_rows.hpp"
#include "tensor_cores/tests/check_step.hpp"

namespace tutorial::tiled_matmul::few_rows {
namespace {

using tensor_cores::bf16_values, tensor_cores::Shape, tensor_cores::Offsets;
using tensor_cores::check_step_asks, tensor_cores::check_step_in_two_streams;

constexpr int SMS = 132;  // of an H100 or H200, and of the simulator

void check_shape(const Step<Launcher>& step, Shape shape, Offsets offsets = {}) {
  tensor_cores::check_step(step, shape, offsets, workspace_bytes);
}

Step<Launcher> step_named(const std::string& name) {
  const auto is_it = [&](const Step<Launcher>& step) { return step.name == name; };
  return runnable(*std::find_if(steps.begin(), steps.end(), is_it));
}

/// The bits of C, to compare two runs.
std::vector<float> run(const Step<Launcher>& step, Shape shape) {
  const auto [M, N, K] = shape;
  const DeviceBuffer<bf16> a(narrowed<bf16>(bf16_values({M, K}, 1)));
  const DeviceBuffer<bf16> b(narrowed<bf16>(bf16_values({K, N}, 2)));
  DeviceBuffer<float> c(M * N);
  DeviceBuffer<std::byte> memory(workspace_bytes({M, N, K}, a.data(), b.data()));
  step.launch({M, N, K}, a.data(), b.data(), c.data(), workspace_in(memory), nullptr);
  return c.to_host();
}

TEST_CASE("few rows: every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (const Shape& shape : std::vector<Shape>{{1, 128, 64},    // one row, whole tiles
                                               {1, 8, 8},       // one access
                                               {1, 136, 40},    // a second tile of eight columns
                                               {4, 64, 256},    // each stage once
                                               {5, 72, 328},    // … and again, with a tail of K
                                               {8, 200, 600},   // two parts
                                               {16, 128, 520},  // … of which the last is shorter
                                               {17, 264, 72},   // a second tile of one row
                                               {33, 40, 1032},  // … for a warpgroup; four parts
                                               {65, 136, 136},
                                               {129, 16, 8},  // K less than a step
                                               {3, 8, 2312},  // eight parts and more, one tile
                                               {0, 16, 8},
                                               {8, 0, 8},
                                               {0, 0, 0},
                                               {5, 40, 0}})
    check_shape(step, shape);
}

// Rows that do not begin at multiples of 16 bytes, and matrices that do not.
TEST_CASE("few rows: every step takes what 16-byte copies do not, too", "[shapes]") {
  const auto step = EACH_STEP(steps);
  for (const Shape& shape : {Shape{1, 130, 7}, {8, 45, 29}, {3, 36, 16}, {5, 40, 20}, {1, 1, 1}})
    check_shape(step, shape);
  for (int64_t offset : {1, 4, 7}) {
    check_shape(step, {2, 24, 16}, {.a = offset});
    check_shape(step, {2, 24, 16}, {.b = offset});
    check_shape(step, {2, 24, 16}, {.c = offset});
  }
  check_shape(step, {2, 24, 16}, {8, 16, 24});  // multiples of 16 bytes, but of no more
}

// The products are those of A and B alone: not of what fills up a tile, nor of another part of K.
TEST_CASE("few rows: every step gives NaN for 0 times infinity, and infinity for others") {
  const auto step = EACH_STEP(steps);
  const auto [M, N, K] = Shape{3, 16, 584};
  std::vector<float> A = bf16_values({M, K}, 1), B = bf16_values({K, N}, 2);
  A[1 * K + 2] = 0, B[2 * N + 3] = INFINITY;       // C[1][3]; else infinite in column 3
  A[2 * K + 583] = -INFINITY, B[583 * N + 5] = 0;  // C[2][5]; else infinite in row 2
  tensor_cores::check_step(step, {M, N, K}, A, B, {}, workspace_bytes);
}

// More tiles than one round of blocks: a few multiprocessors, so that K stays whole, and many rows.
TEST_CASE("few rows: every step is right with many rows, and on a small device") {
  const auto step = EACH_STEP(steps);
  check_shape(step, {150, 136, 264});
  check_shape(step, {60, 64, 2120});   // a ring's stages several times
  check_shape(step, {201, 136, 520});  // two uneven shares of its rows
  check_shape(step, {509, 24, 72});    // the last of several shares begins before its own rows
  const FewMultiprocessors few(2);
  check_shape(step, {20, 264, 520});
  check_shape(step, {40, 72, 2120});  // … of a ring with a stage more
}

TEST_CASE("few rows: every step is right on both sides of the borders of its rules", "[shapes]") {
  const auto step = EACH_STEP(steps);
  tensor_cores::check_borders(step, 8, {300, 40, 100}, 4, step.launch == by_shape ? 6e7 : 1.5e7,
                              workspace_bytes);
}

TEST_CASE("few rows: K is cut where C has too few tiles for all multiprocessors") {
  CHECK(parts_of_threads({1, 4096, 4096}, SMS) == 12);
  CHECK(parts_of_threads({1, 50304, 768}, SMS) == 1);
  CHECK(parts_of_threads({8, 4096, 4096}, SMS) == 6);
  CHECK(parts_of_threads({1, 8, 1000000}, SMS) == 16);  // no more
  CHECK(parts_of_mma({8, 4096, 4096}, SMS) == 6);
  CHECK(parts_of_mma({8, 6144, 4096}, SMS) == 4);
  CHECK(parts_of_mma({8, 11008, 4096}, SMS) == 2);
  CHECK(parts_of_mma({8, 50304, 768}, SMS) == 1);
  CHECK(parts_of_mma({8, 128, 1000000}, SMS) == 8);  // a cluster has no more
  CHECK(parts_of_mma({8, 128, 511}, SMS) == 1);      // at least 256 elements each
  CHECK(parts_of_mma({8, 128, 512}, SMS) == 2);
  CHECK(parts_of_mma({8, 4096, 4096}, 1) == 1);  // whatever the device
  CHECK(parts_of_warpgroup({64, 4096, 4096}, SMS) == 2);
  CHECK(parts_of_warpgroup({32, 4096, 4096}, SMS) == 4);
  CHECK(parts_of_warpgroup({64, 11008, 4096}, SMS) == 2);
  CHECK(parts_of_warpgroup({64, 50304, 768}, SMS) == 1);
  CHECK(parts_of_warpgroup({128, 4096, 4096}, SMS) == 2);
  CHECK(parts_of_mma({8, 0, 4096}, SMS) >= 1);
}

TEST_CASE("few rows: step 6 shares rows and K where the busiest multiprocessor gains") {
  const auto larger = [](const Bf16Product& product, int multiprocessors = SMS) {
    const Larger found = larger_tiles_of(product, multiprocessors);
    return std::pair(found.rows, found.parts);
  };
  CHECK(larger({192, 4096, 14336}) == std::pair<int64_t, int64_t>(192, 3));
  CHECK(larger({384, 4096, 4096}) == std::pair<int64_t, int64_t>(192, 2));
  CHECK(larger({384, 11008, 4096}) == std::pair<int64_t, int64_t>(128, 1));
  CHECK(larger({300, 128, 500}) == std::pair<int64_t, int64_t>(100, 1));  // too short to be cut
  CHECK(larger({1, 8, 1000000}).second <= 8);                             // a cluster has no more
  CHECK(larger({1000, 4096, 4096}, 1).second == 1);
  for (const int64_t M : {0, 1, 255, 256, 257, 513, 8191}) {  // no share is empty, none too large
    const int64_t rows = larger_tiles_of({M, 4096, 4096}, SMS).rows;
    INFO("M = " << M << ", " << rows << " rows");
    CHECK((rows >= 1 && rows <= 256));
    CHECK((M == 0 || ceil_div(M, rows) * rows - M < rows));
  }
}

TEST_CASE("few rows: by_shape goes the way that the shape and the device allow") {
  const auto way = [](int64_t M, int capability, bool aligned = true) {
    return way_of({M, 4096, 4096}, aligned, capability, SMS);
  };
  CHECK(way(1, 90) == Way::clusters);
  CHECK(way(16, 90) == Way::clusters);
  CHECK(way(17, 90) == Way::warpgroups);
  CHECK(way(128, 90) == Way::warpgroups);
  CHECK(way(192, 90) == Way::larger_tiles);
  CHECK(way(1024, 90) == Way::hopper);
  CHECK(way_of({96, 11008, 4096}, true, 90, SMS) == Way::larger_tiles);  // a second round of step 5
  CHECK(way_of({128, 50304, 768}, true, 90, SMS) == Way::hopper);
  CHECK(way_of({64, 132 * 64 + 8, 4096}, true, 90, SMS) == Way::warpgroups);
  CHECK(way_of({8, 4096, 504}, true, 90, SMS) == Way::transposed);  // short
  CHECK(way_of({8, 4096, 512}, true, 90, SMS) == Way::clusters);
  CHECK(way_of({64, 132 * 128 + 8, 504}, true, 90, SMS) == Way::warpgroups);  // short, but many
  CHECK(way_of({65, 4096, 504}, true, 90, SMS) == Way::tensor_cores);
  CHECK(way_of({65, 4096, 512}, true, 90, SMS) != Way::tensor_cores);
  CHECK(way_of({8192, 8192, 504}, true, 90, SMS) == Way::hopper);
  CHECK(way(1, 90, false) == Way::tensor_cores);
  CHECK(way(8, 80) == Way::transposed);
  CHECK(way(33, 86) == Way::tensor_cores);
  CHECK(way(8, 120) == Way::clusters);  // clusters, but no warpgroup products
  CHECK(way(17, 120) == Way::clusters);
  CHECK(way(32, 120) == Way::clusters);
  CHECK(way(33, 120) == Way::tensor_cores);
}

TEST_CASE("few rows: a workspace that is too small means one part, and is not touched") {
  const Step<Launcher> step = step_named(GENERATE("split_k", "transposed"));
  tensor_cores::check_step(step, {2, 40, 600}, {}, [](auto...) { return int64_t{0}; });
  tensor_cores::check_step(step, {2, 40, 600}, {},
                           [](auto...) { return int64_t{2 * 2 * 40 * 4 - 1}; });
}

TEST_CASE("few rows: the workspace has room for the parts, and no more") {
  alignas(16) static const bf16 aligned[8] = {};
  CHECK(workspace_bytes({2, 40, 600}, aligned, aligned) == 2 * 2 * 40 * 4);
  CHECK(workspace_bytes({2, 40, 200}, aligned, aligned) == 0);
  CHECK(workspace_bytes({0, 40, 600}, aligned, aligned) == 0);
}

TEST_CASE("few rows: the bits of C are the same every time") {
  const auto step = EACH_STEP(steps);
  if (!is_in_sample(step.name)) return;
  CAPTURE(step.name);
  check_same_bits([&] { return run(step, {4, 40, 2312}); });
}

TEST_CASE("few rows: every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  check_step_in_two_streams(step, {3, 136, 600}, workspace_bytes);
  check_step_in_two_streams(step, {129, 131, 9}, workspace_bytes);  // with copies of A and of B
}

TEST_CASE("few rows: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Shape& shape : {Shape{1, 128, 64},
                             {4, 136, 600},
                             {8, 264, 1032},
                             {20, 72, 520},
                             {130, 40, 72},
                             {301, 40, 72},
                             {5, 7, 9}})
    check_step_asks(step, shape, workspace_bytes);
  const FewMultiprocessors few(4);
  for (const auto& [shape, way] :
       {std::pair{Shape{65, 264, 520}, Way::larger_tiles}, {Shape{65, 40, 520}, Way::hopper}}) {
    REQUIRE(way_of({shape.M, shape.N, shape.K}, true, 90, 4) == way);
    check_step_asks(step, shape, workspace_bytes);
  }
}

TEST_CASE("few rows: the program checks every step, and finds one wrong element", "[program]") {
  const Words small = {"--m", "4", "--n", "32", "--k", "24"};
  // 2·4·32·24 FLOP; 2·(4·24 + 24·32) + 4·4·32 bytes
  const ProgramRun run = run_program(small);
  check_all_right(run, names_of(steps) + Words{"cuBLAS"}, {.flop = 6144, .bytes = 2240});
  check_counted(run.row("transposed"), {{"global_load_bytes", 2 * (4 * 24 + 24 * 32)},
                                        {"global_store_bytes", 4 * 4 * 32}});
  check_wrong(run_spoiled(small + Words{"--kernel", "straight"}, {"straight", 127, 1, 0.01f}),
              {"1 of 128 elements", "C[3][31]"});
}

TEST_CASE("few rows: the program fails whichever row is wrong", "[program]") {
  check_every_row_can_fail(TUTORIAL_TESTS, {"--m", "4", "--n", "32", "--k", "24"});
}

}  // namespace
}  // namespace tutorial::tiled_matmul::few_rows
