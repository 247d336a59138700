// For the tests of the program: the road's row_in_registers in place of step 1, and wrong where
// they say so.
#include "common/testing/spoil.hpp"
#include "strips/strips.hpp"

namespace tutorial::unfused_attention::strips {

void causal_strips(const Attention& a, const float* qkv, StageWorkspace& w, float* out) {
  row_in_registers(a, qkv, w, out);
  spoil(out);
}

}  // namespace tutorial::unfused_attention::strips
