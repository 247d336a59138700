#include "common/simulator/translate/source_tokens.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>

namespace simulator {
namespace {

bool in_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) || c == '_' || byte >= 0x80;
}

/// One past the quote that closes the literal at `at`. One that is left open (an apostrophe in text
/// that #if removes) ends with its line.
size_t quoted_end(std::string_view source, size_t at) {
  const char quote = source[at++];
  for (; at < source.size() && source[at] != '\n'; ++at) {
    if (source[at] == quote) return at + 1;
    if (source[at] == '\\') ++at;
  }
  return std::min(at, source.size());
}

/// R"x(…)x" with its quote at `at`.
size_t raw_string_end(std::string_view source, size_t at) {
  const size_t open = source.find('(', at);
  if (open == source.npos) return source.size();
  const std::string close = ")" + std::string(source.substr(at + 1, open - at - 1)) + "\"";
  const size_t end = source.find(close, open);
  return end == source.npos ? source.size() : end + close.size();
}

size_t number_end(std::string_view source, size_t at) {
  for (; at < source.size(); ++at) {
    const char next = at + 1 < source.size() ? source[at + 1] : ' ';
    if (std::string_view("eEpP").find(source[at]) != std::string_view::npos &&
        (next == '+' || next == '-'))
      ++at;
    else if (!in_word(source[at]) && source[at] != '.' && !(source[at] == '\'' && in_word(next)))
      break;
  }
  return at;
}

size_t sign_end(std::string_view source, size_t at) {
  // `>` always stands alone: it may close a template argument list.
  for (std::string_view sign : {"<<<", "<=>", "<<", "<=", ">=", "->", "::"})
    if (source.substr(at, sign.size()) == sign) return at + sign.size();
  return at + 1;
}

/// Reads the source from its begin to its end.
class Tokenizer {
 public:
  explicit Tokenizer(std::string_view source) : source_(source) {}

  SourceTokens run() {
    while (at_ < source_.size()) {
      if (source_[at_] == '\n') {
        define_ = 0, skip_ = false, line_is_empty_ = true;
        ++at_;
      } else if (!skip_space()) {
        take_token();
      }
    }
    return std::move(result_);
  }

 private:
  bool is_at(size_t at, std::string_view text) const {
    return source_.substr(at, text.size()) == text;
  }

  /// White space, a comment or a line that goes on: goes past it.
  bool skip_space() {
    if (is_at(at_, "\\\n") || is_at(at_, "\\\r\n")) {
      at_ = source_.find('\n', at_) + 1;
    } else if (std::isspace(static_cast<unsigned char>(source_[at_]))) {
      ++at_;
    } else if (is_at(at_, "//")) {
      while (at_ < source_.size() && source_[at_] != '\n') at_ += is_at(at_, "\\\n") ? 2 : 1;
    } else if (is_at(at_, "/*")) {
      at_ = std::min(source_.find("*/", at_ + 2), source_.size() - 2) + 2;
    } else {
      return false;
    }
    return true;
  }

  void take_token() {
    size_t end;
    Token::Kind kind = Token::literal;
    const char c = source_[at_];
    if (std::isdigit(static_cast<unsigned char>(c))) {
      end = number_end(source_, at_);
    } else if (c == '"' || c == '\'') {
      end = quoted_end(source_, at_);
    } else if (in_word(c)) {
      end = word_end(at_);
      const std::string_view text = source_.substr(at_, end - at_);
      const bool is_raw = is_at(end, "\"") && (text == "R" || text == "LR" || text == "uR" ||
                                               text == "UR" || text == "u8R");
      if (is_raw) end = raw_string_end(source_, end);
      kind = is_raw ? Token::literal : Token::word;
    } else {
      end = sign_end(source_, at_);
      kind = Token::sign;
    }
    if (c == '#' && line_is_empty_) begin_directive(end);
    if (!skip_)
      result_.tokens.push_back({kind, source_.substr(at_, end - at_), at_, end, define_, depth_});
    line_is_empty_ = false;
    at_ = end;
  }

  /// `end` is behind the #.
  void begin_directive(size_t end) {
    const size_t begin = std::min(source_.find_first_not_of(" \t", end), source_.size());
    const size_t after = word_end(begin);
    const std::string_view name = source_.substr(begin, after - begin);
    skip_ = name != "define";
    define_ = skip_ ? 0 : ++defines_;
    if (name == "include") take_include(after);
    if (name.starts_with("if")) ++depth_;
    if (name == "endif") --depth_;
    const size_t next = std::min(source_.find_first_not_of(" \t", after), source_.size());
    const std::string_view word = source_.substr(next, word_end(next) - next);
    if (++directives_ == 1 && name == "ifndef" && result_.tokens.empty()) guard_ = word;
    if (directives_ == 2) result_.has_guard = name == "define" && !guard_.empty() && word == guard_;
  }

  void take_include(size_t after) {
    const size_t begin = source_.find_first_not_of(" \t", after);
    if (begin == source_.npos || (source_[begin] != '"' && source_[begin] != '<')) return;
    const bool is_quoted = source_[begin] == '"';
    const size_t close = source_.find_first_of(is_quoted ? "\"\n" : ">\n", begin + 1);
    if (close == source_.npos || source_[close] == '\n') return;
    result_.includes.push_back(
        {begin, close + 1, source_.substr(begin + 1, close - begin - 1), is_quoted, depth_});
  }

  size_t word_end(size_t at) const {
    while (at < source_.size() && in_word(source_[at])) ++at;
    return at;
  }

  const std::string_view source_;
  SourceTokens result_;
  size_t at_ = 0;
  int define_ = 0, defines_ = 0;  // the #define that the token is in; how many there were
  int depth_ = 0, directives_ = 0;
  std::string_view guard_;
  bool line_is_empty_ = true;
  bool skip_ = false;  // in a directive that is not #define
};

}  // namespace

SourceTokens tokenize(std::string_view source) {
  return Tokenizer(source).run();
}

}  // namespace simulator
