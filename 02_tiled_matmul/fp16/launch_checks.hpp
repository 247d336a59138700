// What the launchers of this part look at before they launch.
#pragma once

#include <algorithm>
#include <string>

#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"
#include "fp16/fp16.hpp"

namespace tutorial::tiled_matmul::fp16 {

/// Throws Error for a size below 0, and where tensor cores do not have mma.m16n8k8, which began
/// with compute capability 7.5 (PTX ISA, "mma").
inline void require_product(const HalfProduct& product, const char* step) {
  const int64_t least = std::min({product.M, product.N, product.K});
  if (least < 0)
    throw Error(std::string(step) + " takes sizes from 0 on, and one is " + std::to_string(least));
  if (compute_capability() < 75)
    throw Error(std::string(step) +
                " needs the tensor cores of compute capability 7.5 or newer; take the steps of "
                "02_tiled_matmul");
}

}  // namespace tutorial::tiled_matmul::fp16
