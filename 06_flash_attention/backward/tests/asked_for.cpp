// What every step asks global memory for, beside its header's formula; and what a mask saves.
#include "common/testing/asked_for.hpp"

#include <algorithm>

#include "problems.hpp"

namespace tutorial::flash_attention::backward {
namespace {

Counts counts_of_step(const Step<Launcher>& step, const Attention& shape) {
  OnDevice on(step, normal_problem(shape));
  return counts_of([&] { step.launch(shape, on.tensors()); });
}

TEST_CASE("backward: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& a : std::vector<Attention>{
           {.Tq = 20, .Tk = 10, .HS = 64, .causal = false},
           {.NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 72, .causal = false}}) {
    if (is_too_large_here(step, a)) continue;
    CAPTURE(step.name, text(a));
    OnDevice on(step, normal_problem(a));
    check_asked_for({{"B", a.B},
                     {"NH", a.NH},
                     {"NH_kv", a.NH_kv},
                     {"Tq", a.Tq},
                     {"Tk", a.Tk},
                     {"HS", a.HS},
                     {"b", tile_size(a.HS)}},
                    [&] { step.launch(a, on.tensors()); });
  }
}

/// What the mask lets a step leave out: loads and stores of tiles of b×b pairs that it hides from
/// end to end.
struct Saved {
  int64_t loads = 0, stores = 0;
};
Saved saved_by(const Step<Launcher>& step, const Attention& shape) {
  const int64_t HS = shape.HS, b = step.launch == &fused ? 32 : tile_size(HS);
  Saved saved;
  for (int64_t i0 = 0; i0 < shape.Tq; i0 += b)
    for (int64_t j0 = 0; j0 < shape.Tk; j0 += b) {
      const int64_t queries = std::min(b, shape.Tq - i0), keys = std::min(b, shape.Tk - j0);
      if (shape.visible_keys(i0 + queries - 1) > j0) continue;
      saved.loads += 8 * queries * HS;  // q and dout of the one kernel
      if (step.launch == &five_products) {
        saved.loads += 8 * queries + 4 * queries * HS;  // lse and D; a part of dq
        saved.stores += 4 * queries * HS;
      } else {
        saved.loads += 8 * keys * HS;  // k and v of the other
        if (step.launch == &register_tiles) saved.loads += 2 * 8 * queries;
      }
    }
  return saved;
}

TEST_CASE("backward: every fused step leaves out the tiles that the mask hides", "[counts]") {
  const auto step = EACH_STEP(steps);
  if (device_has_clock()) SKIP("only the simulator counts what a kernel asks for");
  Attention shape = {.Tq = 65, .Tk = 66, .HS = 68};
  if (is_too_large_here(step, shape)) return;
  CAPTURE(step.name);
  const Counts causal = counts_of_step(step, shape);
  Saved saved = saved_by(step, shape);
  int64_t hidden = 0;  // pairs
  for (int64_t i = 0; i < shape.Tq; ++i) hidden += shape.Tk - shape.visible_keys(i);
  if (step.launch == &unfused) saved = {.loads = 4 * hidden};  // lse alone
  if (step.launch == &fused) saved.loads += 2 * 8 * hidden;    // lse and D, for each pair
  shape.causal = false;
  const Counts full = counts_of_step(step, shape);
  CHECK(full.loads.bytes - causal.loads.bytes == saved.loads);
  CHECK(full.stores.bytes - causal.stores.bytes == saved.stores);
}

}  // namespace
}  // namespace tutorial::flash_attention::backward
