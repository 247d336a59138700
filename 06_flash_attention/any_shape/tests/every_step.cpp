// Every step of the part, on shapes, addresses and scores that its likely mistakes do not survive;
// and what it cannot do it says before it launches.
#include <algorithm>
#include <iterator>

#include "any_shape/any_shape.hpp"
#include "common/testing/two_streams.hpp"
#include "tests/refusals.hpp"
#include "tests/shapes.hpp"
#include "tests/values.hpp"

namespace tutorial::flash_attention::any_shape {
namespace {

TEST_CASE("every step is right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  check_every_shape(step);
}

TEST_CASE("the steps whose tiles have rows of several heads are right for all groups", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (step.launch != split_keys && step.launch != by_shape) return;
  const std::vector<Attention> shapes = {
      {.B = 2, .NH = 6, .NH_kv = 2, .Tq = 1, .Tk = 400, .HS = 24},  // decoding
      {.NH = 8, .NH_kv = 2, .Tq = 3, .Tk = 257, .HS = 64},
      {.NH = 14, .NH_kv = 2, .Tq = 9, .Tk = 5, .HS = 8},  // queries without keys
  };
  for (const Attention& shape : shapes) check_step(step, normal_problem(shape));
}

TEST_CASE("every step that has a tile for each head size is right for all of them", "[shapes]") {
  const auto step = EACH_STEP(steps);
  constexpr Launcher* of_each[] = {head_sizes, large_heads, own_keys, group_rows, split_keys};
  if (std::ranges::find(of_each, step.launch) == std::end(of_each)) return;
  const std::vector<Attention> shapes = {
      {.Tq = 20, .Tk = 70, .HS = 48},
      {.Tq = 70, .Tk = 90, .HS = 56},
      {.Tq = 140, .Tk = 150, .HS = 80},
      {.Tq = 37, .Tk = 140, .HS = 112},
      {.NH = 2, .NH_kv = 1, .Tq = 70, .Tk = 75, .HS = 136},
      {.Tq = 9, .Tk = 70, .HS = 192},
      {.Tq = 40, .Tk = 141, .HS = 256},
      {.Tq = 5, .Tk = 20, .HS = 201},
      {.Tq = 5, .Tk = 20, .HS = 224},
  };
  for (const Attention& shape : shapes) check_step(step, normal_problem(shape));
}

TEST_CASE("every step takes any address that a float can have") {
  const auto step = EACH_STEP(steps);
  check_any_address(step);
}

/// out, and lse behind it.
void check_problem_in_two_streams(const Step<Launcher>& step, const Attention& shape) {
  if (shape.HS > largest_head_size(step) || is_too_large_here(step, shape)) return;
  if (!is_in_sample(step.name)) return;
  CAPTURE(step.name, text(shape));
  const Problem p = normal_problem(shape);
  const DeviceBuffer<float> q(p.q), k(p.k), v(p.v);
  const int64_t size = shape.rows() * shape.HS;
  check_in_two_streams<float>(size + shape.rows(), workspace_bytes(shape),
                              [&](float* out, Workspace workspace, cudaStream_t stream) {
                                step.launch(shape, q.data(), k.data(), v.data(), out, out + size,
                                            workspace, stream);
                              });
}

TEST_CASE("every step stays in its stream, and two launches share nothing") {
  const auto step = EACH_STEP(steps);
  const Attention parts = {.NH = 4, .NH_kv = 2, .Tq = 3, .Tk = 300, .HS = 8};
  CHECK(workspace_bytes(parts) > 0);
  check_problem_in_two_streams(step, parts);
  // Head sizes that steps 1 and 2 have no kernel for, and one for step 2's own.
  for (int64_t HS : {5, 130, 136})
    check_problem_in_two_streams(step, {.Tq = 3, .Tk = 20, .HS = HS});
}

TEST_CASE("split_keys and by_shape refuse too small a workspace, before they launch") {
  const auto step = EACH_STEP(steps);
  const Attention shape = {.NH = 4, .NH_kv = 2, .Tq = 3, .Tk = 300, .HS = 8};
  if (step.launch != split_keys && step.launch != by_shape) return;
  const Workspace small = {.memory = nullptr, .bytes = workspace_bytes(shape) - 1};
  CHECK_THROWS_AS(step.launch(shape, nullptr, nullptr, nullptr, nullptr, nullptr, small, nullptr),
                  Error);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("every step takes more heads than a grid has blocks in y", "[large]") {
  const auto step = EACH_STEP(steps);
  check_many_heads(step);
}

TEST_CASE("every step takes more than 2^31 elements", "[.large]") {
  const auto step = EACH_STEP(steps);
  check_many_elements(step);
}

TEST_CASE("every step does nothing when there is nothing to do") {
  const auto step = EACH_STEP(steps);
  check_nothing_to_do(step);
}

TEST_CASE("every step takes scores of any size", "[values]") {
  const auto step = EACH_STEP(steps);
  check_scores_of_any_size(step);
}

TEST_CASE("every step rescales when the maximum rises, and when it falls", "[values]") {
  const auto step = EACH_STEP(steps);
  check_rescales(step);
}

// So many keys that each warp of own_keys has some, and that split_keys gives them to several
// blocks.
TEST_CASE("every step rescales from part to part of the keys", "[values]") {
  const auto step = EACH_STEP(steps);
  if (step.launch != own_keys && step.launch != split_keys) return;  // the others have no parts
  const Attention shape = {.B = 1, .NH = 4, .NH_kv = 2, .Tq = 3, .Tk = 700, .HS = 8};
  for (float slope : {0.1f, -0.1f})
    for (float shift : {0.0f, -200.0f, -2e4f}) {
      INFO("scores near " << shift << " + " << slope << "·j");
      check_both(step, shape, [&](const Attention& s) {
        return with_scores(s, [&](int64_t j) { return shift + slope * static_cast<float>(j); });
      });
    }
  const auto masked = [&](int64_t first, int64_t last, float others) {
    INFO("keys " << first << " to " << last << " are masked, other scores near " << others);
    check_both(step, shape, [&](const Attention& s) {
      return with_scores(s, [&](int64_t j) { return j >= first && j <= last ? -INF : others; });
    });
  };
  masked(0, 255, -100);    // the first parts
  masked(128, 255, -100);  // one of them
  masked(300, 699, 0);     // the last
  masked(0, 699, 0);       // all
}

TEST_CASE("every step takes maxima that rise, fall, jump or are −∞, in every combination",
          "[values]") {
  const auto step = EACH_STEP(steps);
  check_hard_scores(step, {15, 16, 128});
}

TEST_CASE("every step survives tiles that are masked from end to end", "[values]") {
  const auto step = EACH_STEP(steps);
  check_masked_tiles(step);
}

TEST_CASE("every step passes NaN and infinite scores on to their queries, and to no others",
          "[values]") {
  const auto step = EACH_STEP(steps);
  check_nan_and_infinities(step);
}

TEST_CASE("every step refuses what it cannot do, before it launches") {
  const auto step = EACH_STEP(steps);
  check_refusals(step);
}

TEST_CASE("every step has tiles for every device", "[shapes]") {
  const auto step = EACH_STEP(steps);
  check_tiles_for_every_device(step);
}

TEST_CASE("every step refuses more blocks than a grid has") {
  const auto step = EACH_STEP(steps);
  check_too_many_blocks(step);
}

TEST_CASE("every step with tiles of so many columns refuses larger head sizes") {
  const auto step = EACH_STEP(steps);
  check_larger_head_sizes(step, step.launch == by_shape ? "split_keys" : step.name);
}

}  // namespace
}  // namespace tutorial::flash_attention::any_shape
