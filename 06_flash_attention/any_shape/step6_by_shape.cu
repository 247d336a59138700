// Step 6 = steps 2 and 5, each where it is faster: step 5 where blocks of 128 queries would
// leave more than half of the threads without a query, else step 2 (paths.hpp).
//
// FLOP            of the step that it takes
// global memory   of the step that it takes
// shared memory   of the step that it takes
// block           of the step that it takes
// long diff       it has no kernel and calls those of other steps
#include "any_shape/any_shape.hpp"
#include "any_shape/paths.hpp"
#include "common/kernel/device.hpp"

namespace tutorial::flash_attention::any_shape {

void by_shape(const Attention& shape, const float* q, const float* k, const float* v, float* out,
              float* lse, Workspace workspace, cudaStream_t stream) {
  require_valid(shape);
  Launcher* const path = few_queries(shape, multiprocessors()) ? split_keys : large_heads;
  path(shape, q, k, v, out, lse, workspace, stream);
}

}  // namespace tutorial::flash_attention::any_shape
