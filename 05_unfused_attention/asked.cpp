// What the kernels ask global memory for.
#include "05_unfused_attention.hpp"

namespace tutorial::unfused_attention {

std::vector<Asked> masked_softmax_asks(const Attention& a, const std::vector<Strip>& strips) {
  struct Scores {
    int64_t seen = 0, written = 0;
  };
  Scores held, again;
  for (const auto& [first_query, queries, keys] : strips) {
    Scores& of = keys <= MOST_KEYS_IN_REGISTERS ? held : again;
    of.written += a.heads() * queries * keys;
    of.seen += a.heads() *
               (a.causal ? first_query * queries + queries * (queries + 1) / 2 : queries * keys);
  }
  return {
      {.kernel = "softmax_in_registers", .loads = 4 * held.seen, .stores = 4 * held.written},
      {.kernel = "softmax_again", .loads = 12 * again.seen, .stores = 4 * again.written},
  };
}

std::vector<Asked> kernels_ask(const Attention& a, const float*, StageWorkspace&, float*) {
  const int64_t seen = a.seen();
  std::vector<Asked> asked = {
      {.kernel = "permute_kernel", .loads = 12 * a.B * a.T * a.C, .stores = 12 * a.B * a.T * a.C},
      {.kernel = "scale_mask_kernel", .loads = 4 * seen, .stores = 4 * a.B * a.NH * a.T * a.T},
      {.kernel = "softmax_kernel",
       .loads = 12 * a.B * a.NH * a.T * a.T,
       .stores = 8 * a.B * a.NH * a.T * a.T},
      {.kernel = "unpermute_kernel", .loads = 4 * a.B * a.T * a.C, .stores = 4 * a.B * a.T * a.C},
      {.kernel = "scale_mask_softmax_kernel",
       .loads = 12 * seen,
       .stores = 4 * a.B * a.NH * a.T * a.T},
      {.kernel = "locate_kernel", .loads = 0, .stores = 48 * a.B * a.NH},
  };
  for (const Asked& by : masked_softmax_asks(a, {whole(a)})) asked.push_back(by);
  return asked;
}

}  // namespace tutorial::unfused_attention
