// What the steps ask global memory for.
#include <algorithm>

#include "06_flash_attention.hpp"

namespace tutorial::flash_attention {

int64_t hidden_keys(const Attention& s, int64_t Br, int64_t Bc, bool whole) {
  const int64_t all = whole ? ceil_div(s.Tk, Bc) * Bc : s.Tk;
  int64_t keys = 0;
  for (int64_t i0 = 0; i0 < s.Tq; i0 += Br) {
    const int64_t seen = s.visible_keys(std::min(i0 + Br, s.Tq) - 1);
    keys += all - std::min(ceil_div(seen, Bc) * Bc, all);
  }
  return keys;
}

std::vector<Asked> kv_outer_asks(const Attention& s, const float*, const float*, const float*,
                                 float*, float*, float*) {
  Asked asked = {.loads = 8 * s.B * s.NH * s.HS * (s.Tk + s.Tq * ceil_div(s.Tk, 32)),
                 .stores = 4 * s.B * s.NH * s.HS * (s.Tq + s.Tq * ceil_div(s.Tk, 32))};
  // Tiles of queries before the first that sees a key of a tile read and write nothing for it.
  int64_t hidden = 0;
  for (int64_t j0 = 0; j0 < s.Tk; j0 += 32) hidden += std::min(s.first_query(j0) / 32 * 32, s.Tq);
  asked.loads -= 8 * s.B * s.NH * s.HS * hidden;
  asked.stores -= 4 * s.B * s.NH * s.HS * hidden;
  // m and l of a row go to and fro for each tile of keys: all lanes of a warp read them, one writes
  // them; and at the end lse takes the place of m.
  const int64_t rows = s.rows(), turns = rows * ceil_div(s.Tk, 32) - s.B * s.NH * hidden;
  asked.loads += 8 * (32 * turns + rows);
  asked.stores += 8 * (turns + rows) + 4 * rows;
  return {asked};
}

std::vector<Asked> by_tiles_for_head_size(const Attention& s, const float*, const float*,
                                          const float*, float*, float*, float*) {
  return s.HS > 64 ? by_tiles<32>(s) : s.HS > 32 ? by_tiles<64>(s) : by_tiles<128>(s);
}

}  // namespace tutorial::flash_attention
