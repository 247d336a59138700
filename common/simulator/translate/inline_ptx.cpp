#include "common/simulator/translate/inline_ptx.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>

#include "common/simulator/translate/ptx_instructions.hpp"

namespace simulator {
namespace {

/// Words of an instruction that change nothing here: hints, what all lanes do together, the way of
/// rounding that there is, the lower half of a product.
constexpr std::string_view kIgnored =
    " sync aligned volatile approx full rn lo row col m8n8 ca cg cs lu cv nc wb wt L1 L2 "
    "L2::64B "
    "L2::128B L2::256B L1::no_allocate L1::evict_last L1::evict_first ";

std::string trimmed(std::string_view text, std::string_view spaces = " \t\r\n") {
  const size_t begin = text.find_first_not_of(spaces);
  if (begin == text.npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(spaces) + 1 - begin));
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = text.find(at);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// What the literals say, without comments.
std::string text_of(const std::vector<std::string_view>& literals) {
  std::string text;
  for (std::string_view literal : literals) {
    if (literal[0] != '"') {
      const size_t open = literal.find('('), close = literal.rfind(')');
      text += literal.substr(open + 1, close - open - 1);
      continue;
    }
    for (size_t i = 1; i + 1 < literal.size(); ++i) {
      const bool escaped = literal[i] == '\\';
      if (escaped) ++i;
      text += !escaped            ? literal[i]
              : literal[i] == 'n' ? '\n'
              : literal[i] == 't' ? '\t'
                                  : literal[i];
    }
  }
  for (size_t at; (at = text.find("//")) != text.npos;)
    text.erase(at, std::min(text.find('\n', at), text.size()) - at);
  return text;
}

bool is_word(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// ---- From one to the other

class Statements {
 public:
  explicit Statements(const std::vector<std::string>& operands) : operands_(operands) {}

  CppOfPtx run(std::string_view text) {
    CppOfPtx result;
    std::string& out = result.statements;
    for (const std::string& statement : split(text, ';')) {
      const std::string inner = trimmed(statement, " \t\r\n{");
      if (inner.empty() || inner == "}") continue;
      out += inner.starts_with(".reg") ? declaration(inner.substr(4)) : predicated(inner);
    }
    // An operand is evaluated once, however often it is named.
    for (const auto& [number, name] : used_)
      out.insert(0, "auto&& " + name + " = (" + operands_[number] + "); ");
    result.refused = refused_;
    return result;
  }

 private:
  /// The first sentence is kept.
  std::string refuse(const std::string& what) {
    if (refused_.empty())
      refused_ = "inline PTX: " + what +
                 " is not on the CPU backend: " + std::string(instead_of_ptx(what));
    return "";
  }

  /// .reg .b32 a, b
  std::string declaration(const std::string& text) {
    const std::string what = trimmed(text);
    const size_t end = what.find_first_of(" \t");
    const PtxType* type = end == what.npos ? nullptr : ptx_type(what.substr(1, end - 1));
    if (type == nullptr) return refuse(".reg " + what);
    std::string out;
    for (const std::string& name : split(what.substr(end), ',')) {
      if (!is_word(name)) return refuse(".reg " + what);
      temporaries_.push_back(name);
      out += (out.empty() ? std::string(type->cpp) + " ptx_" : ", ptx_") + name + "{}";
    }
    return out + "; ";
  }

  /// @p ld.global.u32 %0, [%1]
  std::string predicated(const std::string& text) {
    if (text[0] != '@') return instruction(text);
    const size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
    const bool negated = text[1] == '!';
    const std::string predicate = text.substr(negated ? 2 : 1, end - (negated ? 2 : 1));
    return std::string(negated ? "if (!" : "if (") + value(predicate) + ") { " +
           instruction(trimmed(text.substr(end))) + "} ";
  }

  std::string instruction(const std::string& text) {
    const size_t end = std::min(text.find_first_of(" \t\r\n{["), text.size());
    const std::string name = text.substr(0, end);
    std::vector<std::string> parts = split(name, '.');
    type_ = ptx_type(parts.back()), is_shared_ = false, flushes_ = false;
    if (type_ != nullptr) parts.pop_back();
    std::string plain;
    for (size_t i = 0; i < parts.size(); ++i)
      if (!is_ignored(parts, i)) plain += (plain.empty() ? "" : ".") + parts[i];
    std::string list = trimmed(text.substr(end));
    std::erase_if(list, [](char c) { return c == '{' || c == '}'; });
    const auto entries = list.empty() ? std::vector<std::string>() : split(list, ',');
    if (plain.starts_with("cvt.") && entries.size() == 2)
      if (const PtxType* to = ptx_type(plain.substr(4)); to && converts_to(*to))
        return "::simulator::ptx_set(static_cast<" + std::string(to->cpp) + ">(" +
               read('t', entries[1]) + "), " + value(entries[0]) + "); ";
    const PtxInstruction* known = ptx_instruction(plain, type_, entries.size());
    return known == nullptr ? refuse(name) : call(*known, entries);
  }

  /// Does the word at `i` change nothing? What it says of memory is kept.
  bool is_ignored(const std::vector<std::string>& parts, size_t i) {
    const std::string& word = parts[i];
    const bool is_atomic = parts[0] == "atom" || parts[0] == "red";
    if (word == "shared" || word == "shared::cta") return is_shared_ = true, parts[0] != "cvta";
    if (word == "ftz") return flushes_ = true;
    if (word == "global") return true;
    if (word == "relaxed") return is_atomic || (i + 1 < parts.size() && parts[i + 1] == "cta");
    if (word == "cta" || word == "gpu" || word == "sys")
      return is_atomic || parts[i - 1] == "relaxed";
    return kIgnored.find(" " + word + " ") != kIgnored.npos;
  }

  /// As C++ does it: not with a way of rounding.
  bool converts_to(const PtxType& to) const {
    const auto is_in = [](char kind, const char* kinds) {
      return std::strchr(kinds, kind) != nullptr;
    };
    return type_ && is_in(type_->kind, to.kind == 'i' ? "i" : "ifh") && is_in(to.kind, "ifh");
  }

  std::string call(const PtxInstruction& known, const std::vector<std::string>& entries) {
    std::string out, targets;
    size_t count = 0;
    for (;
         count < entries.size() && std::isupper(static_cast<unsigned char>(known.operands[count]));
         ++count)
      targets += ", " + value(entries[count]);
    for (size_t i = 0; i < known.expression.size(); ++i) {
      if (known.expression[i] != '$') {
        out += known.expression[i];
      } else {
        const size_t n = count + static_cast<size_t>(known.expression[++i] - '0');
        out += read(known.operands[n], entries[n]);
      }
    }
    if (count == 0) return out + "; ";
    if (known.operands[0] == 'D') out = "static_cast<" + std::string(type_->cpp) + ">(" + out + ")";
    if (flushes_ && type_->name == "f32") out = "::simulator::ptx_flushed(" + out + ")";
    const bool is_vector = count > 1 || known.name.starts_with("ldmatrix");
    return (is_vector ? "::simulator::ptx_set_all(" : "::simulator::ptx_set(") + out + targets +
           "); ";
  }

  std::string read(char kind, const std::string& entry) {
    if (kind == 'b') return value(entry);
    if (kind == 'p' || kind == 's' || kind == 'g') {
      const bool is_shared = kind == 's' || (kind == 'p' && is_shared_);
      const std::string target = kind == 'p' && type_ ? std::string(type_->cpp) : "void";
      return "::simulator::ptx_" + std::string(is_shared ? "shared" : "global") + "<" + target +
             ">(" + address(entry) + ")";
    }
    std::string name = kind == 'u'   ? "u32"
                       : kind == 'i' ? "s32"
                       : kind == 'f' ? "f32"
                                     : std::string(type_->name);
    if (kind == 'w' && name[0] == 's') name[0] = 'u';
    const std::string read =
        "::simulator::ptx_value<" + std::string(ptx_type(name)->cpp) + ">(" + value(entry) + ")";
    return flushes_ && name == "f32" ? "::simulator::ptx_flushed(" + read + ")" : read;
  }

  /// [%1], [%1 + 16]: the address, and behind a comma the bytes behind it.
  std::string address(const std::string& entry) {
    if (entry.size() < 2 || entry[0] != '[' || entry.back() != ']')
      return refuse("the operand " + entry);
    const std::vector<std::string> parts =
        split(std::string_view(entry).substr(1, entry.size() - 2), '+');
    return value(parts[0]) + (parts.size() > 1 ? ", " + value(parts[1]) : "");
  }

  /// %0, %%laneid, a temporary or a number.
  std::string value(const std::string& entry) {
    const std::string name = trimmed(entry, "%");
    if (entry[0] == '%' && is_number(name)) {
      const size_t number = std::stoul(name);
      if (number >= operands_.size()) return refuse("an operand " + entry + " that is not listed");
      return used_[number] = "ptx_" + name;
    }
    if (entry[0] == '%') {
      const std::string base = name.substr(0, name.find('.'));
      const std::string_view known = ptx_register(base);
      if (!known.empty()) return std::string(known) + name.substr(base.size());
    }
    if (std::find(temporaries_.begin(), temporaries_.end(), name) != temporaries_.end())
      return "ptx_" + name;
    const size_t digits = entry[0] == '-' ? 1 : 0;
    if (name.starts_with("0f") || name.starts_with("0F"))
      return "::simulator::ptx_value<float>(0x" + name.substr(2) + "u)";
    if (digits < name.size() && std::isdigit(static_cast<unsigned char>(name[digits]))) return name;
    return refuse("the operand " + entry);
  }
  static bool is_number(const std::string& text) {
    return !text.empty() && text.size() < 4 &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
  }

  const std::vector<std::string>& operands_;
  std::vector<std::string> temporaries_;
  std::map<size_t, std::string> used_;  // operands, and what they are called
  std::string refused_;
  // Of the instruction that is read:
  const PtxType* type_ = nullptr;
  bool is_shared_ = false, flushes_ = false;
};

}  // namespace

CppOfPtx cpp_of_ptx(const std::vector<std::string_view>& literals,
                    const std::vector<std::string>& operands) {
  return Statements(operands).run(text_of(literals));
}

}  // namespace simulator
