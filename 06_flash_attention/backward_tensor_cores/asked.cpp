// What the kernels of all steps ask global memory for.
#include <algorithm>

#include "backward_tensor_cores/backward_tensor_cores.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

/// The queries in tiles that none of the keys from j0 on is seen from.
int64_t hidden_queries(const Attention& s, int64_t j0) {
  return std::min(s.Tq, s.first_query(j0) / OTHER_ROWS * OTHER_ROWS);
}
/// … of all blocks of keys of a head.
int64_t hidden_queries(const Attention& s) {
  int64_t hidden = 0;
  for (int64_t j0 = 0; j0 < s.Tk; j0 += OWN_ROWS) hidden += hidden_queries(s, j0);
  return hidden;
}

}  // namespace

std::vector<Asked> kernels_ask(const Attention& s, const Tensors&, Workspace, cudaStream_t) {
  Asked keys = {
      .kernel = "keys_kernel",
      .loads = 4 * s.B * (s.NH_kv * s.Tk * s.HS + s.NH * s.Tq * (s.HS + 2) * ceil_div(s.Tk, 128)),
      .stores = 4 * s.B * s.NH_kv * s.Tk * s.HS};
  keys.loads -= 4 * s.B * s.NH * (s.HS + 2) * hidden_queries(s);
  Asked queries = {
      .kernel = "queries_kernel",
      .loads = 4 * s.B * s.NH * (s.Tq * (s.HS + 8) + s.Tk * s.HS * ceil_div(s.Tq, 128)),
      .stores = 2 * s.B * s.NH * s.Tq * s.HS};
  queries.loads -= 4 * s.B * s.NH * s.HS * hidden_keys(s, OWN_ROWS, OTHER_ROWS);
  // Parts of dq: each row's is stored by each block that sees it, and read but by the first one.
  const int64_t rows = s.B * s.NH * (s.Tq * ceil_div(s.Tk, 128) - hidden_queries(s));
  const int64_t begun = s.Tk > 0 ? s.B * s.NH * (s.Tq - hidden_queries(s, 0)) : 0;
  Asked in_turn = keys;
  in_turn.kernel = "in_turn_kernel";
  in_turn.loads += 4 * s.HS * (rows - begun);
  in_turn.stores += 4 * s.HS * rows;
  return {in_turn,
          {.kernel = "round_dq_kernel",
           .loads = 4 * s.HS * begun,
           .stores = 2 * s.B * s.NH * s.Tq * s.HS},
          {.kernel = "row_dots_kernel",
           .loads = 4 * s.B * s.NH * s.Tq * s.HS,
           .stores = 4 * s.B * s.NH * s.Tq},
          keys,
          queries};
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
