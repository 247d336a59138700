// What every step asks global memory for, beside what it says.
#include "tests/step_asks.hpp"

namespace tutorial::flash_attention {

TEST_CASE("the keys that a causal mask hides from tiles of queries") {
  // Queries 0 … 31 see 38 of 70 keys, in two tiles of 32; the others see all.
  const Attention shape = {.Tq = 64, .Tk = 70};
  CHECK(hidden_keys(shape, 32, 32) == 70 - 64);
  CHECK(hidden_keys(shape, 32, 32, /*whole=*/true) == 96 - 64);
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  check_step_asks(EACH_STEP(steps));
}

}  // namespace tutorial::flash_attention
