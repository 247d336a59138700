// What the kernels of all steps ask global memory for.
#include <algorithm>

#include "backward/backward.hpp"

namespace tutorial::flash_attention::backward {
namespace {

/// Of the pairs of a tile of queries and a tile of keys that a mask hides whole: how many queries
/// and how many keys they have, all together.
struct Hidden {
  int64_t queries = 0, keys = 0;
};
Hidden hidden_tiles(const Attention& s, int64_t of_queries, int64_t of_keys) {
  Hidden hidden;
  for (int64_t i0 = 0; i0 < s.Tq; i0 += of_queries)
    for (int64_t j0 = 0; j0 < s.Tk; j0 += of_keys) {
      const int64_t queries = std::min(of_queries, s.Tq - i0);
      if (s.visible_keys(i0 + queries - 1) > j0) continue;
      hidden.queries += queries;
      hidden.keys += std::min(of_keys, s.Tk - j0);
    }
  return hidden;
}

/// Without what a causal mask hides of a head.
Asked less_hidden(Asked asked, const Attention& s, int64_t loads, int64_t stores = 0) {
  asked.loads -= s.B * s.NH * loads;
  asked.stores -= s.B * s.NH * stores;
  return asked;
}

}  // namespace

std::vector<Asked> kernels_ask(const Attention& shape, const Tensors&, Workspace, cudaStream_t) {
  const auto& [B, NH, NH_kv, Tq, Tk, HS, causal, strides, lengths] = shape;
  const int64_t s = square_size(HS), b = tile_rows(HS), other = tile_cols(HS);
  int64_t pairs = 0;  // of a query and a key that it does not see
  for (int64_t i = 0; i < Tq; ++i) pairs += Tk - shape.visible_keys(i);
  const Hidden squares = hidden_tiles(shape, s, s);
  const int64_t hidden_queries = hidden_tiles(shape, other, b).queries;
  const int64_t hidden_keys = hidden_tiles(shape, b, other).keys;
  const auto less = [&](const Asked& asked, int64_t loads, int64_t stores = 0) {
    return less_hidden(asked, shape, loads, stores);
  };
  Asked bounded_dq = {.kernel = "bounded_dq_kernel",
                      .loads = 4 * B * NH * Tq * HS * ceil_div(Tk, b),
                      .stores = 4 * B * NH * Tq * HS};
  // Where the tiles of keys are not done all at a time, dq is read and written again.
  const int64_t rounds =
      std::max<int64_t>(1, ceil_div(tiles_of_keys(shape), tiles_at_a_time(shape)));
  bounded_dq.loads += (rounds - 1) * bounded_dq.stores;
  bounded_dq.stores *= rounds;
  return {
      {.kernel = "row_dots_kernel", .loads = 8 * B * NH * Tq * HS, .stores = 4 * B * NH * Tq},
      less({.kernel = "pairs_kernel",
            .loads = 8 * B * NH * (HS * (Tq * ceil_div(Tk, 32) + Tk * ceil_div(Tq, 32)) + Tq * Tk),
            .stores = 8 * B * NH * Tq * Tk},
           4 * pairs),
      {.kernel = "key_sums_kernel",
       .loads = 8 * B * NH * Tq * (Tk * ceil_div(HS, 32) + HS * ceil_div(Tk, 32)),
       .stores = 8 * B * NH_kv * Tk * HS},
      {.kernel = "query_sums_kernel",
       .loads = 4 * B * NH * Tk * (Tq * ceil_div(HS, 32) + HS * ceil_div(Tq, 32)),
       .stores = 4 * B * NH * Tq * HS},
      less({.kernel = "stored_keys_kernel",
            .loads = 8 * B * (NH_kv * Tk * HS + NH * Tq * (HS * ceil_div(Tk, s) + Tk)),
            .stores = 8 * B * NH_kv * Tk * HS + 4 * B * NH * Tq * Tk},
           8 * pairs),
      {.kernel = "dq_from_ds_kernel",
       .loads = 4 * B * NH * Tk * (Tq * ceil_div(HS, 32) + HS * ceil_div(Tq, 32)),
       .stores = 4 * B * NH * Tq * HS},
      less({.kernel = "fused_keys_kernel",
            .loads = 8 * B * (NH_kv * Tk * HS + NH * Tq * (HS * ceil_div(Tk, s) + Tk)),
            .stores = 8 * B * NH_kv * Tk * HS},
           8 * (HS * squares.queries + pairs)),
      less({.kernel = "fused_queries_kernel",
            .loads = 8 * B * NH * (Tq * HS + Tk * HS * ceil_div(Tq, s) + Tq * Tk),
            .stores = 4 * B * NH * Tq * HS},
           8 * (HS * squares.keys + pairs)),
      less({.kernel = "tiled_keys_kernel",
            .loads = 8 * B * (NH_kv * Tk * HS + NH * Tq * (HS + 1) * ceil_div(Tk, b)),
            .stores = 8 * B * NH_kv * Tk * HS},
           8 * (HS + 1) * hidden_queries),
      less({.kernel = "tiled_queries_kernel",
            .loads = 8 * B * NH * (Tq * (HS + 1) + Tk * HS * ceil_div(Tq, b)),
            .stores = 4 * B * NH * Tq * HS},
           8 * HS * hidden_keys),
      less({.kernel = "prefetch_keys_kernel",
            .loads = 8 * B * (NH_kv * Tk * HS + NH * Tq * (HS + 1) * ceil_div(Tk, b)),
            .stores = 8 * B * NH_kv * Tk * HS},
           8 * (HS + 1) * hidden_queries),
      less({.kernel = "prefetch_queries_kernel",
            .loads = 8 * B * NH * (Tq * (HS + 1) + Tk * HS * ceil_div(Tq, b)),
            .stores = 4 * B * NH * Tq * HS},
           8 * HS * hidden_keys),
      less({.kernel = "five_products_kernel",
            .loads = 8 * B * (NH_kv * Tk * HS + NH * Tq * (HS + 1) * ceil_div(Tk, b)),
            .stores = 8 * B * NH_kv * Tk * HS + 4 * B * NH * Tq * HS * ceil_div(Tk, b)},
           8 * (HS + 1) * hidden_queries, 4 * HS * hidden_queries),
      less({.kernel = "bounded_parts_kernel",
            .loads = 8 * B * (NH_kv * Tk * HS + NH * Tq * (HS + 1) * ceil_div(Tk, b)),
            .stores = 8 * B * NH_kv * Tk * HS + 4 * B * NH * Tq * HS * ceil_div(Tk, b)},
           8 * (HS + 1) * hidden_queries, 4 * HS * hidden_queries),
      less({.kernel = "dq_parts_kernel",
            .loads = 4 * B * NH * Tq * HS * ceil_div(Tk, b),
            .stores = 4 * B * NH * Tq * HS},
           4 * HS * hidden_queries),
      less(bounded_dq, 4 * HS * hidden_queries),
  };
}

}  // namespace tutorial::flash_attention::backward
