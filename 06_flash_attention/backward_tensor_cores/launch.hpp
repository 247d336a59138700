// What launchers of this part look at and launch first.
#pragma once

#include "backward_tensor_cores/backward_tensor_cores.hpp"

namespace tutorial::flash_attention::backward_tensor_cores {

/// Throws Error when the shape is invalid, or its head size above `largest`; and before compute
/// capability 8.0.
void require_head_size(const Attention& shape, const char* step, int64_t largest);

/// Do all rows begin at multiples of 16 bytes?
bool rows_are_aligned(const Attention& shape, const Tensors& at);

/// Throws Error for what any_shape alone takes, or no step.
void require_supported(const Attention& shape, const char* step, const Tensors& at);

/// Bytes of shared memory that a block of steps 5 to 7 has at most.
inline constexpr int64_t HOPPER_BYTES = 200 * 1024;

/// Do steps 5 to 7 take it, on this device?
bool takes_hopper(const Attention& shape, const Tensors& at);

/// D_i = dout_i·out_i for all rows, in float32.
void row_dots(const Attention& shape, const Tensors& at, float* D, cudaStream_t stream);

}  // namespace tutorial::flash_attention::backward_tensor_cores
