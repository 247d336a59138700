// What every step asks global memory for, beside what it says.
#include "any_shape/any_shape.hpp"
#include "tests/step_asks.hpp"

namespace tutorial::flash_attention::any_shape {

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  check_step_asks(step, step.launch == head_sizes || step.launch == large_heads);
  for (const Attention& a : std::vector<Attention>{
           {.Tq = 1, .Tk = 200, .HS = 64},                               // some parts
           {.B = 2, .NH = 6, .NH_kv = 2, .Tq = 2, .Tk = 300, .HS = 40},  // rows of 8, two of them
                                                                         // idle
           {.NH = 4, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 100},         // tiles of rows
           {.NH = 2, .NH_kv = 2, .Tq = 5, .Tk = 20, .HS = 33, .causal = false}})
    check_step_asks(step, a);
}

}  // namespace tutorial::flash_attention::any_shape
