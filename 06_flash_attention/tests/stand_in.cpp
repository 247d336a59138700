// For the tests of the program: the reference in place of steps 1 and 2, and step 1 wrong where
// they say so.
#include "tests/right_result.hpp"

namespace tutorial::flash_attention {

void kv_outer(const Attention& shape, const float* q, const float* k, const float* v, float* out,
              float* lse, float*) {
  hand_over_spoiled(shape, q, k, v, out, lse);
}

void q_outer_on(const Attention& shape, const float* q, const float* k, const float* v, float* out,
                float* lse, cudaStream_t) {
  if (shape.rows() * shape.HS == 0) return;
  hand_over(shape, right_result(shape, q, k, v).data(), out, lse);
}

void q_outer(const Attention& shape, const float* q, const float* k, const float* v, float* out,
             float* lse, float*) {
  q_outer_on(shape, q, k, v, out, lse, nullptr);
}

}  // namespace tutorial::flash_attention
