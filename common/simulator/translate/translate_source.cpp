#include "common/simulator/translate/translate_source.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "common/simulator/translate/absent.hpp"
#include "common/simulator/translate/inline_ptx.hpp"
#include "common/simulator/translate/source_tokens.hpp"

namespace simulator {
namespace {

bool one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// ---- The rewrites.

class Translator {
 public:
  Translator(std::string_view source, const std::string& path, const Resolve& resolve,
             const Settings& settings, Side side)
      : source_(source), path_(path), settings_(settings), side_(side) {
    const SourceTokens read = tokenize(source);
    tokens_ = read.tokens;
    unconditional_ = read.has_guard ? 1 : 0;
    for (const Include& include : read.includes) look_at_include(include, resolve);
  }

  std::string run() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind == Token::word) look_at_word(i);
      if (side_ == Side::host) continue;
      if (tokens_[i].text == "<<<" && tokens_[i].kind == Token::sign) rewrite_launch(i);
      track_scope(i);
    }
    std::string out = has_ptx_ ? "#include \"simulator/inline_ptx.h\"\n" : "";
    out += "#line 1 \"";
    for (char c : path_) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    out += "\"\n";
    size_t at = 0;
    for (const auto& [begin, edit] : edits_) {
      if (begin < at) continue;  // in what is replaced
      out += source_.substr(at, begin - at);
      out += edit.second;
      at = edit.first;
    }
    return out + std::string(source_.substr(at));
  }

 private:
  [[noreturn]] void fail_at(size_t at, const std::string& message) const {
    const auto line =
        1 + std::count(source_.begin(), source_.begin() + static_cast<long>(at), '\n');
    throw TranslateError(path_ + ":" + std::to_string(line) + ": " + message);
  }
  [[noreturn]] void fail(size_t token, const std::string& message) const {
    fail_at(tokens_[token].begin, message);
  }
  static std::string absent_sentence(std::string_view what) {
    const size_t colon = what.find(": ");
    return std::string(what.substr(0, colon)) + ": not on the CPU backend; " +
           std::string(what.substr(colon + 2)) + " (docs/try.md lists what is)";
  }
  [[noreturn]] void fail_absent(size_t at, std::string_view what) const {
    fail_at(at, absent_sentence(what));
  }

  /// What #if may remove is left to the compiler.
  bool is_conditional(int depth) const { return depth > unconditional_; }

  void look_at_include(const Include& include, const Resolve& resolve) {
    const std::string_view absent = absent_header(include.name);
    const std::string found =
        resolve ? resolve(std::string(include.name), include.is_quoted) : std::string();
    if (!found.empty())
      edits_[include.begin] = {include.end, "\"" + found + "\""};
    else if (!absent.empty() && !is_conditional(include.depth))
      fail_absent(include.begin, absent);
    else if (!absent.empty())  // where it stays in the program, the compiler finds no such file
      edits_[include.begin] = {include.end, "\"" + absent_sentence(absent) + "\""};
  }

  void look_at_word(size_t i) {
    const std::string_view word = tokens_[i].text;
    if (const auto set = settings_.find(word); set != settings_.end()) set_value(i, set->second);
    if (side_ == Side::device) rewrite_word(i, word);
    const bool is_member = one_of(text(i - 1, i), {".", "->", "::"});
    const std::string_view absent = absent_word(word, text(i + 1, i) == "::");
    if (absent.empty() || is_member || tokens_[i].define != 0) return;
    if (!is_conditional(tokens_[i].depth)) fail_absent(tokens_[i].begin, absent);
    // An error where it stays in the program.
    edits_[tokens_[i].begin] = {tokens_[i].begin,
                                "_Pragma(\"GCC error \\\"" + absent_sentence(absent) + "\\\"\") "};
  }

  void rewrite_word(size_t i, std::string_view word) {
    if (word == "__shared__") rewrite_shared(i);
    if (word == "__constant__") drop_static(i);
    if (word == "__cluster_dims__") move_cluster_dims(i);
    if (one_of(word, {"asm", "__asm__", "__asm"})) rewrite_ptx(i);
    if (word == "cudaLaunchKernel") drop_cast(i + 1);
  }

  /// The text of token `i`, as seen from token `from`: "" past either end of the file or of the
  /// #define that `from` is in.
  std::string_view text(size_t i, size_t from) const {
    return i < tokens_.size() && tokens_[i].define == tokens_[from].define ? tokens_[i].text : "";
  }
  /// A word that can be a name, not a literal and not a word that comes before an expression.
  bool is_name(size_t i, size_t from) const {
    return !text(i, from).empty() && tokens_[i].kind == Token::word &&
           !one_of(tokens_[i].text, {"return", "else", "do", "if", "while", "for", "switch", "case",
                                     "constexpr", "throw", "co_return", "co_yield", "template"});
  }

  /// The bracket that the one at `close` closes, looking back. Of < and > only those outside the
  /// other brackets count. tokens_.size() if there is none.
  size_t opening(size_t close) const {
    std::string open;
    for (size_t i = close; i <= close && !text(i, close).empty(); --i) {
      const char c =
          tokens_[i].kind == Token::sign && tokens_[i].text.size() == 1 ? tokens_[i].text[0] : ' ';
      const bool angles = open.empty() ? text(close, close) == ">" : open.back() == '<';
      if (c == ')' || c == ']' || c == '}' || (c == '>' && angles)) {
        open += c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : '<';
      } else if (c == '(' || c == '[' || c == '{' || (c == '<' && angles)) {
        if (open.back() != c) break;
        open.pop_back();
        if (open.empty()) return i;
      } else if (c == ';' && angles) {
        break;
      }
    }
    return tokens_.size();
  }

  /// The first token of the kernel's name: `k`, `a::b<int>`, `(pointer)`, `table[i]`,
  /// `step.kernel`.
  size_t name_begin(size_t chevron) const {
    for (size_t begin = chevron;;) {
      const size_t last = begin - 1;
      const std::string_view end = text(last, chevron);
      if (end == ">" || end == ")" || end == "]") {
        begin = opening(last);
        if (begin == tokens_.size()) fail(chevron, "unbalanced brackets before <<<");
        const bool has_head = is_name(begin - 1, chevron) || text(begin - 1, chevron) == ">";
        if (has_head) continue;  // a template's arguments, a call's or an index: the rest precedes
        if (end == ")") return begin;
      } else if (is_name(last, chevron)) {
        begin = last;
        while (text(begin - 1, chevron) == "#" && text(begin - 2, chevron) == "#" &&
               is_name(begin - 3, chevron))
          begin -= 3;  // a name that a macro pastes together
        const size_t joint = begin - (text(begin - 1, chevron) == "template" ? 2 : 1);
        const std::string_view sign = text(joint, chevron);
        const bool is_global = !is_name(joint - 1, chevron) && text(joint - 1, chevron) != ">";
        if (sign == "::" && is_global) return joint;
        if (!one_of(sign, {"::", ".", "->"})) return begin;
        begin = joint;
        continue;
      }
      fail(chevron, "no kernel name before <<<: write kernel<<<grid, block>>>(arguments)");
    }
  }

  /// The first of the three `>` that close the launch's configuration. They stand outside all
  /// brackets and before a `(`. So may the `>>>` of f<g<h<1>>>(x): templates are closed first, and
  /// if no close is left then (a `<` meant "less"), the last `>>>(` of the statement is the one.
  size_t config_end(size_t chevron) const {
    std::string open;
    size_t angles = 0, last = 0;
    for (size_t i = chevron + 1; !text(i, chevron).empty(); ++i) {
      const std::string_view token = text(i, chevron);
      if (token == "(" || token == "[" || token == "{") {
        open += token == "(" ? ')' : token == "[" ? ']' : '}';
      } else if (token == ")" || token == "]" || token == "}") {
        if (open.empty() || open.back() != token[0]) break;
        open.pop_back();
      } else if (open.empty()) {
        if (token == ";" || token == "<<<") break;
        if (token == "<") ++angles;
        if (token != ">") continue;
        size_t run = 1;
        while (text(i + run, chevron) == ">" && tokens_[i + run].begin == tokens_[i].begin + run)
          ++run;
        if (run >= 3 && text(i + run, chevron) == "(") {
          last = i + run - 3;
          if (run >= angles + 3) return last;
        }
        angles -= std::min(angles, run);
        i += run - 1;
      }
    }
    if (last == 0)
      fail(chevron, "this <<< has no matching >>>(: write <<<grid, block>>>(arguments)");
    return last;
  }

  void rewrite_launch(size_t chevron) {
    const size_t begin = name_begin(chevron), close = config_end(chevron);
    std::vector<size_t> name;
    for (size_t i = begin; i < chevron; ++i) name.push_back(i);
    const std::string kernel = joined(name);
    replace(begin, chevron,
            "::simulator::launch_site(" + as_string(name) +
                ", [&](auto... args_) SIMULATOR_UNCHECKED { SIMULATOR_CONFIGURED(" + kernel +
                "(args_...)) }, [&](auto address_of_) -> decltype(address_of_(" + kernel +
                ")) { return address_of_(" + kernel + "); }, ");
    replace(close, close + 2, ")");
  }

  /// The first token of the declaration that has `keyword`. In a macro the words before it may be
  /// anything, so there only qualifiers belong to it.
  size_t declaration_begin(size_t keyword) const {
    for (size_t begin = keyword;;) {
      const std::string_view before = text(begin - 1, keyword);
      size_t open = tokens_.size();
      if (before == ")" || before == ">") open = opening(begin - 1);
      const bool is_qualifier = one_of(before, {"extern", "const", "volatile"});
      const bool is_type =
          tokens_[keyword].define == 0 && (before == "::" || is_name(begin - 1, keyword));
      if (is_qualifier || is_type)
        --begin;
      else if (open != tokens_.size() && is_alignment(text(open - 1, keyword)))
        begin = open - 1;
      else if (open != tokens_.size() && before == ">" && tokens_[keyword].define == 0)
        begin = open;
      else
        return begin;
    }
  }
  static bool is_alignment(std::string_view word) {
    return one_of(word, {"alignas", "__align__", "__attribute__"});
  }

  void rewrite_shared(size_t keyword) {
    const size_t begin = declaration_begin(keyword);
    bool is_extern = false;
    std::vector<size_t> type, extents;  // tokens of "unsigned char NAME" and what follows "[]"
    size_t i = begin;
    const auto at_array = [&] { return text(i, keyword) == "[" && text(i + 1, keyword) == "]"; };
    for (; !at_array() && !one_of(text(i, keyword), {"", ";"}); ++i) {
      const std::string_view token = tokens_[i].text;
      if (is_alignment(token)) {
        int depth = 0;
        do {
          ++i;
          depth += (text(i, keyword) == "(") - (text(i, keyword) == ")");
        } while (depth > 0 && !text(i, keyword).empty());
      } else if (token == "extern") {
        is_extern = true;
      } else if (!one_of(token, {"__shared__", "__device__"})) {
        type.push_back(i);
      }
    }
    if (!is_extern) {
      if (tokens_[keyword].define == 0 && !in_function())
        fail(keyword, "shared memory: move this __shared__ variable into the kernel");
      name_shared(begin, keyword);
      return;
    }
    const bool is_array = at_array();
    for (i += 2; is_array && !one_of(text(i, keyword), {"", ";"}); ++i) extents.push_back(i);
    const bool is_one = extents.empty() || tokens_[extents[0]].text == "[";
    if (!is_array || !is_one || type.size() < 2 || tokens_[type.back()].kind != Token::word)
      fail(keyword, "dynamic shared memory: write extern __shared__ TYPE NAME[];");
    const std::string name(tokens_[type.back()].text), label = as_string({type.back()});
    type.pop_back();
    const std::string element = joined(type), rest = joined(extents);
    const std::string variable =
        rest.empty() ? element + "* const " + name : element + " (* const " + name + ")" + rest;
    const std::string what = "<" + element + rest + ">(" + label + ")";
    if (tokens_[keyword].define != 0 || in_function())
      replace(begin, i - 1, variable + " = ::simulator::dynamic_shared" + what);
    else if (is_conditional(tokens_[keyword].depth) || outside_functions_.insert(name).second)
      replace(begin, i - 1,
              "[[maybe_unused]] static thread_local " + variable +
                  " = ::simulator::dynamic_shared_of_file" + what);
    else  // declared a second time
      replace(begin, i - 1, "");
  }

  /// Puts a gap behind each variable of this declaration, and behind the declaration calls that
  /// tell the variables' names, for reports. Declarations that are more than a plain list stay as
  /// they are.
  void name_shared(size_t first, size_t keyword) {
    if (tokens_[keyword].define != 0 || !one_of(text(first - 1, keyword), {"{", "}", ";"})) return;
    std::vector<std::pair<size_t, size_t>> variables;  // the name, and the , or ; behind it
    size_t name = 0;                                   // 0: not seen yet
    bool has_name = false;                             // what follows is no part of it
    int depth = 0, angles = 0;
    for (size_t i = first;; ++i) {
      const std::string_view token = text(i, keyword);
      if (token.empty()) return;
      if (depth == 0 && angles == 0 && one_of(token, {",", ";"})) {
        if (name == 0) return;
        variables.emplace_back(name, i);
        if (token == ";") break;
        name = 0, has_name = false;
      } else if (one_of(token, {"(", "[", "{"})) {
        const bool is_argument =
            one_of(text(i - 1, keyword), {"alignas", "__align__", "__attribute__", "decltype"});
        if (token == "(" && depth == 0 && !is_argument) return;  // a pointer to an array, say
        has_name |= token == "[" && depth == 0;
        ++depth;
      } else if (one_of(token, {")", "]", "}"})) {
        --depth;
      } else if (depth == 0 && !has_name) {
        angles += (token == "<") - (token == ">");
        if (angles == 0 && tokens_[i].kind == Token::word) name = i;
      }
    }
    std::string calls;
    for (const auto& [variable, end] : variables) {
      const std::string word(tokens_[variable].text), gap = "simulator_gap_after_" + word;
      calls += " ::simulator::declare_shared(\"" + word + "\", " + word + ", " + gap + ");";
      const bool is_last = text(end, keyword) == ";";
      const bool is_pointer = text(variable - 1, keyword) == "*";  // its type may have no array
      replace(end, end, (is_pointer ? ", *" : ", ") + gap + "[64]" + (is_last ? ";" + calls : ","));
    }
  }

  /// `static __constant__`: __constant__ itself becomes "static", and C++ takes only one.
  void drop_static(size_t keyword) {
    const auto beside = [&](size_t i) {
      return one_of(text(i, keyword), {"static", "const", "volatile", "__device__"});
    };
    size_t i = keyword;
    while (beside(i - 1)) --i;
    for (; i == keyword || beside(i); ++i)
      if (text(i, keyword) == "static") replace(i, i, "");
  }

  /// Inline PTX (inline_ptx.hpp). What is not there the compiler refuses where it stays in the
  /// program. An `asm` without a ; is no PTX, such as the empty one that keeps a compiler from
  /// moving code.
  void rewrite_ptx(size_t keyword) {
    size_t i = keyword + 1;
    while (one_of(text(i, keyword), {"volatile", "__volatile__"})) ++i;
    const size_t close = text(i, keyword) == "(" ? closing(i) : tokens_.size();
    if (close == tokens_.size()) return;
    std::vector<std::string_view> literals;
    bool is_ptx = false, is_whole = true;
    for (++i; i < close && !one_of(tokens_[i].text, {":", "::"}); ++i) {
      is_whole &= tokens_[i].kind == Token::literal;
      is_ptx |= tokens_[i].text.find(';') != std::string_view::npos;
      literals.push_back(tokens_[i].text);
    }
    if (!is_ptx) return;
    std::vector<std::string> operands;
    for (int lists = 0; i < close && lists <= 2; ++i) {  // the third one is what changes besides
      lists += tokens_[i].text == ":" ? 1 : tokens_[i].text == "::" ? 2 : 0;
      if (tokens_[i].text != "(") continue;
      std::vector<size_t> expression;
      for (const size_t end = closing(i); ++i < end;) expression.push_back(i);
      operands.push_back(joined(expression));
    }
    CppOfPtx cpp = cpp_of_ptx(literals, operands);
    if (!is_whole) cpp.refused = "inline PTX: a macro in its text is not on the CPU backend";
    has_ptx_ = true;
    if (!cpp.refused.empty()) {
      std::erase_if(cpp.refused, [](char c) { return c == '"' || c == '\\' || c == '\n'; });
      const std::string name = "simulator_refused_" + std::to_string(keyword) + "();";
      cpp.statements =
          "__attribute__((error(\"" + cpp.refused + "\"))) void " + name + " " + name + " ";
    }
    replace(keyword, close, "__extension__ ({ " + cpp.statements + "})");
  }

  /// __cluster_dims__(2, 1, 1): from the kernel's head into its body, where template parameters are
  /// known and every launch comes to it. Where it cannot go there, the compiler refuses it.
  void move_cluster_dims(size_t keyword) {
    const size_t open = keyword + 1, close = closing(open), body = body_after(close);
    const bool has_size = text(open, keyword) == "(" && close > open + 1;
    if (tokens_[keyword].define != 0 || !has_size || body == tokens_.size() ||
        tokens_[body].depth != tokens_[keyword].depth)
      return;
    std::vector<size_t> size;
    for (size_t i = open + 1; i < close; ++i) size.push_back(i);
    replace(keyword, close, "");
    replace(body, body,
            "{ constexpr ::dim3 simulator_cluster{" + joined(size) +
                "}; ::simulator::cluster_dims(simulator_cluster);");
  }

  /// The ) of the ( at `open`; tokens_.size() if there is none.
  size_t closing(size_t open) const {
    int depth = 0;
    for (size_t i = open; !text(i, open).empty(); ++i) {
      depth += (text(i, open) == "(") - (text(i, open) == ")");
      if (depth == 0) return i;
    }
    return tokens_.size();
  }

  /// The { of the function whose head goes on behind `begun`; tokens_.size() if it has no body.
  size_t body_after(size_t begun) const {
    for (size_t i = begun + 1; i < tokens_.size() && !one_of(text(i, begun), {"", ";"}); ++i) {
      if (tokens_[i].text == "{") return i;
      if (tokens_[i].text == "(") i = closing(i);
    }
    return tokens_.size();
  }

  /// cudaLaunchKernel((void*)kernel, …): without the cast, so that the parameters' types are known.
  void drop_cast(size_t open) {
    if (text(open, open) != "(") return;
    size_t begin = open + 1, i = begin + 1;
    if (text(begin, open) == "reinterpret_cast") ++i;
    const std::string_view first = text(i - 1, open);
    if (first != "(" && first != "<") return;
    while (one_of(text(i, open), {"const", "void", "*"})) ++i;
    if (text(i, open) == (first == "(" ? ")" : ">")) replace(begin, i, "");
  }

  /// `#define N 1000`, `const int M = 8, N = 1000;` or `size_t N{1000};`: another value for the
  /// name at `i`.
  void set_value(size_t i, const std::string& value) {
    size_t first = i + 1, end = first;
    if (text(i - 1, i) == "define" && text(i - 2, i) == "#") {
      const bool is_function = text(first, i) == "(" && tokens_[first].begin == tokens_[i].end;
      while (!is_function && !text(end, i).empty()) ++end;
    } else if (is_declared(i) &&
               (text(first, i) == "{" || (text(first, i) == "=" && text(first + 1, i) != "="))) {
      end = ++first;
      for (int depth = 0; !text(end, i).empty(); ++end) {
        const std::string_view token = text(end, i);
        if (depth == 0 && one_of(token, {",", ";", ")", "}"})) break;
        depth += one_of(token, {"(", "[", "{"}) - one_of(token, {")", "]", "}"});
      }
    }
    if (end > first) replace(first, end - 1, value);
  }
  /// Does a type stand before it, or before the first name of its statement?
  bool is_declared(size_t i) const {
    if (one_of(text(i - 1, i), {"struct", "class", "union", "enum", "namespace"})) return false;
    if (is_name(i - 1, i) || text(i - 1, i) == ">") return true;
    size_t begin = i;
    while (!one_of(text(begin - 1, i), {"", ";", "{", "}", "(", ")"})) --begin;
    return begin + 1 < i && is_name(begin, i) && is_name(begin + 1, i) && text(i - 1, i) == ",";
  }

  /// Keeps, for each open brace, whether it is a namespace's or of extern "C".
  void track_scope(size_t i) {
    if (tokens_[i].define != 0) return;
    if (tokens_[i].text == "{") {
      bool is_namespace = text(i - 2, i) == "extern" && tokens_[i - 1].kind == Token::literal;
      for (size_t j = i - 1; !one_of(text(j, i), {"", ";", "{", "}"}); --j)
        is_namespace |= text(j, i) == "namespace";
      scopes_.push_back(is_namespace);
    } else if (tokens_[i].text == "}" && !scopes_.empty()) {
      scopes_.pop_back();
    }
  }
  bool in_function() const {
    return std::find(scopes_.begin(), scopes_.end(), false) != scopes_.end();
  }

  // ---- Text.

  /// The tokens on one line, without comments.
  std::string joined(const std::vector<size_t>& list) const {
    std::string out;
    for (size_t n = 0; n < list.size(); ++n) {
      if (n > 0 && tokens_[list[n - 1]].end != tokens_[list[n]].begin) out += ' ';
      out += tokens_[list[n]].text;
    }
    return out;
  }

  /// The same as a string literal. In a macro, a parameter T is put in as #T.
  std::string as_string(const std::vector<size_t>& list) const {
    const std::vector<std::string_view> parameters = macro_parameters(list[0]);
    std::string out = "\"";
    for (size_t n = 0; n < list.size(); ++n) {
      const std::string token(tokens_[list[n]].text);
      if (token == "#") continue;  // one of ##
      const bool is_pasted = n > 0 && tokens_[list[n - 1]].text == "#";
      if (n > 0 && !is_pasted && tokens_[list[n - 1]].end != tokens_[list[n]].begin) out += ' ';
      if (std::find(parameters.begin(), parameters.end(), token) != parameters.end()) {
        out += "\" #" + token + " \"";
        continue;
      }
      for (char c : token) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
    return out + "\"";
  }

  std::vector<std::string_view> macro_parameters(size_t i) const {
    if (tokens_[i].define == 0) return {};
    size_t hash = i;
    while (!text(hash - 1, i).empty()) --hash;
    size_t at = hash + 3;  // # define NAME (
    std::vector<std::string_view> names;
    if (text(at, i) == "(" && tokens_[at].begin == tokens_[at - 1].end)
      for (; !one_of(text(at, i), {"", ")"}); ++at)
        if (tokens_[at].kind == Token::word) names.push_back(text(at, i));
    return names;
  }

  /// Puts `text` in the place of the tokens first … last and keeps the line breaks among them.
  void replace(size_t first, size_t last, std::string text) {
    for (size_t at = tokens_[first].begin; at < tokens_[last].end; ++at)
      if (source_[at] == '\n') text += tokens_[first].define != 0 ? "\\\n" : "\n";
    edits_[tokens_[first].begin] = {tokens_[last].end, std::move(text)};
  }

  std::string_view source_;
  const std::string& path_;
  const Settings& settings_;
  const Side side_;
  std::vector<Token> tokens_;
  int unconditional_ = 0;  // the depth of #if at which nothing may be removed
  bool has_ptx_ = false;
  std::vector<bool> scopes_;
  std::set<std::string> outside_functions_;  // dynamic shared arrays that were declared there
  std::map<size_t, std::pair<size_t, std::string>> edits_;  // begin -> end, new text
};

}  // namespace

std::string translate_source(const std::string& source, const std::string& path,
                             const Resolve& resolve, const Settings& settings, Side side) {
  const bool has_mark = source.compare(0, 3, "\xEF\xBB\xBF") == 0;  // UTF-8's byte order mark
  return Translator(std::string_view(source).substr(has_mark ? 3 : 0), path, resolve, settings,
                    side)
      .run();
}

}  // namespace simulator
