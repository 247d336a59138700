// Step 21 = steps 17 and 20, each where it is faster: step 20 where blocks of 128 queries would
// leave more than half of the threads without a query, else step 17 (paths.hpp).
//
// FLOP            of the step that it takes
// global memory   of the step that it takes
// shared memory   of the step that it takes
// block           of the step that it takes
#include "06_flash_attention.hpp"
#include "common/kernel/shared_memory.hpp"
#include "paths.hpp"

namespace tutorial::flash_attention {

void by_shape(const Attention& shape, const float* q, const float* k, const float* v, float* out,
              float* lse, float* scratch) {
  require_valid(shape);
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  Launcher* const path = few_queries(shape, multiprocessors) ? split_keys : large_heads;
  path(shape, q, k, v, out, lse, scratch);
}

}  // namespace tutorial::flash_attention
