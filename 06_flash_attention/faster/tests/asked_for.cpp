// What every step asks global memory for, beside its header's formula.
#include "faster/faster.hpp"
#include "tests/step_asks.hpp"

namespace tutorial::flash_attention::faster {
namespace {

Tiles tiles_of(const Step<Launcher>& step, int64_t HS) {
  const bool whole = step.launch == &spread_copies || step.launch == &outer_products;
  return {128, HS > 64 ? 128 : 64, whole, whole};
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  check_asks_by_tiles(step, tiles_of);
}

}  // namespace
}  // namespace tutorial::flash_attention::faster
