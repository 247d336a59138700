// Every step of the part on every shape, with alpha and beta; then the tiles and the copies that
// only some shapes get.
#include "any_shape/any_shape.hpp"
#include "any_shape/tests/step_of.hpp"
#include "common/testing/asked_for.hpp"
#include "common/testing/testing.hpp"
#include "common/testing/two_streams.hpp"

namespace tutorial::tiled_matmul::any_shape {

TEST_CASE("every step gives A·B for every shape", "[shapes]") {
  check_every_shape(plain(with_workspace(EACH_STEP(steps))));
}

TEST_CASE("every step takes any address that a float can have") {
  check_every_address(plain(with_workspace(EACH_STEP(steps))));
}

TEST_CASE("every step gives NaN for 0 times infinity, and infinity for others") {
  check_infinities(plain(with_workspace(EACH_STEP(steps))));
}

TEST_CASE("every step takes more rows than a small grid has blocks in y") {
  check_small_grid(plain(with_workspace(EACH_STEP(steps))));
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  const bool cuts_k = step.launch != &tile_by_size && step.launch != &padded_rows;
  for (const auto& [M, N, K] : {Shape{128, 256, 32},
                                {130, 70, 45},
                                {132, 68, 20},
                                {30, 41, 101},
                                {1, 130, 7},
                                {65, 25600, 1},
                                {3, 42, 600},
                                {66, 20, 300},
                                {3, 40, 1100},  // few rows, in parts
                                {11, 3, 520},   // few columns, whose warps share rows
                                {70, 67, 96}}) {
    if (N > 1000 && step.launch != &tile_by_size) continue;  // with its large tile
    if (K > 200 && !cuts_k) continue;                        // in parts
    if (!is_in_sample(step.name)) continue;                  // before the inputs are made
    CAPTURE(step.name, M, N, K);
    REQUIRE(step.asked != nullptr);
    const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1));
    const DeviceBuffer<float> b(make_values({K, N}, Init::normal, 2));
    DeviceBuffer<float> c(make_values({M, N}, Init::normal, 3));
    DeviceBuffer<std::byte> memory(workspace_bytes({M, N, K}, b.data()));
    const auto check = [&](const ScaledProduct& product, Workspace workspace) {
      const auto call = [&](auto run) {
        return run(product, a.data(), b.data(), c.data(), workspace, nullptr);
      };
      check_asked_for(call(step.asked), [&] { call(step.launch); });
    };
    check({M, N, K}, workspace_in(memory));
    check({M, N, K}, {});  // the steps before, or no parts
    check({M, N, K, 1, 2}, workspace_in(memory));
    check({M, N, K, 0, 2}, workspace_in(memory));
  }
  // There is no plan for no elements.
  CHECK(thin_tiles_asks({0, 20, 5}, nullptr, nullptr, nullptr, {}, nullptr).empty());
  CHECK(thin_tiles_asks({20, 0, 5}, nullptr, nullptr, nullptr, {}, nullptr).empty());
  CHECK(few_columns_asks({0, 3, 5}, nullptr, nullptr, nullptr, {}, nullptr).empty());
  CHECK(few_columns_asks({20, 0, 5}, nullptr, nullptr, nullptr, {}, nullptr).empty());
}

TEST_CASE("every step takes any alpha and beta") {
  check_alpha_and_beta(with_workspace(EACH_STEP(steps)));
}

TEST_CASE("alpha = 0 does not read A and B") {
  check_alpha_0(with_workspace(EACH_STEP(steps)));
}

TEST_CASE("every step takes more rows than a grid has blocks in y", "[large]") {
  check_more_rows_than_a_grid_has(plain(with_workspace(EACH_STEP(steps))));
}

// tile_by_size chooses its tile by the number of blocks and multiprocessors (its launcher says
// how). All other shapes here are so small that they get the small tile. These get the large one on
// a device of 132 multiprocessors: 10 × 10 blocks of 128 × 256, the last ones not whole.
TEST_CASE("tile_by_size's large tile is right", "[shapes]") {
  const ScaledStep step = with_workspace(step_of(&tile_by_size));
  check_step(step, {1270, 2500, 9});                        // 16-byte accesses
  check_step(step, {1270, 2501, 19}, {1, 2, 3}, 2.5f, -3);  // single floats
}

// It copies B unless C is more than 32 times as wide as it is high.
TEST_CASE("padded_rows is right with a copy of B and without", "[shapes]") {
  const ScaledStep step = with_workspace(step_of(&padded_rows));
  check_step(step, {19, 601, 5});  // with the copy: its rows are longer than a block
  check_step(step, {18, 601, 5});  // without
  check_step(step, {2, 1, 4100});  // with more rows than blocks
  check_step(step, {37, 45, 0}, {}, 1, 2);
}

TEST_CASE("padded_rows takes B as it is where the workspace is too small for the copy") {
  const Step<Launcher> step = step_of(&padded_rows);
  for (int64_t bytes : {0, 9 * 8 * 4 - 1})
    check_step(with_workspace(step.name, step.launch, [=](auto...) { return bytes; }), {5, 7, 9});
}

TEST_CASE("every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  // A copy of B, parts of K, or both; rows of 16 bytes; few rows in parts.
  for (const auto& [M, N, K] : {Shape{5, 7, 300}, {68, 132, 36}, {3, 42, 1100}}) {
    if (!is_in_sample(step.name)) continue;
    CAPTURE(step.name, M, N, K);
    const ScaledProduct product = {M, N, K, 2.5f};
    const DeviceBuffer<float> a(make_values({M, K}, Init::normal, 1));
    const DeviceBuffer<float> b(make_values({K, N}, Init::normal, 2));
    check_in_two_streams<float>(M * N, workspace_bytes(product, b.data()),
                                [&](float* C, Workspace workspace, cudaStream_t stream) {
                                  step.launch(product, a.data(), b.data(), C, workspace, stream);
                                });
  }
}

// 9 GB, so it must be asked for by its tag.
TEST_CASE("every step takes an A with more than 2^31 elements", "[.large]") {
  check_large_a(plain(with_workspace(EACH_STEP(steps))));
}

}  // namespace tutorial::tiled_matmul::any_shape
