// Step 8 = steps 3 and 7 + the choice between them: the one whose estimated time (rules.cpp) is the
// shorter; and step 3 wherever step 7 does not run.
//
// FLOP            of the step that it takes
// asked for       what the step asks for that is taken
// shared memory   as in that step
// block           as in that step
// long diff       no kernel of its own
#include "backward_tensor_cores/launch.hpp"
#include "common/kernel/device.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {

void by_shape(const Attention& shape, const Tensors& at, Workspace workspace, cudaStream_t stream) {
  require_head_size(shape, "by_shape", LARGEST_HEAD_SIZE);
  const bool hopper = takes_hopper(shape, at) && prefers_hopper(shape, multiprocessors());
  (hopper ? more_sums : any_shape)(shape, at, workspace, stream);
}

}  // namespace tutorial::flash_attention::backward_tensor_cores
