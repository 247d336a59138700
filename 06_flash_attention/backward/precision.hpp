// The reference of part backward for kernels in bf16, too: part backward_tensor_cores has them.
#pragma once

#include "backward/backward.hpp"

namespace tutorial::flash_attention::backward {

/// What a kernel computes in: float32, or on tensor cores with operands and results in bf16.
enum class Precision { fp32, bf16 };

/// As reference() of backward.hpp, with the bound of such a kernel.
Reference reference(const Attention& shape, const HostTensors& at, std::span<const int64_t> queries,
                    std::span<const int64_t> keys, Precision precision);

}  // namespace tutorial::flash_attention::backward
