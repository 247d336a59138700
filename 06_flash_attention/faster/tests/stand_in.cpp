// For the tests of the program: the reference in place of step 1, and wrong where they say so.
#include "faster/faster.hpp"
#include "tests/right_result.hpp"

namespace tutorial::flash_attention::faster {

void larger_tiles(const Attention& shape, const float* q, const float* k, const float* v,
                  float* out, float* lse, float*) {
  hand_over_spoiled(shape, q, k, v, out, lse);
}

}  // namespace tutorial::flash_attention::faster
