// Step 10 = step 9 for a few heads at a time: so few that their scores are still in the L2 cache
// when the softmax reads them, and its weights when the product with V does.
//
// One group's scores and weights have the memory of the group before, 4·group·T·T bytes. The last
// heads are a smaller group where the others do not divide them.
//
// It saves memory. It does not save time: so few heads have too few tiles for a GPU. The page
// counts them.
#include "05_unfused_attention.hpp"

namespace unfused {

using namespace tutorial;

void head_groups(const Attention& a, const float* qkv, Workspace& w, float* out) {
  require_supported(a);
  if (a.elements() == 0) return;
  const Cut cut = cut_of(a, HEAD_GROUPS);
  float* const scores = w.preatt.data();
  const Addresses at = locate(a, cut, qkv, w, scores, scores, out);
  for (const Piece& piece : pieces(a, cut)) piece_attention(a, w.blas, at, piece, scores);
}

}  // namespace unfused
