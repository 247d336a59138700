// What the kernels of all steps ask global memory for.
#include <algorithm>

#include "backward_tensor_cores/backward_tensor_cores.hpp"
#include "common/kernel/grid.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {
namespace {

/// Of all blocks of keys of a head: the queries in tiles that none of their keys is seen from.
int64_t hidden_queries(const Attention& s) {
  int64_t hidden = 0;
  for (int64_t j0 = 0; j0 < s.Tk; j0 += OWN_ROWS)
    hidden += std::min(s.Tq, s.first_query(j0) / OTHER_ROWS * OTHER_ROWS);
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
  return {{.kernel = "row_dots_kernel",
           .loads = 4 * s.B * s.NH * s.Tq * s.HS,
           .stores = 4 * s.B * s.NH * s.Tq},
          keys,
          queries};
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
