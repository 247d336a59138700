#include "common/data/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tutorial {

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

std::string count_text(int64_t count) {
  return count < 1'000'000 ? std::to_string(count) : with_prefix(static_cast<double>(count), "");
}

std::string three_digits(double value) {
  return formatted(value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
}

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ", ") + word;
  return joined;
}

size_t screen_width(const std::string& text) {  // UTF-8 continuation bytes take nothing
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace tutorial
