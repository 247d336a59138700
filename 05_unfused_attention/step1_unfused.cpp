// Step 1: the six stages, one after the other.
//
// FLOP            4·B·NH·T·T·HS in the products of stages 2 and 5, 6·B·NH·T·T in stages 3 and 4
// global memory   at least 48·B·T·C + 24·B·NH·T·T bytes, less what is masked; qkv and out together
//                 have 16·B·T·C
// block           block_size threads in our own kernels; the products are cuBLAS's
// H200            1.52 ms for B 8, T 1024, C 768, NH 12
#include "05_unfused_attention.hpp"

namespace tutorial::unfused_attention {

void unfused(const Attention& a, const float* qkv, StageWorkspace& w, float* out) {
  require_supported(a);
  if (a.elements() == 0) return;
  permute(a, qkv, w.q.data(), w.k.data(), w.v.data());
  scores(a, w.blas, w.q.data(), w.k.data(), w.preatt.data());
  scale_mask(a, w.preatt.data());
  softmax(a, w.preatt.data(), w.att.data());
  values(a, w.blas, w.att.data(), w.v.data(), w.vaccum.data());
  unpermute(a, w.vaccum.data(), out);
}

}  // namespace tutorial::unfused_attention
