#include "fp16/launch.hpp"

#include <cstdint>
#include <string>

#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"

namespace tutorial::flash_attention::fp16 {

void require_supported(const Attention& shape, const char* step) {
  require_valid(shape);
  if (shape.HS % 8 != 0)
    throw Error("head size " + std::to_string(shape.HS) +
                " is no multiple of 8, so rows of fp16 are no multiple of 16 bytes; take one that "
                "is, or ./learn run 06/any_shape, in fp32.");
  require_head_size(shape.HS, step, 128);
  if (10 * device_attribute(cudaDevAttrComputeCapabilityMajor) +
          device_attribute(cudaDevAttrComputeCapabilityMinor) <
      75)
    throw Error(std::string(step) +
                " needs the tensor cores of compute capability 7.5 or newer; take ./learn run 06, "
                "in fp32.");
}

bool all_aligned(const __half* q, const __half* k, const __half* v, const __half* out) {
  for (const __half* tensor : {q, k, v, out})
    if (reinterpret_cast<uintptr_t>(tensor) % 16 != 0) return false;
  return true;
}

}  // namespace tutorial::flash_attention::fp16
