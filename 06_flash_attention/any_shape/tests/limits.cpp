#include "any_shape/any_shape.hpp"
#include "tests/check_step.hpp"

namespace tutorial::flash_attention {

int64_t largest_head_size(const Step<any_shape::Launcher>& step) {
  return step.launch == any_shape::head_sizes ? 128 : 256;
}

int64_t own_head_size(const Step<any_shape::Launcher>& step, int64_t HS) {
  return step.launch == any_shape::large_heads && HS <= 128 ? ceil_div(HS, 8) * 8 + 128 : HS;
}

int64_t scratch_size(const Attention& shape) {
  return any_shape::workspace_bytes(shape) / int64_t{sizeof(float)};
}

}  // namespace tutorial::flash_attention
