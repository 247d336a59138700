// Every step of the part on every shape, with alpha and beta; then the tiles and the copies that
// only some shapes get.
#include <algorithm>
#include <cstdlib>

#include "any_shape/any_shape.hpp"
#include "any_shape/tests/step_of.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/testing.hpp"

namespace tutorial::tiled_matmul::any_shape {

TEST_CASE("every step gives A·B for every shape", "[shapes]") {
  check_every_shape(plain(EACH_STEP(steps)));
}

TEST_CASE("every step takes any address that a float can have") {
  check_every_address(plain(EACH_STEP(steps)));
}

TEST_CASE("every step gives NaN for 0 times infinity, and infinity for others") {
  check_infinities(plain(EACH_STEP(steps)));
}

TEST_CASE("every step takes more rows than a small grid has blocks in y") {
  check_small_grid(plain(EACH_STEP(steps)));
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

TEST_CASE("every step takes any alpha and beta") {
  check_alpha_and_beta(EACH_STEP(steps));
}

TEST_CASE("alpha = 0 does not read A and B") {
  check_alpha_0(EACH_STEP(steps));
}

TEST_CASE("every step takes more rows than a grid has blocks in y", "[large]") {
  check_more_rows_than_a_grid_has(plain(EACH_STEP(steps)));
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
  check_large_a(plain(EACH_STEP(steps)));
}

}  // namespace tutorial::tiled_matmul::any_shape
