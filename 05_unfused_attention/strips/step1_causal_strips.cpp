// Step 11 = step 9 for a strip of queries at a time, with the keys up to the strip's end: what lies
// right of it is masked for all its queries, and is neither computed nor written nor read.
//
// FLOP            4·B·NH·HS for each query and each key that it is multiplied with: of n strips
//                 (n + 1) / 2n of step 9's, which comes near half
//
// Above the diagonal only a triangle in each strip is left. The next strip's scores have the memory
// of the one before: 4·B·NH·strip·T bytes.
#include "05_unfused_attention.hpp"

namespace unfused {

using namespace tutorial;

void causal_strips(const Attention& a, const float* qkv, Workspace& w, float* out) {
  require_supported(a);
  if (a.elements() == 0) return;
  const Cut cut = cut_of(a, STRIPS);
  float* const scores = w.preatt.data();
  const Addresses at = locate(a, cut, qkv, w, scores, scores, out);
  for (const Piece& piece : pieces(a, cut)) piece_attention(a, w.blas, at, piece, scores);
}

}  // namespace unfused
