#include "common/measure/roofline.hpp"

#include <algorithm>

namespace tutorial {

double bound_seconds(const Cost& cost, const Ceiling& ceiling) {
  return std::max(cost.flop / ceiling.flop_per_s, cost.bytes / ceiling.bytes_per_s);
}

bool bound_by_arithmetic(const Cost& cost, const Ceiling& ceiling) {
  return cost.flop / ceiling.flop_per_s > cost.bytes / ceiling.bytes_per_s;
}

}  // namespace tutorial
