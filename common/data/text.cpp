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

namespace {

/// How many letters must be put in, left out, changed or swapped with their neighbour.
size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> edits(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      size_t& least = edits[i][j];
      least = i + j;  // right where one of them is empty
      if (i == 0 || j == 0) continue;
      least = std::min(
          {edits[i - 1][j] + 1, edits[i][j - 1] + 1, edits[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least = std::min(least, edits[i - 2][j - 2] + 1);
    }
  return edits[a.size()][b.size()];
}

}  // namespace

std::string without_dashes(const std::string& option) {
  return option.substr(std::min(option.find_first_not_of('-'), option.size()));
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string given = without_dashes(word);
  if (given.empty() || given.size() > 100) return "";
  const std::string* nearest = nullptr;
  size_t least = std::max<size_t>(1, given.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t edits = edits_between(given, without_dashes(candidate));
    if (edits >= least || edits >= given.size()) continue;
    least = edits;
    nearest = &candidate;
  }
  // A part of a name, long enough to be no accident, is meant as that name.
  for (const std::string& candidate : known)
    if (nearest == nullptr && given.size() >= 3 && candidate.find(given) != std::string::npos)
      nearest = &candidate;
  return nearest == nullptr ? "" : "did you mean \"" + *nearest + "\"? ";
}

std::string printable(const std::string& text) {
  std::string shown;
  for (size_t i = 0; i < text.size();) {
    const auto at = [&](size_t j) {
      return static_cast<unsigned char>(j < text.size() ? text[j] : 0);
    };
    // The bytes of one character of UTF-8; 0: it is none.
    size_t bytes = at(i) < 0x80 ? 1 : at(i) >= 0xf0 ? 4 : at(i) >= 0xe0 ? 3 : at(i) >= 0xc2 ? 2 : 0;
    for (size_t j = 1; j < bytes; ++j)
      if ((at(i + j) & 0xc0) != 0x80) bytes = 0;
    // U+0080 to U+009f are control characters, too.
    const bool is_control = at(i) < 0x20 || at(i) == 0x7f || (at(i) == 0xc2 && at(i + 1) < 0xa0);
    if (bytes == 0 || is_control) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", at(i));
      shown += escape;
      i += 1;
    } else {
      shown += text.substr(i, bytes);
      i += bytes;
    }
  }
  return shown;
}

size_t screen_width(const std::string& text) {  // UTF-8 continuation bytes take nothing
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace tutorial
