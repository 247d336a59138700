// What every step asks global memory for, beside what it says.
#include "faster/faster.hpp"
#include "tests/step_asks.hpp"

namespace tutorial::flash_attention::faster {

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  const bool stores_single_floats = step.launch == larger_tiles || step.launch == less_work;
  check_step_asks(step, !stores_single_floats);
}

}  // namespace tutorial::flash_attention::faster
