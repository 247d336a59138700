// For the tests of the program: the reference in place of step 1, and wrong where they say so.
#include "any_shape/any_shape.hpp"
#include "tests/right_result.hpp"

namespace tutorial::flash_attention::any_shape {

void head_sizes(const Attention& shape, const float* q, const float* k, const float* v, float* out,
                float* lse, Workspace, cudaStream_t) {
  hand_over_spoiled(shape, q, k, v, out, lse);
}

}  // namespace tutorial::flash_attention::any_shape
