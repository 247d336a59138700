#include "fp16/launch.hpp"

#include <string>

#include "common/kernel/device.hpp"
#include "common/kernel/error.hpp"

namespace tutorial::flash_attention::fp16 {

void require_supported(const Attention& shape, const char* step) {
  require_valid(shape);
  tensor_cores::require_whole_chunks(shape, "fp16");
  require_head_size(shape.HS, step, 128);
  if (compute_capability() < 75)
    throw Error(std::string(step) +
                " needs the tensor cores of compute capability 7.5 or newer; take ./learn run 06, "
                "in fp32.");
}

}  // namespace tutorial::flash_attention::fp16
