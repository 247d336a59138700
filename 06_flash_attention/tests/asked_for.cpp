// What every step asks global memory for, beside its header's formula.
#include "tests/step_asks.hpp"

namespace tutorial::flash_attention {
namespace {

Tiles tiles_of(const Step<Launcher>& step, int64_t HS) {
  for (Launcher* small : {kv_outer, q_outer, vector_reads, score_patch, output_patch})
    if (step.launch == small) return {32, 32};
  return {HS > 64 ? 32 : HS > 32 || step.launch == square_patch ? 64 : 128, 32};
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  if (step.launch != kv_outer) check_asks_by_tiles(step, tiles_of);  // kv_outer: the next test
}

// m and l of a row go to and fro for each tile of keys: all lanes of a warp read them, one writes
// them; and at the end lse takes the place of m.
TEST_CASE("kv_outer asks for what its header says, and for m and l", "[counts]") {
  const Step<Launcher>& step = steps.front();
  for (Attention a : std::vector<Attention>{
           {.Tq = 64, .Tk = 64, .HS = 32, .causal = false},
           {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 33, .causal = false}}) {
    const int64_t tiles = ceil_div(a.Tk, 32), rows = a.rows();
    check_step_asks(step, a, {}, {.more = 8 * rows * (32 * tiles + 1)},
                    {.more = 8 * rows * (tiles + 1) + 4 * rows});
    a.causal = true;
    // Tiles of queries before the first that sees a key read and write nothing for it.
    int64_t skipped = 0;
    for (int64_t j0 = 0; j0 < a.Tk; j0 += 32)
      skipped += std::min(a.first_query(j0) / 32 * 32, a.Tq);
    const int64_t bytes = a.B * a.NH * a.HS * skipped;
    check_step_asks(step, a, {}, {.less = 8 * bytes, .more = 8 * rows * (32 * tiles + 1)},
                    {.less = 4 * bytes, .more = 8 * rows * (tiles + 1) + 4 * rows});
  }
}

}  // namespace
}  // namespace tutorial::flash_attention
