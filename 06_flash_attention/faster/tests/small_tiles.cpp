#include "faster/tests/small_tiles.hpp"

#include "faster/faster.hpp"

namespace tutorial::flash_attention::faster {
namespace {

TEST_CASE("small tiles are right for every shape", "[shapes]") {
  const auto step = EACH_STEP(steps);
  check_small_tiles(step);
}

TEST_CASE("the largest tile that fits is taken, on both sides of each border") {
  const auto step = EACH_STEP(steps);
  for (const Border<Launcher>& border :
       std::initializer_list<Border<Launcher>>{{larger_tiles, 64, 94208, 128, 64},
                                               {larger_tiles, 128, 210944, 128, 64},
                                               {outer_products, 64, 103424, 128, 64},
                                               {outer_products, 128, 204800, 128, 64},
                                               {outer_products, 128, 70656, 64, 32}})
    if (border.launch == step.launch) check_border(step, border);
}

}  // namespace
}  // namespace tutorial::flash_attention::faster
