#include "common/program/cost_model.hpp"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <string_view>

#include "common/kernel/error.hpp"

namespace tutorial {
namespace {

/// Reads a formula from left to right.
class Formula {
 public:
  Formula(const std::string& text, const std::map<std::string, double>& symbols)
      : text_(text), rest_(text), symbols_(symbols) {}

  double value() {
    const double sum = this->sum();
    if (!rest_.empty()) fail("\"" + std::string(rest_) + "\" is left over");
    return sum;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error("the formula \"" + text_ + "\" cannot be computed: " + why);
  }
  bool take(std::string_view sign) {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(sign.size());
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return true;
  }
  double sum() {
    double value = product();
    for (;;) {
      if (take("+"))
        value += product();
      else if (take("-"))
        value -= product();
      else
        return value;
    }
  }
  double product() {
    double value = factor();
    for (;;) {
      if (take("·"))
        value *= factor();
      else if (take("/"))
        value /= factor();
      else
        return value;
    }
  }
  double factor() {
    if (take("(")) {
      const double value = sum();
      if (!take(")")) fail("a ) is missing");
      return value;
    }
    if (take("⌈")) {
      const double value = sum();
      if (!take("⌉")) fail("a ⌉ is missing");
      return std::ceil(value);
    }
    size_t length = 0;
    while (length < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[length])) || rest_[length] == '_'))
      ++length;
    const std::string word(rest_.substr(0, length));
    if (word.empty()) fail("a number or a name is missing");
    rest_.remove_prefix(length);
    if (std::isdigit(static_cast<unsigned char>(word[0]))) return std::atof(word.c_str());
    const auto symbol = symbols_.find(word);
    if (symbol == symbols_.end()) fail("the chapter has no \"" + word + "\"");
    return symbol->second;
  }

  const std::string& text_;
  std::string_view rest_;
  const std::map<std::string, double>& symbols_;
};

}  // namespace

std::optional<CostModel> read_cost_model(const std::string& path, const std::string& kernel) {
  // The head of the file as one line, without the comment signs.
  std::ifstream file(path);
  std::string head;
  for (std::string line; std::getline(file, line) && line.starts_with("//");)
    head += line.substr(2) + " ";
  static const std::regex kModel("asked for( by (\\w+))? +loads (.*?) bytes.*? stores (.*?) bytes");
  const std::string name = kernel.substr(0, kernel.find('<'));
  for (std::sregex_iterator match(head.begin(), head.end(), kModel), end; match != end; ++match)
    if ((*match)[2] == "" || (*match)[2] == name)
      return CostModel{(*match)[3].str(), (*match)[4].str()};
  return std::nullopt;
}

double evaluate(const std::string& formula, const std::map<std::string, double>& symbols) {
  return Formula(formula, symbols).value();
}

}  // namespace tutorial
