#include "faster/tests/small_tiles.hpp"
#include "any_shape/any_shape.hpp"

namespace tutorial::flash_attention::any_shape {
namespace {

TEST_CASE("small tiles are right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  if (step.launch == head_sizes || step.launch == large_heads) check_small_tiles(step);
}

TEST_CASE("the largest tile that fits is taken, on both sides of each border") {
  const auto step = EACH_STEP(steps);
  for (const Border<Launcher>& border :
       std::initializer_list<Border<Launcher>>{{head_sizes, 80, 177408, 128, 64},
                                               {large_heads, 256, 204800, 128, 32},
                                               {large_heads, 256, 81920, 32, 16}})
    if (border.launch == step.launch) check_border(step, border);
}

}  // namespace
}  // namespace tutorial::flash_attention::any_shape
