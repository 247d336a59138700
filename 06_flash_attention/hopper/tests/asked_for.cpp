// What every step asks global memory for, beside its header's formula: threads and the TMA unit.
#include "common/testing/asked_for.hpp"

#include <algorithm>

#include "common/data/narrow.hpp"
#include "hopper/tests/problems.hpp"

namespace tutorial::flash_attention::hopper {
namespace {

/// How many bytes of K and V less a causal mask lets a step read: none of the tiles of keys that no
/// query of a block sees.
int64_t hidden_bytes(const Attention& shape, int64_t Br, int64_t Bc) {
  int64_t keys = 0;
  for (int64_t i0 = 0; i0 < shape.Tq; i0 += Br) {
    const int64_t last = std::min(i0 + Br, shape.Tq) - 1;
    keys += shape.Tk - std::min(ceil_div(shape.visible_keys(last), Bc) * Bc, shape.Tk);
  }
  return 4 * shape.B * shape.NH * shape.HS * keys;
}

TEST_CASE("hopper: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& a : std::vector<Attention>{
           {.Tq = 128, .Tk = 128, .HS = 64, .causal = false},
           {.Tq = 300, .Tk = 290, .HS = 24},
           {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 135, .Tk = 70, .HS = 32, .causal = false},
           {.Tq = 20, .Tk = 140, .HS = 104},
           {.NH = 2, .Tq = 250, .Tk = 200, .HS = 200, .causal = false}}) {
    if (a.HS > largest_head_size(step.launch)) continue;
    CAPTURE(step.name, text(a));
    const Problem p = normal_problem(a);
    const DeviceBuffer<bf16> q(narrowed<bf16>(p.q)), k(narrowed<bf16>(p.k)), v(narrowed<bf16>(p.v));
    DeviceBuffer<bf16> out(a.rows() * a.HS);
    DeviceBuffer<float> lse(a.rows());
    DeviceBuffer<std::byte> memory(workspace_bytes(a));
    const bool three = step.launch == three_consumers || step.launch == head_sizes;
    const int64_t Br = three ? queries_of_block(a) : 128;
    check_asked_for(
        {{"B", a.B}, {"NH", a.NH}, {"Tq", a.Tq}, {"Tk", a.Tk}, {"HS", a.HS}, {"Br", Br}},
        [&] {
          step.launch(a, q.data(), k.data(), v.data(), out.data(), lse.data(), workspace_in(memory),
                      nullptr);
        },
        {.less = hidden_bytes(a, Br, 128)}, {});
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
