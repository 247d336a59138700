// What the kernels of all steps ask global memory for.
#include <algorithm>

#include "backward_tensor_cores/launch.hpp"
#include "backward_tensor_cores/sums_in_turn.hpp"
#include "common/kernel/device.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/shared_memory.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

/// Of all blocks of `own` keys of a head: the first of so many queries, in tiles of `other`, that
/// none of their keys is seen from.
int64_t hidden_of(const Attention& s, int64_t queries, int64_t own, int64_t other) {
  int64_t hidden = 0;
  for (int64_t j0 = 0; j0 < s.Tk; j0 += own)
    hidden += std::min(queries, s.first_query(j0) / other * other);
  return hidden;
}
int64_t hidden_queries(const Attention& s, int64_t own, int64_t other) {
  return hidden_of(s, s.Tq, own, other);
}

Asked row_dots_ask(const Attention& s) {
  return {.kernel = "row_dots_kernel",
          .loads = 4 * s.B * s.NH * s.Tq * s.HS,
          .stores = 4 * s.B * s.NH * s.Tq};
}

Asked sum_rows_ask(const Attention& s, int64_t Br) {
  return {.kernel = "sum_rows_kernel",
          .loads = 4 * s.B * s.NH * s.Tq * (s.HS + 1),
          .stores = 8 * s.B * s.NH * ceil_div(s.Tq, Br) * (Br + 1) + 8};
}

}  // namespace

std::vector<Asked> seven_products_asks(const Attention& s, const Tensors&, Workspace,
                                       cudaStream_t) {
  Asked keys = {
      .kernel = "keys_kernel",
      .loads = 4 * s.B * (s.NH_kv * s.Tk * s.HS + s.NH * s.Tq * (s.HS + 2) * ceil_div(s.Tk, 128)),
      .stores = 4 * s.B * s.NH_kv * s.Tk * s.HS};
  keys.loads -= 4 * s.B * s.NH * (s.HS + 2) * hidden_queries(s, OWN_ROWS, OTHER_ROWS);
  Asked queries = {
      .kernel = "queries_kernel",
      .loads = 4 * s.B * s.NH * (s.Tq * (s.HS + 8) + s.Tk * s.HS * ceil_div(s.Tq, 128)),
      .stores = 2 * s.B * s.NH * s.Tq * s.HS};
  queries.loads -= 4 * s.B * s.NH * s.HS * hidden_keys(s, OWN_ROWS, OTHER_ROWS);
  return {row_dots_ask(s), keys, queries};
}

std::vector<Asked> one_launch_asks(const Attention& s, const Tensors&, Workspace, cudaStream_t) {
  Asked both = {
      .kernel = "both_kernel",
      .loads = 4 * s.B * (s.NH_kv * s.Tk * s.HS + s.NH * s.Tq * (s.HS + 2) * ceil_div(s.Tk, 128)) +
               4 * s.B * s.NH * (s.Tq * (s.HS + 8) + s.Tk * s.HS * ceil_div(s.Tq, 128)),
      .stores = 4 * s.B * s.NH_kv * s.Tk * s.HS + 2 * s.B * s.NH * s.Tq * s.HS};
  both.loads -= 4 * s.B * s.NH * (s.HS + 2) * hidden_queries(s, OWN_ROWS, OTHER_ROWS);
  both.loads -= 4 * s.B * s.NH * s.HS * hidden_keys(s, OWN_ROWS, OTHER_ROWS);
  return {row_dots_ask(s), both};
}

std::vector<Asked> any_shape_asks(const Attention& s, const Tensors& at, Workspace workspace,
                                  cudaStream_t stream) {
  const bool aligned = rows_are_aligned(s, at);
  if (aligned && s.HS <= 128 && (s.HS <= 64 || s.HS > 96))
    return one_launch_asks(s, at, workspace, stream);
  const bool large = s.HS > 128;
  const int64_t walks = large ? 2 : 1, other = aligned && !large ? 64 : 32;
  // Of large heads 128 rows and two tiles need that much, in numbers of 2 bytes and of 4.
  const int64_t bytes = 2 * 2 * (128 + 2 * 32) * (s.HS <= 192 ? 192 : 256) + 4 * 2 * 2 * 32;
  const bool fits = aligned && bytes <= shared_memory_limit();
  const int64_t own = !large || (fits && !prefers_64_rows(s, multiprocessors())) ? 128 : 64;
  Asked both = {.kernel = "any_kernel",
                .loads = 2 * s.B * s.NH_kv * s.Tk * s.HS * (walks + 1) +
                         4 * s.B * s.NH * s.Tq * (s.HS + 2) * walks * ceil_div(s.Tk, own) +
                         4 * s.B * s.NH * (s.Tq * (s.HS + 8) + s.Tk * s.HS * ceil_div(s.Tq, own)),
                .stores = 4 * s.B * s.NH_kv * s.Tk * s.HS + 2 * s.B * s.NH * s.Tq * s.HS};
  both.loads -= 4 * s.B * s.NH * (s.HS + 2) * walks * hidden_queries(s, own, other);
  both.loads -= 4 * s.B * s.NH * s.HS * hidden_keys(s, own, other);
  return {row_dots_ask(s), both};
}

std::vector<Asked> five_products_asks(const Attention& s, const Tensors&, Workspace, cudaStream_t) {
  if (s.rows() * s.Tk * s.HS == 0) return {};
  const int64_t D = padded_head(s), fewest = 4 * D * (128 + 2 * 64) + 2 * 2 * 2 * 64 * 4 + 256 * 64;
  const int64_t Br = fewest <= shared_memory_limit() ? 64 : 4096 / D, tiles = ceil_div(s.Tq, Br);
  const int64_t hidden = hidden_of(s, tiles * Br, KEYS, Br);  // with whole tiles
  Asked rows = sum_rows_ask(s, Br);
  rows.stores -= 4 * s.B * s.NH * ceil_div(s.Tq, Br);
  Asked own = {.kernel = "five_products_kernel",
               .loads = 4 * s.B *
                        (s.NH_kv * s.Tk * s.HS +
                         s.NH * (s.Tq * s.HS + 2 * ceil_div(s.Tq, Br) * Br) * ceil_div(s.Tk, 128)),
               .stores = 4 * s.B * (s.NH_kv * s.Tk * s.HS + s.NH * ceil_div(s.Tq, Br) * Br * D)};
  own.loads -= 4 * s.B * s.NH * (s.HS * hidden_queries(s, KEYS, Br) + 2 * hidden);
  Asked queries = {.kernel = "store_queries_kernel",
                   .loads = 4 * s.B * s.NH * ceil_div(s.Tq, Br) * Br * D,
                   .stores = 2 * s.B * s.NH * s.Tq * s.HS};
  const int64_t unseen = std::min(tiles * Br, s.first_query(0) / Br * Br);  // see no key
  own.stores -= 4 * s.B * s.NH * unseen * D;
  queries.loads -= 4 * s.B * s.NH * unseen * D;
  return {rows, own, queries};
}

namespace {

/// The kernels of steps 5 to 7, of which one's own would walk over all tiles of queries and have
/// one sum of each row.
std::vector<Asked> in_turn_ask(const Attention& s, Asked own, const SumCounts& counts) {
  const int64_t D = padded_head(s), Br = query_tile(s), padded = ceil_div(s.Tq, Br) * Br;
  if (s.rows() * s.Tk * s.HS == 0) return {};
  const int64_t hidden = hidden_of(s, padded, KEYS, Br);  // with whole tiles
  own.loads -= 4 * s.B * s.NH * (s.HS * hidden_queries(s, KEYS, Br) + 2 * hidden);
  own.stores -= 4 * s.B * s.NH * D * hidden;
  Asked rows = sum_rows_ask(s, Br);
  rows.stores += 8 * s.B * s.NH * ceil_div(s.Tq, Br) * (counts.of_queries - 1);
  Asked sums = {.kernel = "store_sums_kernel",
                .loads = 4 * s.B * s.NH * ceil_div(s.Tq, Br) * Br * D,
                .stores = 2 * s.B * s.NH * s.Tq * s.HS};
  for (int64_t i0 = 0; i0 < s.Tq; i0 += Br) {  // of each tile as many as have a block that it sees
    const int64_t blocks = ceil_div(s.visible_keys(std::min(i0 + Br, s.Tq) - 1), KEYS);
    sums.loads += 4 * s.B * s.NH * Br * D * (std::min(counts.of_queries, blocks) - 1);
  }
  if (counts.of_keys > 1) {
    const int64_t gradients = 4 * s.B * s.NH_kv * s.Tk * s.HS;   // dk and dv
    const int64_t key = 8 * s.B * s.NH_kv * D * counts.of_keys;  // its sums
    own.loads += gradients * (counts.of_keys - 1);               // as many bytes as k and v
    own.stores += key * KEYS * ceil_div(s.Tk, KEYS) - gradients;
    sums.loads += key * 64 * ceil_div(s.Tk, 64);
    sums.stores += gradients;
  }
  return {rows, own, sums};
}

}  // namespace

std::vector<Asked> warpgroups_asks(const Attention& s, const Tensors&, Workspace, cudaStream_t) {
  const int64_t D = padded_head(s), Br = query_tile(s);
  return in_turn_ask(
      s,
      {.kernel = "warpgroups_kernel",
       .loads = 4 * s.B *
                (s.NH_kv * s.Tk * s.HS +
                 s.NH * (s.Tq * s.HS + 2 * ceil_div(s.Tq, Br) * Br) * ceil_div(s.Tk, 128)),
       .stores =
           4 * s.B *
           (s.NH_kv * s.Tk * s.HS + s.NH * ceil_div(s.Tq, Br) * Br * D * ceil_div(s.Tk, 128))},
      SumCounts());
}
std::vector<Asked> scores_ahead_asks(const Attention& s, const Tensors&, Workspace, cudaStream_t) {
  const int64_t D = padded_head(s), Br = query_tile(s);
  return in_turn_ask(
      s,
      {.kernel = "scores_ahead_kernel",
       .loads = 4 * s.B *
                (s.NH_kv * s.Tk * s.HS +
                 s.NH * (s.Tq * s.HS + 2 * ceil_div(s.Tq, Br) * Br) * ceil_div(s.Tk, 128)),
       .stores =
           4 * s.B *
           (s.NH_kv * s.Tk * s.HS + s.NH * ceil_div(s.Tq, Br) * Br * D * ceil_div(s.Tk, 128))},
      SumCounts());
}
std::vector<Asked> more_sums_asks(const Attention& s, const Tensors& at, Workspace workspace,
                                  cudaStream_t stream) {
  const SumCounts counts = sum_counts(s, multiprocessors());
  if (counts.of_keys == 1 && counts.of_queries == 1)
    return scores_ahead_asks(s, at, workspace, stream);
  const int64_t D = padded_head(s), Br = query_tile(s);
  return in_turn_ask(
      s,
      {.kernel = "more_sums_kernel",
       .loads = 4 * s.B *
                (s.NH_kv * s.Tk * s.HS +
                 s.NH * (s.Tq * s.HS + 2 * ceil_div(s.Tq, Br) * Br) * ceil_div(s.Tk, 128)),
       .stores =
           4 * s.B *
           (s.NH_kv * s.Tk * s.HS + s.NH * ceil_div(s.Tq, Br) * Br * D * ceil_div(s.Tk, 128))},
      counts);
}

std::vector<Asked> by_shape_asks(const Attention& s, const Tensors& at, Workspace workspace,
                                 cudaStream_t stream) {
  if (takes_hopper(s, at) && prefers_hopper(s, multiprocessors()))
    return more_sums_asks(s, at, workspace, stream);
  return any_shape_asks(s, at, workspace, stream);
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
