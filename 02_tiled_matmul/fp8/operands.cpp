#include "fp8/operands.hpp"

#include <algorithm>

namespace tutorial::tiled_matmul::fp8 {

Operand Rounded::to_host() const {
  const std::vector<e4m3> narrow = values.to_host();
  std::vector<float> wide(narrow.size());
  std::transform(narrow.begin(), narrow.end(), wide.begin(),
                 [](e4m3 x) { return static_cast<float>(x); });
  return {std::move(wide), scales.to_host(), groups};
}

}  // namespace tutorial::tiled_matmul::fp8
