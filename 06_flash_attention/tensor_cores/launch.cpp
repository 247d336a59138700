#include "tensor_cores/launch.hpp"

#include <string>

#include "common/kernel/error.hpp"

namespace tutorial::flash_attention::tensor_cores {

bool all_aligned(const bf16* q, const bf16* k, const bf16* v, const bf16* out) {
  for (const bf16* tensor : {q, k, v, out})
    if (reinterpret_cast<uintptr_t>(tensor) % 16 != 0) return false;
  return true;
}

void require_head_size(const Attention& shape, const char* step, int64_t largest) {
  require_valid(shape);
  if (shape.HS % 8 != 0)
    throw Error("head size " + std::to_string(shape.HS) +
                " is no multiple of 8, so rows of bf16 are no multiple of 16 bytes; take one that "
                "is, or ./learn run 06/any_shape, in fp32.");
  if (shape.HS > largest)
    throw Error(
        "head size " + std::to_string(shape.HS) + " is too large for " + step +
        ", which keeps O in registers and takes at most " + std::to_string(largest) +
        (largest < 256 ? "; take --kernel head_sizes." : "; take ./learn run 06, in fp32."));
}

void require_supported(const Attention& shape, const char* step, int64_t largest, const bf16* q,
                       const bf16* k, const bf16* v, const bf16* out) {
  require_head_size(shape, step, largest);
  if (!all_aligned(q, k, v, out))
    throw Error(std::string(step) +
                " copies 16 bytes at a time, and q, k, v or out does not begin at a multiple of 16 "
                "bytes; take --kernel any_address.");
}

}  // namespace tutorial::flash_attention::tensor_cores
