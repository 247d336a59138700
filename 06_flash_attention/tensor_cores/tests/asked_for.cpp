// What every step asks global memory for, beside its header's formula.
#include "common/testing/asked_for.hpp"

#include <algorithm>

#include "tensor_cores/tests/problems.hpp"

namespace tutorial::flash_attention::tensor_cores {
namespace {

/// Queries of a block.
int64_t block_rows(const Step<Launcher>& step) {
  for (Launcher* low : {fragments, swizzled, waits_in_order, short_softmax})
    if (step.launch == low) return 64;
  return 128;
}

/// Keys of a tile.
int64_t tile_keys(const Step<Launcher>& step, int64_t HS) {
  const bool sized = step.launch == head_sizes || step.launch == any_address;
  return sized && HS <= 64 ? 128 : 64;
}

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

TEST_CASE("tensor cores: every step asks for what its header says", "[counts]") {
  const auto step = EACH_STEP(steps);
  for (const Attention& a : std::vector<Attention>{
           {.Tq = 64, .Tk = 64, .HS = 64, .causal = false},
           {.Tq = 150, .Tk = 140, .HS = 24},
           {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 32, .causal = false},
           {.Tq = 20, .Tk = 140, .HS = 104}}) {
    if (is_too_large_here(step, a)) continue;
    CAPTURE(step.name, text(a));
    const Problem p = normal_problem(a);
    // any_address gives aligned tensors to head_sizes.
    const DeviceBuffer<bf16> q(narrowed<bf16>(p.q), step.launch == any_address ? 1 : 0),
        k(narrowed<bf16>(p.k)), v(narrowed<bf16>(p.v));
    DeviceBuffer<bf16> out(a.rows() * a.HS);
    DeviceBuffer<float> lse(a.rows());
    check_asked_for(
        {{"B", a.B}, {"NH", a.NH}, {"Tq", a.Tq}, {"Tk", a.Tk}, {"HS", a.HS}},
        [&] { step.launch(a, q.data(), k.data(), v.data(), out.data(), lse.data(), nullptr); },
        {.less = hidden_bytes(a, block_rows(step), tile_keys(step, a.HS))}, {});
  }
}

}  // namespace
}  // namespace tutorial::flash_attention::tensor_cores
