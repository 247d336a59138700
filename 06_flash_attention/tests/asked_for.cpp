// What every step asks global memory for, beside what it says.
#include "tests/step_asks.hpp"

namespace tutorial::flash_attention {

TEST_CASE("every step asks for what its header says", "[counts]") {
  check_step_asks(EACH_STEP(steps));
}

}  // namespace tutorial::flash_attention
