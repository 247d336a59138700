// In the place of CLI11, which writes what --help prints.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {

struct Option {
  Option* group(const std::string&) { return this; }
  Option* type_name(const std::string&) { return this; }
};

class App {
 public:
  App(const std::string&, const std::string&) {}
  void set_help_flag() {}
  Option* add_flag(const std::string&, const std::string&) { return &option_; }
  Option* add_option(const std::string&, const std::string&) { return &option_; }
  std::string help() const { return "A page has no --help.\n"; }

 private:
  Option option_;
};

namespace detail {
inline std::string join(const std::vector<std::string>&) {
  return "";
}
}  // namespace detail

}  // namespace CLI
