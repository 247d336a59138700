// What a step asks global memory for, beside its header's formula: for the tests of the road and of
// the parts faster and any_shape.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "common/testing/asked_for.hpp"
#include "tests/check_step.hpp"

namespace tutorial::flash_attention {

/// Queries and keys of a step's tiles.
struct Tiles {
  int64_t Br, Bc;
  bool whole_k = false, whole_v = false;  // a tile at the edge is brought whole
};

/// How many bytes of K and V less a causal mask lets a step read: none of the tiles of keys that no
/// query of a tile sees.
inline int64_t hidden_bytes(const Attention& shape, const Tiles& tiles) {
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

/// `more` are letters in the step's header beside the problem's own.
template <class Launcher>
void check_step_asks(const Step<Launcher>& step, const Attention& shape,
                     const std::map<std::string, int64_t>& more, Allowance loads,
                     Allowance stores) {
  if (is_too_large_here(step, shape)) return;
  CAPTURE(step.name, text(shape));
  const Problem p = normal_problem(shape);
  const DeviceBuffer<float> q(p.q), k(p.k), v(p.v);
  DeviceBuffer<float> out(shape.rows() * shape.HS), lse(shape.rows());
  DeviceBuffer<float> scratch(scratch_size(shape));
  std::map<std::string, int64_t> symbols = {{"B", shape.B},   {"NH", shape.NH},
                                            {"Tq", shape.Tq}, {"Tk", shape.Tk},
                                            {"HS", shape.HS}, {"NH_kv", shape.NH_kv}};
  symbols.insert(more.begin(), more.end());
  check_asked_for(
      symbols,
      [&] {
        launch_step(step, shape, q.data(), k.data(), v.data(), out.data(), lse.data(),
                    workspace_in(scratch));
      },
      loads, stores);
}

/// Of a step that has such tiles for a head size.
template <class Launcher, class TilesOf>
void check_asks_by_tiles(const Step<Launcher>& step, const TilesOf& tiles_of) {
  for (Attention a : std::vector<Attention>{
           {.Tq = 64, .Tk = 64, .HS = 64, .causal = false},
           {.Tq = 150, .Tk = 140, .HS = 20},
           {.B = 2, .NH = 2, .NH_kv = 1, .Tq = 35, .Tk = 70, .HS = 32, .causal = false},
           {.Tq = 20, .Tk = 140, .HS = 100}}) {
    if (tiles_of(step, 64).whole_v && a.HS > 64) continue;  // their headers say nothing of these
    a.HS = own_head_size(step, a.HS);
    if (a.HS > largest_head_size(step)) continue;
    const Tiles tiles = tiles_of(step, a.HS);
    check_step_asks(step, a, {{"Br", tiles.Br}}, {.less = hidden_bytes(a, tiles)}, {});
  }
}

}  // namespace tutorial::flash_attention
