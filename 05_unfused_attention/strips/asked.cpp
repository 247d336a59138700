// What the kernels ask global memory for.
#include "strips/strips.hpp"

namespace tutorial::unfused_attention::strips {
namespace {

std::vector<Asked> kernels_ask_in(const Cut& cut, const Attention& a) {
  const std::vector<Strip> each = strips_of(a, cut);
  const auto strips = static_cast<int64_t>(each.size());
  std::vector<Asked> asked = masked_softmax_asks(a, each);
  asked.push_back(
      {.kernel = "locate_strips_kernel", .loads = 0, .stores = 48 * a.B * a.NH * strips});
  return asked;
}

}  // namespace

std::vector<Asked> causal_strips_asks(const Attention& a, const float*, StageWorkspace&, float*) {
  return kernels_ask_in(cut_of(a, 1), a);
}

std::vector<Asked> overlapped_strips_asks(const Attention& a, const float*, StageWorkspace&,
                                          float*) {
  return kernels_ask_in(cut_of(a, MOST_STREAMS), a);
}

}  // namespace tutorial::unfused_attention::strips
