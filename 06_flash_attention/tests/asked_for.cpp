// What every step asks global memory for, beside its header's formula.
#include "common/testing/asked_for.hpp"

#include <algorithm>

#include "attention_problems.hpp"
#include "paths.hpp"

namespace tutorial::flash_attention {
namespace {

/// Queries and keys of a step's tiles.
struct Tiles {
  int64_t Br, Bc;
  bool whole_k = false, whole_v = false;  // a tile at the edge is brought whole
};

Tiles tiles_of(const Step<Launcher>& step, int64_t HS) {
  for (Launcher* small : {kv_outer, q_outer, vector_reads, score_patch, output_patch})
    if (step.launch == small) return {32, 32};
  for (Launcher* square : {square_patch, any_head_size, longest_first, mask_at_edges, two_buffers})
    if (step.launch == square)
      return {HS > 64 ? 32 : HS > 32 || square == square_patch ? 64 : 128, 32};
  if (step.launch == &large_heads) return {128, 64, true, false};
  const bool whole =
      step.launch == &spread_copies || step.launch == &outer_products || step.launch == &head_sizes;
  return {128, HS > 64 ? 128 : 64, whole, whole};
}

/// How many bytes of K and V less a causal mask lets a step read: none of the tiles of keys that no
/// query of a tile sees.
int64_t hidden_bytes(const Attention& shape, const Tiles& tiles) {
  int64_t keys = 0;
  for (int64_t i0 = 0; i0 < shape.Tq; i0 += tiles.Br) {
    const int64_t last = std::min(i0 + tiles.Br, shape.Tq) - 1;
    const int64_t read = ceil_div(shape.visible_keys(last), tiles.Bc) * tiles.Bc;
    for (bool whole : {tiles.whole_k, tiles.whole_v}) {
      const int64_t all = whole ? ceil_div(shape.Tk, tiles.Bc) * tiles.Bc : shape.Tk;
      keys += all - std::min(read, all);
    }
  }
  return 4 * shape.B * shape.NH * shape.HS * keys;
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

void check_step_asks(const Step<Launcher>& step, const Attention& shape, Allowance loads,
                     Allowance stores) {
  if (is_too_large_here(step, shape)) return;
  CAPTURE(step.name, text(shape));
  const Problem p = normal_problem(shape);
  const DeviceBuffer<float> q(p.q), k(p.k), v(p.v);
  DeviceBuffer<float> out(shape.rows() * shape.HS), lse(shape.rows());
  DeviceBuffer<float> scratch(scratch_floats(shape));
  const Split split = split_here(shape);
  check_asked_for(
      {{"B", shape.B},
       {"NH", shape.NH},
       {"Tq", shape.Tq},
       {"Tk", shape.Tk},
       {"HS", shape.HS},
       {"NH_kv", shape.NH_kv},
       {"HeadRows", tiles_of_heads(shape).rows},
       {"Rows", split.rows},
       {"Parts", split.parts},
       {"Br", tiles_of(step, shape.HS).Br}},
      [&] {
        step.launch(shape, q.data(), k.data(), v.data(), out.data(), lse.data(), scratch.data());
      },
      loads, stores);
}

TEST_CASE("every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  const bool whole = tiles_of(step, 64).whole_v;
  for (Attention a : std::vector<Attention>{
           {.Tq = 64, .Tk = 64, .HS = 64, .causal = false},
           {.Tq = 150, .Tk = 140, .HS = 20},
           {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 32, .causal = false},
           {.Tq = 20, .Tk = 140, .HS = 100}}) {
    for (Launcher* other : {kv_outer, own_keys, group_rows, split_keys})
      if (step.launch == other) return;    // the next tests'
    if (step.launch == &by_shape) return;  // has no kernel
    if (whole && a.HS > 64) continue;      // their headers say nothing of these
    a.HS = own_head_size(step, a.HS);
    if (a.HS > largest_head_size(step)) continue;
    check_step_asks(step, a, {.less = hidden_bytes(a, tiles_of(step, a.HS))}, {});
  }
}

// m and l of a row go to and fro for each tile of keys: all lanes of a warp read them, one writes
// them; and at the end lse takes the place of m.
TEST_CASE("kv_outer asks for what its header says, and for m and l", "[counts]") {
  const Step<Launcher>& step = steps.front();
  for (Attention a : std::vector<Attention>{
           {.Tq = 64, .Tk = 64, .HS = 32, .causal = false},
           {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 33, .causal = false}}) {
    const int64_t tiles = ceil_div(a.Tk, 32), rows = a.rows();
    check_step_asks(step, a, {.more = 8 * rows * (32 * tiles + 1)},
                    {.more = 8 * rows * (tiles + 1) + 4 * rows});
    a.causal = true;
    // Tiles of queries before the first that sees a key read and write nothing for it.
    int64_t skipped = 0;
    for (int64_t j0 = 0; j0 < a.Tk; j0 += 32)
      skipped += std::min(a.first_query(j0) / 32 * 32, a.Tq);
    const int64_t bytes = a.B * a.NH * a.HS * skipped;
    check_step_asks(step, a, {.less = 8 * bytes, .more = 8 * rows * (32 * tiles + 1)},
                    {.less = 4 * bytes, .more = 8 * rows * (tiles + 1) + 4 * rows});
  }
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
    check_step_asks(step, a, {.less = hidden}, {.less = whole});
  }
}

}  // namespace
}  // namespace tutorial::flash_attention
