// Step 5 = steps 3 and 4 + the choice between them and parts hopper and tensor_cores: the one whose
// estimated time (ways.cpp) is the shortest.
//
// FLOP            of the step that it takes
// asked for       what the step asks for that is taken
// shared memory   as in that step
// block           as in that step
// H200            0.0377 ms for a query on 4096 keys, B 8, 32 heads on 8, HS 128, 86 % of a plain
//                 copy of k
// long diff       no kernel of its own
#include "common/kernel/device.hpp"
#include "few_queries/few_queries.hpp"
#include "launch_checks.hpp"
#include "tensor_cores/launch.hpp"

namespace tutorial::flash_attention::few_queries {

void by_shape(const Attention& shape, const bf16* q, const bf16* k, const bf16* v, bf16* out,
              float* lse, Workspace workspace, cudaStream_t stream) {
  tensor_cores::require_head_size(shape, "by_shape", 256);
  const bool aligned = tensor_cores::all_aligned(q, k, v, out);
  switch (way_of(shape, aligned, compute_capability(), multiprocessors())) {
    case Way::clusters:
      return clusters(shape, q, k, v, out, lse, workspace, stream);
    case Way::warps_share:
      return warps_share(shape, q, k, v, out, lse, workspace, stream);
    case Way::hopper:
      return hopper::head_sizes(shape, q, k, v, out, lse, workspace, stream);
    case Way::tensor_cores:
      return tensor_cores::any_address(shape, q, k, v, out, lse, stream);
  }
}

}  // namespace tutorial::flash_attention::few_queries
