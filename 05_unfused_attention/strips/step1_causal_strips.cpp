// Step 1 = the chapter's row_in_registers for a strip of queries at a time, with the keys up to the
// strip's end: what lies right of it is masked for all its queries, and is neither computed nor
// written nor read.
//
// FLOP            4·B·NH·HS for each query and each key that it is multiplied with: of n strips
//                 (n + 1) / 2n of row_in_registers's, which comes near half
//
// Above the diagonal only a triangle in each strip is left. The next strip's scores have the memory
// of the one before: 4·B·NH·height·T bytes.
#include "strips/strips.hpp"

namespace tutorial::unfused_attention::strips {

void causal_strips(const Attention& a, const float* qkv, StageWorkspace& w, float* out) {
  require_supported(a);
  require_strides(a);
  if (a.elements() == 0) return;
  const Cut cut = cut_of(a, 1);
  const std::vector<Strip> strips = strips_of(a, cut);
  const std::vector<HeadPointers> at = locate_strips(a, cut, qkv, w, out);

  for (size_t i = 0; i < strips.size(); ++i) {
    strided_scores(a, w.blas, at[i], strips[i], a.scale());
    masked_softmax(a, strips[i], w.preatt.data());
    strided_values(a, w.blas, at[i], strips[i]);
  }
}

}  // namespace tutorial::unfused_attention::strips
