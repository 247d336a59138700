// What the steps ask global memory for: by their own kernels, and by those of the steps that they
// hand a shape on to.
#include <algorithm>

#include "any_shape/any_shape.hpp"
#include "any_shape/paths.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial::flash_attention::any_shape {
namespace {

/// Bytes of K and V that a causal mask hides from tiles of few rows, where `rows` share keys in
/// each of `heads` heads: the keys past the last that a row of the tile sees.
int64_t hidden_bytes(const Attention& s, int64_t heads, int64_t rows, int64_t of_tile) {
  int64_t keys = 0;
  for (int64_t r0 = 0; r0 < rows; r0 += of_tile) {
    int64_t seen = 0;
    for (int64_t r = r0; r < std::min(r0 + of_tile, rows); ++r)
      seen = std::max(seen, s.visible_keys(r % s.Tq));
    keys += s.Tk - seen;
  }
  return 8 * s.B * heads * s.HS * keys;
}

/// What own_keys asks for, with tiles of so many rows.
Asked own_keys_of(const Attention& s, int64_t HeadRows) {
  Asked asked = {.loads = 4 * s.B * s.NH * s.Tq * s.HS +
                          8 * s.B * s.NH * s.Tk * s.HS * ceil_div(s.Tq, HeadRows),
                 .stores = 4 * s.B * s.NH * s.Tq * (s.HS + 1)};
  asked.loads -= hidden_bytes(s, s.NH, s.Tq, HeadRows);
  return asked;
}

}  // namespace

std::vector<Asked> large_heads_asks(const Attention& s, const float*, const float*, const float*,
                                    float*, float*, Workspace, cudaStream_t) {
  if (s.HS <= 128) return faster::by_whole_tiles(s);
  Asked own = {.kernel = "large_heads_kernel",
               .loads = 4 * s.B * s.NH * s.HS *
                        (s.Tq + (s.Tk + 64 * ceil_div(s.Tk, 64)) * ceil_div(s.Tq, 128)),
               .stores = 4 * s.B * s.NH * s.Tq * (s.HS + 1)};
  own.loads -= 4 * s.B * s.NH * s.HS * (hidden_keys(s, 128, 64) + hidden_keys(s, 128, 64, true));
  return {own, by_tiles<32>(s)[0]};  // and q_outer's
}

std::vector<Asked> own_keys_asks(const Attention& s, const float*, const float*, const float*,
                                 float*, float*, Workspace, cudaStream_t) {
  return {own_keys_of(s, tiles_of_heads(s).rows)};
}

std::vector<Asked> lengths_ask(const Attention& s, const float*, const float*, const float*, float*,
                               float*, Workspace, cudaStream_t) {
  const int64_t HeadRows = tiles_of_heads(s).rows;
  Attention one = s;
  one.B = 1;
  Asked asked = {.loads = 0, .stores = s.B * own_keys_of(one, HeadRows).stores};
  for (int64_t b = 0; b < s.B; ++b) asked.loads += own_keys_of(one.sequence(b), HeadRows).loads;
  return {asked};
}

std::vector<Asked> group_rows_asks(const Attention& s, const float*, const float*, const float*,
                                   float*, float*, Workspace, cudaStream_t) {
  if (s.rows() == 0) return {};
  const int64_t Rows = tiles_of_groups(s).rows;
  Asked asked = {.loads = 4 * s.B * s.NH * s.Tq * s.HS +
                          8 * s.B * s.NH_kv * s.Tk * s.HS * ceil_div(s.NH * s.Tq, s.NH_kv * Rows),
                 .stores = 4 * s.B * s.NH * s.Tq * (s.HS + 1)};
  asked.loads -= hidden_bytes(s, s.NH_kv, s.group() * s.Tq, Rows);
  return {asked};
}

std::vector<Asked> split_keys_asks(const Attention& s, const float*, const float*, const float*,
                                   float*, float*, Workspace, cudaStream_t) {
  if (s.rows() == 0) return {};
  const int64_t Rows = split_here(s).rows, Parts = split_here(s).parts;
  Asked own = {.kernel = "split_keys_kernel",
               .loads = 4 * s.B * s.NH * s.Tq * s.HS * Parts +
                        8 * s.B * s.NH_kv * s.Tk * s.HS * ceil_div(s.NH * s.Tq, s.NH_kv * Rows),
               .stores = 4 * s.B * s.NH * s.Tq * (s.HS + 2) * Parts};
  own.loads -= hidden_bytes(s, s.NH_kv, s.group() * s.Tq, Rows);
  if (Parts == 1) own.stores = 4 * s.B * s.NH * s.Tq * (s.HS + 1);
  return {own,
          {.kernel = "merge_kernel",
           .loads = 4 * s.B * s.NH * s.Tq * (s.HS + 2) * Parts,
           .stores = 4 * s.B * s.NH * s.Tq * (s.HS + 1)}};
}

std::vector<Asked> by_shape_asks(const Attention& s, const float* q, const float* k, const float* v,
                                 float* out, float* lse, Workspace workspace, cudaStream_t stream) {
  std::vector<Asked> asked = split_keys_asks(s, q, k, v, out, lse, workspace, stream);
  for (const Asked& by : large_heads_asks(s, q, k, v, out, lse, workspace, stream))
    asked.push_back(by);
  return asked;
}

}  // namespace tutorial::flash_attention::any_shape
