// What launchers of this part look at before they launch.
#pragma once

#include "common/kernel/check.hpp"
#include "fp16/fp16.hpp"
#include "launch_checks.hpp"
#include "tensor_cores/launch.hpp"

namespace tutorial::flash_attention::fp16 {

using tensor_cores::all_aligned, tensor_cores::with_padded_head_size;

/// Throws Error when the shape is invalid, for strides and lengths, for a head size that is no
/// multiple of 8 up to 128, and where tensor cores do not have mma.m16n8k8, which began with
/// compute capability 7.5 (PTX ISA, "mma").
void require_supported(const Attention& shape, const char* step);

}  // namespace tutorial::flash_attention::fp16
