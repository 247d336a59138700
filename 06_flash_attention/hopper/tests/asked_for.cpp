// What every step asks global memory for, beside what it says: threads and the TMA unit.
#include "hopper/tests/problems.hpp"

namespace tutorial::flash_attention::hopper {
namespace {

TEST_CASE("hopper: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& a : std::vector<Attention>{
           {.Tq = 128, .Tk = 128, .HS = 64, .causal = false},
           {.Tq = 300, .Tk = 290, .HS = 24},
           {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 135, .Tk = 70, .HS = 32, .causal = false},
           {.Tq = 20, .Tk = 140, .HS = 104},
           {.NH = 2, .Tq = 250, .Tk = 200, .HS = 200},
           {.NH = 2, .Tq = 150, .Tk = 200, .HS = 136},
           {.Tq = 260, .Tk = 260, .HS = 136}}) {  // tiles of 112 keys show before the last
    if (a.HS > largest_head_size(step.launch)) continue;
    check_problem_asks(step, a, workspace_bytes(a));
  }
}

TEST_CASE("hopper: what TMA does not take is asked for as by part tensor_cores", "[counts]") {
  const auto step = EACH_STEP(steps);
  if (step.launch != head_sizes && step.launch != layouts && step.launch != lengths) return;
  for (const int64_t HS : {40, 72}) {
    const Attention a = {.NH = 2, .Tq = 150, .Tk = 140, .HS = HS};
    check_problem_asks(step, a, workspace_bytes(a), 1);
  }
}

TEST_CASE("hopper: a third consumer comes where its rows are not wasted") {
  CHECK(queries_of_block({.Tq = 1024, .Tk = 1024, .HS = 64}) == 128);  // 8 tiles, or 5⅓
  CHECK(queries_of_block({.Tq = 4096, .Tk = 4096, .HS = 64}) == 192);
  CHECK(queries_of_block({.Tq = 192, .Tk = 300, .HS = 40}) == 192);
  CHECK(queries_of_block({.Tq = 1, .Tk = 300, .HS = 64}) == 128);
  CHECK(queries_of_block({.Tq = 192, .Tk = 300, .HS = 72}) == 128);
}

}  // namespace
}  // namespace tutorial::flash_attention::hopper
