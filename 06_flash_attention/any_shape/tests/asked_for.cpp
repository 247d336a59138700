// What every step asks global memory for, beside its header's formula.
#include <algorithm>

#include "any_shape/any_shape.hpp"
#include "any_shape/paths.hpp"
#include "tests/step_asks.hpp"

namespace tutorial::flash_attention::any_shape {
namespace {

Tiles tiles_of(const Step<Launcher>& step, int64_t HS) {
  if (step.launch == &large_heads) return {128, 64, true, false};
  return {128, HS > 64 ? 128 : 64, true, true};
}

TEST_CASE("every step for many queries asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  if (step.launch == head_sizes || step.launch == large_heads) check_asks_by_tiles(step, tiles_of);
}

/// What a causal mask hides from tiles of few rows, of the `rows` that share keys in each of
/// `heads` heads: of K and V, rows past the last that a row of the tile sees.
int64_t hidden_from_few_rows(const Attention& shape, int64_t heads, int64_t rows, int64_t of_tile) {
  int64_t keys = 0;
  for (int64_t r0 = 0; r0 < rows; r0 += of_tile) {
    int64_t seen = 0;
    for (int64_t r = r0; r < std::min(r0 + of_tile, rows); ++r)
      seen = std::max(seen, shape.visible_keys(r % shape.Tq));
    keys += shape.Tk - seen;
  }
  return 2 * 4 * shape.B * heads * shape.HS * keys;
}

// With one part there is no maximum and sum of it, but lse. A causal mask hides keys from a tile.
TEST_CASE("steps for few queries ask for what their headers say", "[counts]") {
  const auto step = EACH_STEP(steps);
  const bool of_head = step.launch == own_keys, has_parts = step.launch == split_keys;
  if (!of_head && !has_parts && step.launch != group_rows) return;
  for (const Attention& a : std::vector<Attention>{
           {.Tq = 1, .Tk = 200, .HS = 64},                               // some parts
           {.B = 2, .NH = 6, .NH_kv = 2, .Tq = 2, .Tk = 300, .HS = 40},  // rows of 8, two of them
                                                                         // idle
           {.NH = 4, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 100},         // tiles of rows
           {.NH = 2, .NH_kv = 2, .Tq = 5, .Tk = 20, .HS = 33, .causal = false}}) {
    const int64_t hidden =
        of_head ? hidden_from_few_rows(a, a.NH, a.Tq, tiles_of_heads(a).rows)
                : hidden_from_few_rows(a, a.NH_kv, a.group() * a.Tq, tiles_of_groups(a).rows);
    const int64_t whole = has_parts && split_here(a).parts == 1 ? 4 * a.rows() : 0;
    check_step_asks(step, a,
                    {{"HeadRows", tiles_of_heads(a).rows},
                     {"Rows", split_here(a).rows},
                     {"Parts", split_here(a).parts}},
                    {.less = hidden}, {.less = whole});
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::any_shape
