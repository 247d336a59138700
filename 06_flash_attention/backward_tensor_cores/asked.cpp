// What the kernels of all steps ask global memory for.
#include <algorithm>

#include "backward_tensor_cores/hopper_launch.hpp"
#include "backward_tensor_cores/launch.hpp"
#include "common/kernel/grid.hpp"
#include "common/kernel/shared_memory.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

/// Of all blocks of `own` keys of a head: the queries in tiles of `other` that none of their keys
/// is seen from.
int64_t hidden_queries(const Attention& s, int64_t own, int64_t other) {
  int64_t hidden = 0;
  for (int64_t j0 = 0; j0 < s.Tk; j0 += own)
    hidden += std::min(s.Tq, s.first_query(j0) / other * other);
  return hidden;
}

Asked row_dots_ask(const Attention& s) {
  return {.kernel = "row_dots_kernel",
          .loads = 4 * s.B * s.NH * s.Tq * s.HS,
          .stores = 4 * s.B * s.NH * s.Tq};
}

}  // namespace

std::vector<Asked> kernels_ask(const Attention& s, const Tensors&, Workspace, cudaStream_t) {
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

std::vector<Asked> any_kernels_ask(const Attention& s, const Tensors& at, Workspace workspace,
                                   cudaStream_t stream) {
  const bool aligned = rows_are_aligned(s, at);
  if (aligned && s.HS <= 128 && (s.HS <= 64 || s.HS > 96))
    return kernels_ask(s, at, workspace, stream);
  const int64_t walks = s.HS > 128 ? 2 : 1, other = aligned && s.HS <= 128 ? 64 : 32;
  // Of large heads 128 rows and two tiles need that much, in numbers of 2 bytes and of 4.
  const int64_t bytes = 2 * 2 * (128 + 2 * 32) * (s.HS <= 192 ? 192 : 256) + 4 * 2 * 2 * 32;
  const int64_t own = s.HS <= 128 || (aligned && bytes <= shared_memory_limit()) ? 128 : 64;
  Asked keys = {
      .kernel = "any_keys_kernel",
      .loads = 4 * s.B *
               (s.NH_kv * s.Tk * s.HS + s.NH * s.Tq * (s.HS + 2) * walks * ceil_div(s.Tk, own)),
      .stores = 4 * s.B * s.NH_kv * s.Tk * s.HS};
  keys.loads -= 4 * s.B * s.NH * (s.HS + 2) * walks * hidden_queries(s, own, other);
  Asked queries = {
      .kernel = "any_queries_kernel",
      .loads = 4 * s.B * s.NH * (s.Tq * (s.HS + 8) + s.Tk * s.HS * ceil_div(s.Tq, own)),
      .stores = 2 * s.B * s.NH * s.Tq * s.HS};
  queries.loads -= 4 * s.B * s.NH * s.HS * hidden_keys(s, own, other);
  return {row_dots_ask(s), keys, queries};
}

namespace {

int64_t padded_head(const Attention& s) {
  return s.HS <= 64 ? 64 : 128;
}
int64_t tile_of(const Attention& s) {
  return queries_of_tile(static_cast<int>(padded_head(s)));
}

/// The kernels of steps 3 and 4, of which one's own would walk over all tiles of queries.
std::vector<Asked> in_turn_ask(const Attention& s, Asked own) {
  const int64_t D = padded_head(s), Br = tile_of(s), padded = ceil_div(s.Tq, Br) * Br;
  if (s.rows() * s.Tk * s.HS == 0) return {};
  int64_t hidden = 0;  // with whole tiles
  for (int64_t j0 = 0; j0 < s.Tk; j0 += KEYS)
    hidden += std::min(padded, s.first_query(j0) / Br * Br);
  own.loads -= 4 * s.B * s.NH * (s.HS * hidden_queries(s, KEYS, Br) + 2 * hidden);
  own.stores -= 4 * s.B * s.NH * D * hidden;
  Asked sums = {.kernel = "store_dq_kernel",
                .loads = 4 * s.B * s.NH * ceil_div(s.Tq, Br) * Br * D,
                .stores = 2 * s.B * s.NH * s.Tq * s.HS};
  sums.loads -= 4 * s.B * s.NH * D * std::min(padded, s.first_query(0) / Br * Br);
  return {{.kernel = "sum_rows_kernel",
           .loads = 4 * s.B * s.NH * s.Tq * (s.HS + 1),
           .stores = 8 * s.B * s.NH * ceil_div(s.Tq, Br) * Br},
          own,
          sums};
}

}  // namespace

std::vector<Asked> warpgroups_asks(const Attention& s, const Tensors&, Workspace, cudaStream_t) {
  const int64_t D = padded_head(s), Br = tile_of(s);
  return in_turn_ask(
      s, {.kernel = "warpgroups_kernel",
          .loads = 4 * s.B *
                   (s.NH_kv * s.Tk * s.HS +
                    s.NH * (s.Tq * s.HS + 2 * ceil_div(s.Tq, Br) * Br) * ceil_div(s.Tk, 128)),
          .stores =
              4 * s.B *
              (s.NH_kv * s.Tk * s.HS + s.NH * ceil_div(s.Tq, Br) * Br * D * ceil_div(s.Tk, 128))});
}
std::vector<Asked> scores_ahead_asks(const Attention& s, const Tensors&, Workspace, cudaStream_t) {
  const int64_t D = padded_head(s), Br = tile_of(s);
  return in_turn_ask(
      s, {.kernel = "scores_ahead_kernel",
          .loads = 4 * s.B *
                   (s.NH_kv * s.Tk * s.HS +
                    s.NH * (s.Tq * s.HS + 2 * ceil_div(s.Tq, Br) * Br) * ceil_div(s.Tk, 128)),
          .stores =
              4 * s.B *
              (s.NH_kv * s.Tk * s.HS + s.NH * ceil_div(s.Tq, Br) * Br * D * ceil_div(s.Tk, 128))});
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
