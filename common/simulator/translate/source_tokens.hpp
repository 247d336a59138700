// A CUDA source as tokens: words, literals and signs, each with its place. Comments, white space
// and all directives but #define are left out; of an #include the name is kept.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace simulator {

struct Token {
  enum Kind { word, literal, sign } kind;
  std::string_view text;
  size_t begin, end;  // in the source
  int define;         // 0, or which #define it belongs to
  int depth;          // of #if … #endif around it
};

struct Include {
  size_t begin, end;      // of the name with its quotes or brackets, in the source
  std::string_view name;  // without them
  bool is_quoted;
  int depth;
};

struct SourceTokens {
  std::vector<Token> tokens;
  std::vector<Include> includes;
  bool has_guard = false;  // all of it stands in #ifndef X, #define X … #endif
};

SourceTokens tokenize(std::string_view source);

}  // namespace simulator
