// Step 7 = steps 3 to 6 + the choice between them, and where rows are many, parts hopper and
// tensor_cores.
//
// FLOP            2·M·N·K
// asked for       what the step asks for that is taken
// shared memory   as in that step
// H200            0.0138 ms at 8×4096×4096, 102 % of cuBLAS; step 5 has 98 %
// long diff       no kernel of its own
#include "common/kernel/device.hpp"
#include "few_rows/few_rows.hpp"
#include "tensor_cores/launch_checks.hpp"

namespace tutorial::tiled_matmul::few_rows {

void by_shape(const Bf16Product& product, const bf16* A, const bf16* B, Output C,
              Workspace workspace, cudaStream_t stream) {
  tensor_cores::require_device("by_shape", 96 * 1024);
  switch (way_of(product, hopper::tma_takes(product, A, B, C), compute_capability(),
                 multiprocessors())) {
    case Way::transposed:
      return transposed(product, A, B, C, workspace, stream);
    case Way::clusters:
      return clusters(product, A, B, C, workspace, stream);
    case Way::warpgroups:
      return warpgroups(product, A, B, C, workspace, stream);
    case Way::larger_tiles:
      return larger_tiles(product, A, B, C, workspace, stream);
    case Way::hopper:
      return hopper::by_shape(product, A, B, C, workspace, stream);
    case Way::tensor_cores:
      return tensor_cores::by_shape(product, A, B, C, workspace, stream);
  }
}

}  // namespace tutorial::tiled_matmul::few_rows
