// What launchers of this part look at and launch first.
#pragma once

#include "backward_tensor_cores/backward_tensor_cores.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {

/// Throws Error for what no step takes.
void require_supported(const Attention& shape, const char* step, const Tensors& at);

/// D_i = dout_i·out_i for all rows, in float32.
void row_dots(const Attention& shape, const Tensors& at, float* D, cudaStream_t stream);

}  // namespace tutorial::flash_attention::backward_tensor_cores
