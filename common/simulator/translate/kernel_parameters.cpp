#include "common/simulator/translate/kernel_parameters.hpp"

#include "common/simulator/translate/source_tokens.hpp"

namespace simulator {
namespace {

/// Is the name at token `i` that of a kernel's definition or declaration? Back from it comes
/// __global__ before the last statement ends.
bool follows_global(const std::vector<Token>& tokens, size_t i) {
  while (i-- > 0) {
    if (tokens[i].text == "__global__") return true;
    if (tokens[i].text == ";" || tokens[i].text == "}" || tokens[i].text == "{") return false;
  }
  return false;
}

}  // namespace

std::vector<std::string> kernel_parameters(std::string_view source, std::string_view kernel) {
  const std::vector<Token> tokens = tokenize(source).tokens;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].text != kernel || tokens[i + 1].text != "(" || !follows_global(tokens, i))
      continue;
    std::vector<std::string> names;
    std::string name;
    bool has_name = false;  // what follows is an extent or a default
    int depth = 0, angles = 0;
    for (i += 2; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      if (depth == 0 && angles == 0 && (token.text == "," || token.text == ")")) {
        if (token.text == "," || !name.empty()) names.push_back(name);
        if (token.text == ")") return names;
        name.clear();
        has_name = false;
      } else if (token.text == "(" || token.text == "[" || token.text == "{") {
        has_name |= token.text == "[";
        ++depth;
      } else if (token.text == ")" || token.text == "]" || token.text == "}") {
        --depth;
      } else if (depth == 0 && token.text == "=") {
        has_name = true;
      } else if (depth == 0 && !has_name) {
        angles += (token.text == "<") - (token.text == ">");
        if (angles == 0 && token.kind == Token::word) name = token.text;
      }
    }
  }
  return {};
}

}  // namespace simulator
