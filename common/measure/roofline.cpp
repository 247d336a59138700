#include "common/measure/roofline.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tutorial {

double bound_seconds(const Cost& cost, const Ceiling& ceiling) {
  return std::max(cost.flop / ceiling.flop_per_s, cost.bytes / ceiling.bytes_per_s);
}

bool bound_by_arithmetic(const Cost& cost, const Ceiling& ceiling) {
  return cost.flop / ceiling.flop_per_s > cost.bytes / ceiling.bytes_per_s;
}

std::string with_prefix(double value, const char* unit) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t power = 0;
  // 999.5 would be shown as 1000, so it already takes the next prefix.
  while (std::abs(value) >= 999.5 && power + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++power;
  }
  // Three digits: 1.23, 12.3, 123. What has no prefix is often a whole number: 8, not 8.00.
  const double size = std::abs(value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  char digits[32];
  if (power == 0)
    std::snprintf(digits, sizeof digits, "%.3g", value);
  else
    std::snprintf(digits, sizeof digits, "%.*f", decimals, value);
  return std::string(digits) + " " + kPrefixes[power] + unit;
}

}  // namespace tutorial
