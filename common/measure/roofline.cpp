#include "common/measure/roofline.hpp"

#include <algorithm>

namespace tutorial {

double bound_ms(const Cost& cost, const Ceiling& ceiling) {
  return 1e3 * std::max(cost.flop / ceiling.flop_per_s, cost.bytes / ceiling.bytes_per_s);
}

bool bound_by_arithmetic(const Cost& cost, const Ceiling& ceiling) {
  return cost.flop / ceiling.flop_per_s > cost.bytes / ceiling.bytes_per_s;
}

}  // namespace tutorial
