#include "common/simulator/device/environment.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace simulator {

std::optional<uint64_t> number_from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == 0) return std::nullopt;
  const std::string_view digits(text);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc{} && end == digits.data() + digits.size()) return number;
  std::fprintf(stderr, "%s is a whole number, 0 or more, and not \"%s\".\n", name, text);
  std::exit(2);
}

}  // namespace simulator
